// Verdicts on the built pages of every newest version × machine: none is printed without trials and an interval.
import {expect, test} from '@playwright/test';
import {builtVersions} from './results';
import {serveBuild} from './serve';

const LEAST_TRIALS = 6;
const COMPARING = /\b(faster|slower|sooner|lost|won|is undecided)\b/i;

let url = '';
let stop: () => Promise<void> = () => Promise.resolve();

test.use({javaScriptEnabled: false});
test.beforeAll(async () => {
  ({url, stop} = await serveBuild());
});
test.afterAll(async () => stop());

test('a verdict has its trials and its interval beside it', async ({page}) => {
  test.setTimeout(180_000);
  const [newest] = builtVersions();
  test.skip(newest === undefined, 'no run is stored');
  const own = builtVersions().filter(({version}) => version === newest?.version);
  for (const {href, scenarios} of own) {
    for (const path of [href, ...scenarios.map(({scenario}) => `${href}${scenario.key}/`)]) {
      await page.goto(url + path);
      const marked = await page.locator('[data-verdict]').evaluateAll((all) => all.map((one) => ({word: one.getAttribute('data-verdict') ?? '', n: Number(one.getAttribute('data-n')), text: one.textContent ?? ''})));
      for (const {word, n, text} of marked.filter((one) => ['sentence', 'better', 'worse', 'undecided'].includes(one.word))) {
        expect(n, `${path}: ${text}`).toBeGreaterThanOrEqual(LEAST_TRIALS);
        expect(text, `${path}: ${word}`).toMatch(/\d–\d/);
      }
      // What is found without an interval compares nobody.
      for (const text of await page.locator('main p[data-n]:not([data-verdict])').allTextContents()) expect(text, path).not.toMatch(COMPARING);
    }
  }
});
