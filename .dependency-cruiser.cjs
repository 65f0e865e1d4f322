/**
 * The rooms and their arrows, as docs of the architecture draw them. An arrow that is not in `ARROWS` is an error.
 * scripts/check-rooms.ts runs this over the tree, and over seeded wrong imports that each rule has to catch.
 */

/** Room -> the rooms that it may import. Everything may import sdk and scope, but for those two themselves. */
const BASE = ['sdk', 'scope'];
const ARROWS = {
  sdk: [],
  scope: ['sdk'],
  store: BASE,
  files: BASE,
  secrets: BASE,
  observe: BASE,
  tool: BASE,
  play: BASE,
  sandbox: BASE,
  governor: [...BASE, 'tool'],
  call: [...BASE, 'governor', 'tool', 'store'],
  dataset: [...BASE, 'store', 'files'],
  run: [...BASE, 'call', 'dataset', 'governor', 'observe', 'store', 'files', 'secrets', 'play', 'tool'],
  engine: [...BASE, 'run', 'dataset', 'store', 'observe'],
  report: [...BASE, 'store', 'dataset', 'files', 'observe', 'run', 'tool'],
  workspace: [
    ...BASE,
    ...['store', 'files', 'secrets', 'observe', 'tool', 'play', 'sandbox', 'governor'],
    ...['call', 'dataset', 'run', 'engine', 'report'],
  ],
  testing: [
    ...BASE,
    ...['store', 'files', 'secrets', 'observe', 'tool', 'play', 'sandbox', 'governor'],
    ...['call', 'dataset', 'run', 'engine', 'report', 'workspace'],
  ],
  cli: [...BASE, 'workspace', 'report'],
};

/** Arrows that may carry types only. */
const TYPES_ONLY = [
  ['governor', 'tool'],
  // What a run was started with and what a plan counted are the run room's words; reports only read them.
  ['report', 'run'],
  ['report', 'tool'],
];

/** Package or built-in -> where alone it may be imported. */
const OWNERS = {
  'node:sqlite': '^src/store/sqlite/driver[.]ts$',
  undici: '^src/tool/',
  commander: '^src/cli/',
  picocolors: '^src/cli/',
  esbuild: '^src/play/',
  'oxc-parser': '^src/play/',
  typescript: '^src/play/',
  chardet: '^src/files/',
  'csv-parse': '^src/files/',
  'csv-stringify': '^src/files/',
  ajv: '^src/scope/',
  zod: '^src/(scope|workspace|tool)/',
};

const TESTS = '[.](test|type-test)[.]ts$';
/** Suites that tests run over several adapters; never shipped. */
const SUITES = '(^|/)[a-z-]*conformance[a-z-]*([.]ts|/)';
const NOT_SHIPPED = `${TESTS}|${SUITES}`;

const layers = Object.entries(ARROWS).map(([room, allowed]) => ({
  name: `layer-${room}`,
  comment: `${room} may import ${allowed.length === 0 ? 'no other room' : allowed.join(', ')}.`,
  severity: 'error',
  from: { path: `^src/${room}/`, pathNot: NOT_SHIPPED },
  to: { path: '^src/[^/]+/', pathNot: `^src/(${[room, ...allowed].join('|')})/` },
}));

const typesOnly = TYPES_ONLY.map(([from, to]) => ({
  name: `types-only-${from}-${to}`,
  comment: `${from} knows the types of ${to} only: write 'import type'.`,
  severity: 'error',
  from: { path: `^src/${from}/`, pathNot: NOT_SHIPPED },
  to: { path: `^src/${to}/`, dependencyTypesNot: ['type-only'] },
}));

const owners = Object.entries(OWNERS).map(([name, place]) => ({
  name: `owner-of-${name.replace(/[^a-z]+/g, '-')}`,
  comment: `Only ${place} may import ${name}.`,
  severity: 'error',
  from: { path: '^src/', pathNot: `${place}|${NOT_SHIPPED}` },
  to: { path: name.startsWith('node:') ? `^(node:)?${name.slice(5)}$` : `(^|node_modules/)${name}(/|$)` },
}));

module.exports = {
  forbidden: [
    ...layers,
    ...typesOnly,
    ...owners,
    {
      name: 'known-room',
      comment: 'Every folder of src is a room with its arrows in ARROWS.',
      severity: 'error',
      from: { path: `^src/(?!(${Object.keys(ARROWS).join('|')})/)` },
      to: {},
    },
    {
      name: 'face-only',
      comment: "A room's index.ts is its whole public face: import that.",
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: NOT_SHIPPED },
      to: { path: '^src/[^/]+/', pathNot: ['^src/$1/', '^src/[^/]+/index[.]ts$'] },
    },
    {
      name: 'no-cycles',
      comment: 'No import cycles, not even of types.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-tests-in-src',
      comment: 'What is shipped imports nothing from tests, benchmarks, examples or scripts.',
      severity: 'error',
      from: { path: '^src/', pathNot: NOT_SHIPPED },
      to: { path: `^(test|bench|examples|scripts)/|${NOT_SHIPPED}`, pathNot: 'node_modules' },
    },
    {
      name: 'runtime-dependencies-only',
      comment: 'What is shipped imports runtime dependencies only.',
      severity: 'error',
      from: { path: '^src/', pathNot: NOT_SHIPPED },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        // The author's own TypeScript is used where there is one.
        pathNot: 'node_modules/typescript/',
      },
    },
    {
      name: 'resolvable',
      comment: 'Every import leads somewhere.',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true, pathNot: '^(callsheet|deepline)$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|[.]callsheet)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
