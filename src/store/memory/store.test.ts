import { describeStoreConformance } from '../conformance.ts';
import { MemoryData } from './data.ts';
import { MemoryStore } from './store.ts';

describeStoreConformance('memory', async () => {
  const data = new MemoryData();
  return {
    store: new MemoryStore(data),
    another: async () => new MemoryStore(data),
    reopen: async () => new MemoryStore(data),
    dispose: async () => {},
  };
});
