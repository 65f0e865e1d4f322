// The handful of rules that need types; everything else is Biome's.
import tseslint from 'typescript-eslint';

const timers = ['setTimeout', 'setInterval'].map((name) => ({
  name,
  message: 'Time is injected: take a Clock (src/scope/clock.ts).',
}));
const sources = [
  ['Date', 'now', 'Time is injected: take a Clock (src/scope/clock.ts).'],
  ['performance', 'now', 'Time is injected: take a Clock (src/scope/clock.ts).'],
  ['Math', 'random', 'Chance is injected: take a Chance (src/scope/ids.ts).'],
].map(([object, property, message]) => ({ object, property, message }));

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'node_modules/**',
      'coverage/**',
      '**/.callsheet/**',
      'test/fixtures/**',
      'test/golden/**',
      '**/*.type-test.ts',
    ],
  },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/**/*.test.ts'],
    rules: {
      'no-restricted-globals': ['error', ...timers],
      'no-restricted-properties': ['error', ...sources],
    },
  },
  {
    // The machine's own clock and chance.
    files: ['src/scope/clock.ts', 'src/scope/ids.ts'],
    rules: { 'no-restricted-globals': 'off', 'no-restricted-properties': 'off' },
  },
);
