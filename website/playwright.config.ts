// How are the browser tests run? One browser; two workers, as the least machine has two CPUs and serves the site itself.
import {defineConfig} from '@playwright/test';
import {LAUNCH} from './e2e/chromium';

export default defineConfig({
  testDir: './e2e',
  workers: 2,
  timeout: 60_000,
  globalTimeout: 20 * 60_000,
  reporter: [['list']],
  forbidOnly: Boolean(process.env.CI),
  use: {browserName: 'chromium', launchOptions: LAUNCH},
});
