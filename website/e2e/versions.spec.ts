// Does a reader get from an old figure to the newest one, and to the same scenario of another version?
import {existsSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {expect, type Locator, type Page, test} from '@playwright/test';
import {entryHref, newerThan} from '../src/lib/picker';
import {builtVersions, pickerEntries} from './results';
import {BUILD_DIR, serveBuild} from './serve';

let url = '';
let stop: () => Promise<void> = () => Promise.resolve();

test.beforeAll(async () => {
  ({url, stop} = await serveBuild());
});
test.afterAll(async () => stop());

const versions = builtVersions();
const entries = pickerEntries();
const published = versions.filter(({version}) => version !== 'local');
test.skip(published.length === 0, 'no run is stored');

const picker = (page: Page): Locator => page.getByRole('combobox', {name: 'Version'});

/** A scenario of an old version that a newer version has as well, and where that is. */
function outdated() {
  for (const {version, machine, href, scenarios} of [...published].reverse()) {
    for (const {scenario: {key}} of scenarios) {
      const newer = newerThan(entries, version, key);
      if (newer) return {version, machine, key, at: `${href}${key}/`, newer};
    }
  }
  return undefined;
}

test('every scenario that was ever measured has an address of its newest figures, with scripts and without', async ({browser}) => {
  const keys = new Set(versions.flatMap(({scenarios}) => scenarios.map(({scenario}) => scenario.key)));
  const folder = path.join(BUILD_DIR, 'benchmarks', 'latest');
  expect(readdirSync(folder).filter((key) => key !== 'components').sort()).toEqual([...keys].sort());
  const [key] = [...keys];
  // Newest first.
  const [newest] = published.filter(({scenarios}) => scenarios.some(({scenario}) => scenario.key === key));
  for (const javaScriptEnabled of [true, false]) {
    const page = await (await browser.newContext({javaScriptEnabled})).newPage();
    await page.goto(`${url}/benchmarks/latest/${key}/`);
    await expect(page).toHaveURL(new RegExp(`/benchmarks/${newest?.version ?? 'local'}/[^/]+/${key}/$`));
    await page.context().close();
  }
});

test('an old page says which version is newer, and the picker leads to the same scenario', async ({page}) => {
  const found = outdated();
  test.skip(found === undefined, 'no version has a newer one with the same scenario');
  if (!found) return;
  const {at, key, newer} = found;
  await page.goto(url + at);
  const main = page.locator('main');
  await expect(main.getByText(/^Newer: /)).toHaveText(`Newer: ${newer.version}`);
  await picker(page).selectOption(`/benchmarks/${newer.version}/${newer.machine}/${key}/`);
  await expect(page).toHaveURL(`${url}/benchmarks/${newer.version}/${newer.machine}/${key}/`);
  await expect(picker(page)).toHaveValue(entryHref(newer, key));
});

test('the version picker lists every version and machine, and says where the scenario is missing', async ({page}) => {
  const [first] = published;
  const key = first?.scenarios[0]?.scenario.key ?? '';
  await page.goto(`${url}${first?.href}${key}/`);
  const options = picker(page).locator('option');
  await expect(options).toHaveCount(entries.length);
  await expect(options.filter({hasText: '(other scenarios)'})).toHaveCount(entries.filter(({scenarios}) => !scenarios.includes(key)).length);
});

test('a version lists what it lacks, with pages of the same or an older version that exist', async ({page}) => {
  for (const {version, href} of published) {
    await page.goto(url + href);
    const links = await page.locator('section:has(> #measured-before) a').evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
    const order = [...new Set(published.map((one) => one.version))];
    for (const link of links) {
      const of = link.split('/')[2] ?? '';
      expect(order.indexOf(of), `${version} lists ${link}`).toBeGreaterThanOrEqual(order.indexOf(version));
      expect(existsSync(path.join(BUILD_DIR, link, 'index.html')), link).toBe(true);
    }
  }
});

test('one item of the navigation is active', async ({page}) => {
  const [first] = published;
  for (const [at, item] of [
    ['/benchmarks/', 'Benchmarks'],
    [`${first?.href}`, 'Benchmarks'],
    ['/benchmarks/claims/', 'Claims'],
    ['/benchmarks/method/', 'Documentation'],
  ] as const) {
    await page.goto(url + at);
    await expect(page.locator('.navbar__link--active'), at).toHaveText([item]);
  }
});
