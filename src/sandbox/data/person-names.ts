/**
 * Given names and made-up family names. The family names are compounds that no well-known person bears, so that
 * whatever the two lists combine to is an invented person. Some carry accents, hyphens and apostrophes on purpose:
 * real lists do too.
 */
export const GIVEN_NAMES: readonly string[] = [
  ...['Ada', 'Alina', 'Amara', 'Anouk', 'Arjun', 'Astrid', 'Beatriz', 'Benoît', 'Camille', 'Carmen', 'Chiara', 'Dario'],
  ...['Dewi', 'Diego', 'Edda', 'Elif', 'Emeka', 'Enzo', 'Esther', 'Farah', 'Felix', 'Fiona', 'Freya', 'Gareth'],
  ...['Greta', 'Hana', 'Hugo', 'Ida', 'Imran', 'Ines', 'Isolde', 'Ivo', 'Jana', 'Jasper', 'Joana', 'Jonas'],
  ...['José', 'Kaito', 'Karim', 'Katya', 'Kofi', 'Lara', 'Leonie', 'Liam', 'Linnea', 'Lucía', 'Mabel', 'Malik'],
  ...['Marek', 'Mei', 'Mila', 'Minh', 'Nadia', 'Naoko', 'Niamh', 'Nils', 'Olga', 'Omar', 'Oskar', 'Paula'],
  ...['Pia', 'Priya', 'Rafael', 'Renée', 'Rosa', 'Rune', 'Samira', 'Selma', 'Søren', 'Tamsin', 'Tariq', 'Thea'],
  ...['Tomás', 'Ulla', 'Valentin', 'Vera', 'Wanda', 'Wim', 'Yara', 'Yuki', 'Zeynep', 'Zoltán'],
];

export const FAMILY_NAMES: readonly string[] = [
  ...['Aldermoor', 'Ambrewick', 'Ashvale', 'Barrowmere', 'Beckhollow', 'Birkenstrand', 'Bramblecote', 'Brightwater'],
  ...['Brookenfeld', 'Calderhurst', 'Castellarín', 'Cinderford', 'Cloverdale-Finch', 'Coppermill', 'Cragmoor'],
  ...['Dalenvoort', 'Drakenholt', 'Dunmarsh', 'Eastermoor', 'Ebenrode', 'Elderwick', 'Fallowgate', 'Fernhollow'],
  ...['Fjordvik', 'Foxmere', 'Glanzmühl', 'Glenbarrow', 'Greywater', 'Hallowfield', 'Hartenmoor', 'Hazelbeck'],
  ...['Heidenbrook', 'Hollinmere', 'Ironvale', 'Ivyhurst', 'Jorunholm', 'Juniperwick', 'Karstenvold', 'Kestrelby'],
  ...['Kirschtal', 'Lanternby', 'Larkenfield', 'Lindenhoek', 'Løvendahl-Rask', 'Maplethorne', 'Marrowbridge'],
  ...['Mistelbeck', 'Montalvera', 'Mossgrave', 'Nettlewood', 'Nordhavn-Brae', 'Oakenshade', "O'Brannoch", 'Orchardy'],
  ...['Pebblemoor', 'Pinewarden', 'Quarrington', 'Quillfeather', 'Ravensmead', 'Reedmarsh', 'Rosenquell', 'Rowanstead'],
  ...[
    'Saltmarsh',
    'Sandoverre',
    'Silberquist',
    'Stonehaven-Lee',
    'Sturmfeld',
    'Tallowick',
    'Thistlemoor',
    'Umberfield',
  ],
  ...['Valdemoro-Reyes', 'Vesterlund-Bo', 'Wachholderer', "D'Aubermont", 'Weatherstone', 'Willowgard', 'Windermoss'],
  ...['Yarrowdale', 'Zellenbrück', 'Zimmerwald'],
];

export const TITLES: readonly string[] = [
  ...['Account Executive', 'Chief Financial Officer', 'Chief Marketing Officer', 'Customer Success Manager'],
  ...['Data Engineer', 'Director of Demand Generation', 'Director of Procurement', 'Engineering Manager'],
  ...['Finance Manager', 'Head of Growth', 'Head of People', 'Head of Revenue Operations', 'IT Manager'],
  ...['Marketing Operations Manager', 'Operations Manager', 'Platform Engineer', 'Product Manager'],
  ...['RevOps Analyst', 'Sales Development Representative', 'Sales Director', 'Security Engineer'],
  ...['Senior Software Engineer', 'VP Engineering', 'VP Marketing', 'VP Sales'],
];
