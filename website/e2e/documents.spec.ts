// Is a document alive where it has to be, and HTML everywhere else? Islands, links, the colour scheme, the way back, and
// not one error in the browser's console on any kind of page.
import {type Browser, expect, type Page, test} from '@playwright/test';
import {builtVersions} from './results';
import {serveBuild} from './serve';

let url = '';
let stop: () => Promise<void> = () => Promise.resolve();

test.beforeAll(async () => {
  ({url, stop} = await serveBuild());
});
test.afterAll(async () => stop());

const [newest] = builtVersions();
const GUIDE = '/docs/reading-the-numbers/';
const CLAIMS = '/benchmarks/claims/';

function complaints(page: Page): string[] {
  const said: string[] = [];
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && said.push(message.text()));
  return said;
}

/** One page of each kind, and of each kind of scenario that any version has. */
function kinds(): string[] {
  const found = new Map<string, string>();
  for (const {href, run, scenarios} of builtVersions()) {
    const own: [string, string][] = [['version', href], ['run', `${href}run/${run.id}/`]];
    if (run.components.length > 0) own.push(['components', `${href}components/`]);
    for (const {scenario} of scenarios) own.push([scenario.kind, `${href}${scenario.key}/`], [scenario.key, `${href}${scenario.key}/`], ['trend', `/benchmarks/trends/${scenario.key}/`]);
    for (const [kind, at] of own) if (!found.has(kind)) found.set(kind, at);
  }
  return ['/', '/benchmarks/', CLAIMS, '/benchmarks/compare/', '/benchmarks/trends/', '/benchmarks/gate/', '/benchmarks/method/', GUIDE, ...new Set(found.values())];
}

async function hydrated(page: Page): Promise<void> {
  await expect(page.locator('html')).toHaveAttribute('data-has-hydrated', 'true');
}

test('no kind of page says anything in the console, and its content and head are those that were built', async ({browser}) => {
  test.setTimeout(240_000);
  const page = await browser.newPage();
  const still = await (await browser.newContext({javaScriptEnabled: false})).newPage();
  const said = complaints(page);
  for (const at of kinds()) {
    await page.goto(url + at, {waitUntil: 'networkidle'});
    await hydrated(page);
    await still.goto(url + at);
    const [alive, built] = await Promise.all([page, still].map(headAndText));
    expect(alive, at).toEqual(built);
    expect(said, at).toEqual([]);
  }
});

/** Title, description and address of a page, and its text without that of islands. */
async function headAndText(page: Page): Promise<Record<string, string | null | undefined>> {
  return {
    title: await page.title(),
    description: await page.locator('meta[name=description]').getAttribute('content'),
    canonical: await page.locator('link[rel=canonical]').getAttribute('href'),
    text: await page.evaluate(() => {
      const copy = document.querySelector('main')?.cloneNode(true) as HTMLElement | undefined;
      copy?.querySelectorAll('[data-island]').forEach((island) => island.remove());
      return document.getElementById('document') ? copy?.textContent : '';
    }),
  };
}

test('an address that does not exist says so, below the documents and elsewhere', async ({page}) => {
  for (const at of ['/benchmarks/0.0.0/nowhere/', '/nowhere/']) {
    await page.goto(url + at);
    await hydrated(page);
    await expect(page.getByRole('heading', {level: 1})).toHaveText('There is no such page');
    await expect(page).toHaveTitle(/Not Found/);
  }
});

test('a link to a document loads the page, and a script’s way back and forth ends at its content', async ({page}) => {
  const said = complaints(page);
  await page.goto(url + GUIDE);
  await hydrated(page);
  await page.evaluate(() => Object.assign(window, {sameDocument: true}));
  await page.locator(`footer a[href="${CLAIMS}"]`).click();
  await expect(page).toHaveURL(url + CLAIMS);
  await hydrated(page);
  expect(await page.evaluate(() => 'sameDocument' in window)).toBe(false);
  const heading = await page.getByRole('heading', {level: 1}).innerText();
  await page.locator(`footer a[href="${GUIDE}"]`).click();
  await expect(page.getByRole('heading', {level: 1})).toHaveText('Reading the numbers');
  await page.goBack();
  await expect(page.getByRole('heading', {level: 1})).toHaveText(heading);
  await page.goBack();
  await expect(page.getByRole('heading', {level: 1})).toHaveText('Reading the numbers');
  await page.goForward();
  await expect(page.getByRole('heading', {level: 1})).toHaveText(heading);
  expect(said).toEqual([]);
});

test('the colour scheme is switched, and the content stays', async ({page}) => {
  await page.goto(url + CLAIMS);
  await hydrated(page);
  const before = await page.locator('main').innerText();
  const scheme = () => page.evaluate(() => document.documentElement.dataset.theme);
  const seen = new Set([await scheme()]);
  for (let click = 0; click < 3; click += 1) {
    await page.getByRole('button', {name: /dark and light mode/}).first().click();
    seen.add(await scheme());
  }
  expect([...seen].sort()).toEqual(['dark', 'light']);
  expect(await page.locator('main').innerText()).toBe(before);
});

test.describe('islands', () => {
  test.skip(newest === undefined, 'no run is stored');
  const record = newest?.scenarios.find(({cells}) => cells.some(({target, distributions}) => target.startsWith('plumbkv') && distributions.length > 0));
  const at = `${newest?.href}${record?.scenario.key}/`;

  test('commands are copied', async ({browser}) => {
    const context = await browser.newContext({permissions: ['clipboard-read', 'clipboard-write']});
    const page = await context.newPage();
    await page.goto(url + at);
    const copy = page.getByRole('button', {name: 'Copy'}).first();
    await copy.click();
    await expect(page.getByRole('button', {name: 'Copied'})).toBeVisible();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(await page.locator('[data-island="copy-block"] pre').first().innerText());
    await context.close();
  });

  test('histograms are made from the raw record, in HdrHistogram’s formats', async ({page}) => {
    test.skip(record === undefined, 'the newest version has no histograms');
    await page.goto(url + at);
    await page.getByText('Histograms of each cell').click();
    await page.getByRole('button', {name: /List the cells/}).click();
    for (const [ending, begins] of [['.hlog', '#[Histogram log format version 1.3]'], ['.hgrm', '#[']] as const) {
      const waiting = page.waitForEvent('download');
      await page.getByRole('button', {name: ending}).first().click();
      const download = await waiting;
      expect(download.suggestedFilename()).toMatch(new RegExp(`^\\d{3}-plumbkv-.*\\${ending}$`));
      const chunks: Buffer[] = [];
      for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
      expect(Buffer.concat(chunks).toString('utf8').startsWith(begins)).toBe(true);
    }
  });

  test('two runs are compared', async ({browser}) => {
    await compared(browser);
  });
});

async function compared(browser: Browser): Promise<void> {
  const page = await browser.newPage();
  const said = complaints(page);
  const run = newest?.run.id ?? '';
  const key = newest?.run.scenarios[0]?.key ?? '';
  await page.goto(`${url}/benchmarks/compare/?a=${run}&b=${run}&scenario=${key}`);
  await expect(page.getByRole('region', {name: `Cells of ${key} in both runs`}).locator('tbody tr').first()).toBeVisible();
  await expect(page.getByLabel('First')).toHaveValue(run);
  expect(said).toEqual([]);
  await page.close();
}
