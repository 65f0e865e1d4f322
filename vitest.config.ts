import { defineConfig } from 'vitest/config';

const sdk = new URL('./src/sdk/index.ts', import.meta.url).pathname;

export default defineConfig({
  resolve: { alias: { callsheet: sdk, deepline: sdk } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Processes, not threads: tests start servers, change folders and open databases.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    reporters: ['default', './scripts/counting-reporter.ts'],
  },
});
