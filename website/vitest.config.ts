// Which tests are unit tests? Those in test/; the browser tests in e2e/ have their own runner.
import {defineConfig} from 'vitest/config';

export default defineConfig({
  test: {include: ['test/**/*.test.{ts,tsx}'], environment: 'node'},
  esbuild: {jsx: 'automatic'},
});
