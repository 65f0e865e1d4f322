import type { Reporter } from 'vitest/node';

type EndOfRun = NonNullable<Reporter['onTestRunEnd']>;
type TestModules = Parameters<EndOfRun>[0];

interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Counts tests, and as failed also files that could not be loaded, failing hooks and errors that nobody caught. */
export function countTests(modules: TestModules, unhandledErrors: number): Count {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const brokenSuites = modules
    .flatMap((module) => [module, ...module.children.allSuites()])
    .filter((suite) => suite.errors().length > 0).length;
  const inState = (state: string): number => tests.filter((test) => test.result().state === state).length;
  return {
    passed: inState('passed'),
    failed: inState('failed') + inState('pending') + brokenSuites + unhandledErrors,
    skipped: inState('skipped'),
  };
}

/** Ends the output of `npm test` with the line `N passed, N failed`. */
export default class CountingReporter implements Reporter {
  #last: Count = { passed: 0, failed: 1, skipped: 0 };

  onTestRunEnd(...[modules, unhandledErrors]: Parameters<EndOfRun>): void {
    this.#last = countTests(modules, unhandledErrors.length);
    if (this.#last.failed > 0 || this.#last.passed === 0) process.exitCode = 1;
    // Other reporters print their summaries in this same turn; the count must come after all of them.
    process.once('exit', () => {
      const { passed, failed, skipped } = this.#last;
      if (skipped > 0) process.stdout.write(`${skipped} skipped\n`);
      process.stdout.write(`${passed} passed, ${failed} failed\n`);
    });
  }
}
