export type { Committer, DatasetReads, JsonText } from './port.ts';
