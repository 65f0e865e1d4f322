import type { WriteOf } from '../../write-of.ts';
import type { Database } from '../driver.ts';
import type { Spaces } from '../spaces.ts';

export function forgetRows(db: Database, spaces: Spaces, { fence, datasetNo }: WriteOf<'forgetRows'>): void {
  const space = spaces.ofRun(fence.runNo).find((one) => one.datasetNo === datasetNo);
  if (space !== undefined) db.run('DELETE FROM rows WHERE place >= ? AND place < ?', space.start, space.end);
}
