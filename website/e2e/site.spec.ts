// Can a reader get from the landing page to a figure, and is it the stored one? Works on whatever results were built.
import {type Browser, expect, type Page, test} from '@playwright/test';
import type {Run, ScenarioRecord} from '../src/generated/records';
import * as packed from '../src/lib/packed';
import {partsOf} from '../src/lib/parts';
import type {PageScenario} from '../src/lib/record';
import {axeFindsNothing, SCHEMES} from './axe';
import {builtVersions, type BuiltVersion} from './results';
import {serveBuild} from './serve';
import {fitsItsWindow} from './width';

// These only read the built site, so both workers may take tests of this file.
test.describe.configure({mode: 'parallel'});

let url = '';
let stop: () => Promise<void> = () => Promise.resolve();

test.beforeAll(async () => {
  ({url, stop} = await serveBuild());
});
test.afterAll(async () => stop());

const versions = builtVersions();
const newest = versions[0];

/** The scenario of the newest version that the walk ends at. */
function target(): {built: BuiltVersion; run: Run; record: PageScenario; href: string} {
  if (!newest) throw new Error('the built site holds no run');
  const found = [...newest.merged.values()];
  const {record, run} = found.find(({record: {scenario}}) => scenario.kind === 'wire') ?? found[0] ?? {};
  if (!record || !run) throw new Error('the newest version holds no scenario');
  return {built: newest, run, record, href: `${newest.href}${record.scenario.key}/`};
}

function pageKinds(): [string, string][] {
  const kinds: [string, string][] = [
    ['landing', '/'],
    ['benchmarks', '/benchmarks/'],
    ['claims', '/benchmarks/claims/'],
    ['compare', '/benchmarks/compare/'],
    ['trends', '/benchmarks/trends/'],
    ['gate', '/benchmarks/gate/'],
    ['method', '/benchmarks/method/'],
    ['guide', '/docs/reading-the-numbers/'],
    ['start', '/docs/getting-started/'],
    ['overview', '/docs/'],
    ['embed', '/docs/embed/'],
    ['settings', '/docs/settings/'],
    ['commands', '/docs/commands/'],
    ['command line', '/docs/command-line/'],
    ['server', '/docs/server/'],
    ['file format', '/docs/file-format/'],
    ['changelog', '/docs/changelog/'],
    ['scenario list', '/benchmarks/method/scenario-list/'],
    ['statistics', '/benchmarks/method/statistics/'],
    ['search', '/search/'],
    ['not found', '/nowhere/'],
  ];
  if (!newest) return kinds;
  kinds.push(['version', newest.href], ['run', `${newest.href}run/${newest.run.id}/`]);
  for (const {scenario} of newest.scenarios) kinds.push([scenario.key, `${newest.href}${scenario.key}/`]);
  if (newest.run.components.length > 0) kinds.push(['components', `${newest.href}components/`]);
  const [first] = newest.scenarios;
  if (first) kinds.push(['trend', `/benchmarks/trends/${first.scenario.key}/`]);
  return kinds;
}

/** One page of each template: scenarios of one kind differ in their figures only. */
function onePerTemplate(): [string, string][] {
  const kinds = new Map(newest?.scenarios.map(({scenario}) => [scenario.kind, scenario.key]));
  const extra = new Set(newest?.scenarios.map(({scenario}) => scenario.key).filter((key) => ![...kinds.values()].includes(key)));
  return pageKinds().filter(([name]) => !extra.has(name));
}

/** Errors of a page's scripts and failed requests, collected while it is read. */
function complaints(page: Page): string[] {
  const said: string[] = [];
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  return said;
}

async function withoutScripts(browser: Browser, use: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({javaScriptEnabled: false});
  await use(await context.newPage());
  await context.close();
}

/** Digits of a number without its power of ten, so that no unit matters: 2,340 and 2.34 are alike. */
function mantissa(value: number): number {
  return value / 10 ** Math.floor(Math.log10(value));
}

async function checkFigures(page: Page, run: Run, record: PageScenario): Promise<void> {
  const {closed, absent} = partsOf(record, run);
  await expect(page.getByRole('heading', {level: 1})).toHaveText(record.scenario.title);
  const section = page.locator('[role=region]').and(page.getByLabel(`${record.scenario.title}: figures`));
  const rows = section.locator('tbody tr').filter({has: page.locator('th[scope=row]')});
  // A mix has further rows for its operations, so there are at least as many rows as cells.
  expect(await rows.count()).toBeGreaterThanOrEqual(closed.length);
  const ours = closed.find(({target: key, mode, status}) => key === 'plumbkv' && mode === 'native' && status === 'ok');
  const stored = ours?.measurements.find(({metric, operation}) => metric === 'ops_per_second' && operation === undefined);
  if (stored && stored.median > 0) {
    const text = await section.first().locator('tr.row-ours td').first().evaluate((cell) => cell.firstChild?.textContent ?? '');
    const shown = Number(text.replace(/[*,]/g, ''));
    expect(Math.abs(mantissa(shown) / mantissa(stored.median) - 1)).toBeLessThan(0.06);
  }
  const reasons = [...closed.filter(({status}) => status !== 'ok'), ...absent].map(({reason}) => reason ?? '');
  // What stands between backticks is shown as code.
  for (const reason of reasons) await expect(page.locator('main')).toContainText(reason.replaceAll('`', ''));
}

async function checkCharts(page: Page, record: PageScenario): Promise<void> {
  const charts = page.locator('main svg.chart');
  expect(await charts.count()).toBeGreaterThan(0);
  for (const chart of await charts.all()) {
    expect(await chart.locator('title').textContent()).not.toBe('');
    expect(await chart.locator('desc').textContent()).toMatch(/\d/);
    expect(await chart.innerHTML()).not.toMatch(/NaN|undefined|Infinity/);
  }
  const trials = Math.max(...record.cells.flatMap((cell) => cell.measurements.map((m) => m.n)));
  // A chart of ratios has spreads; one of figures has every trial.
  const series = page.locator('main svg.chart:has(path.trials)').first().locator('g.series.ours').first();
  const dots = await series.locator('path.trials').first().getAttribute('d');
  expect(dots?.match(/M/g)?.length ?? 0).toBeGreaterThanOrEqual(trials);
}

test('without results the pages say how to make some', async ({page}) => {
  test.skip(newest !== undefined, 'there are results');
  await page.goto(`${url}/benchmarks/`);
  await expect(page.locator('main')).toContainText('make bench');
  await page.goto(url);
  await expect(page.locator('main svg.chart')).toHaveCount(0);
});

test.describe('with results', () => {
  test.skip(newest === undefined, 'no run is stored: nothing to compare the pages with');

  test('a reader walks from the landing page to a scenario, and its figures are the stored ones', async ({page}) => {
    const {built, run, record, href} = target();
    const said = complaints(page);
    await page.goto(url);
    await page.getByRole('main').getByRole('link', {name: 'Benchmarks', exact: true}).click();
    await expect(page.getByRole('heading', {level: 1})).toHaveText('Benchmarks');
    await page.locator(`main a[href="${built.href}"]`).first().click();
    await expect(page).toHaveURL(url + built.href);
    await page.locator(`main a[href="${href}"]`).first().click();
    await expect(page).toHaveURL(url + href);
    await checkFigures(page, run, record);
    await checkCharts(page, record);
    await expect(page.getByRole('region', {name: 'Environment in short'})).toContainText('Machine');
    if (record.profile === 'quick') await expect(page.locator('main')).toContainText('no verdict');
    expect(said).toEqual([]);
  });

  test('landing page and matrix quote stored figures, without a hole', async ({browser}) => {
    await withoutScripts(browser, async (page) => {
      await page.goto(url);
      await expect(page.locator('main')).not.toContainText(/not measured|no run/i);
      const charts = page.locator('main svg.chart');
      expect(await charts.count()).toBeGreaterThan(0);
      for (const chart of await charts.all()) expect(await chart.locator('g.series.ours path.trials').count()).toBeGreaterThan(0);
      await page.goto(`${url}/benchmarks/`);
      const main = page.locator('main');
      await expect(main).not.toContainText(/not measured|undefined|NaN/);
      expect((await main.innerText()).split(/\s+/).length).toBeLessThan(600);
      // Each row has a figure of ours, and leads to a page that exists.
      const rows = main.locator('tbody tr').filter({has: page.locator('th[scope=row]')});
      expect(await rows.count()).toBeGreaterThan(0);
      for (const row of await rows.all()) await expect(row.locator('td').first()).toHaveText(/\d/);
      const hrefs = await main.locator('tbody a').evaluateAll((links) => [...new Set(links.map((link) => link.getAttribute('href')))]);
      for (const href of hrefs) expect((await page.request.get(url + href)).ok(), `${href}`).toBe(true);
      for (const {href} of versions) await expect(main.locator(`a[href="${href}"]`).first()).toBeVisible();
    });
  });

  test('the raw files are offered and are the ones the page was made from', async ({page, request}) => {
    const {record, href} = target();
    await page.goto(url + href);
    const link = page.getByRole('link', {name: `${record.scenario.key}.json`}).first();
    const file = (await link.getAttribute('href')) ?? '';
    const reply = await request.get(url + file);
    expect(reply.ok()).toBe(true);
    const offered = JSON.parse(packed.text(file, new Uint8Array(await reply.body()))) as ScenarioRecord;
    expect(offered.run_id).toBe(record.run_id);
  });

  test('where a page is of one run, the page of that run is linked and holds the same table', async ({page}) => {
    const [found] = versions.flatMap(({href, merged}) => [...merged].flatMap(([key, {run, sources}]) => (sources.length === 1 ? [{href, key, run}] : [])));
    test.skip(found === undefined, 'every page is merged from several runs');
    await page.goto(`${url}${found?.href}${found?.key}/`);
    const before = await page.locator('main table').first().innerText();
    await page.getByRole('link', {name: 'the page of this run'}).click();
    await expect(page).toHaveURL(`${url}${found?.href}run/${found?.run.id}/${found?.key}/`);
    expect(await page.locator('main table').first().innerText()).toBe(before);
  });

  test('a page that is merged from several runs names them, and shows the cells of each', async ({page, request}) => {
    const all = versions.flatMap(({href, merged}) => [...merged].map(([key, one]) => ({...one, href, key})));
    // Best a page on which a mode was measured by the shorter run alone.
    const found = all.find(({record, sources: [first, second]}) => second && record.cells.some((cell) => cell.mode.startsWith('container') && cell.run_id !== first?.loaded.run.id)) ?? all.find(({sources}) => sources.length > 1);
    test.skip(found === undefined, 'every page is of one run');
    if (!found) return;
    const {href, key, record, sources} = found;
    await page.goto(`${url}${href}${key}/`);
    const main = page.locator('main');
    await expect(main.getByText(/^Merged from /).first()).toBeVisible();
    for (const {loaded} of sources) {
      const own = `${href}run/${loaded.run.id}/${key}/`;
      await expect(main.locator(`a[href="${own}"]`).first()).toBeVisible();
      expect((await request.get(url + own)).ok()).toBe(true);
      await expect(main.getByRole('link', {name: `${key}.json`}).and(main.locator(`[href*="${loaded.run.id}"]`))).toHaveCount(1);
    }
    const marked = main.locator('tbody tr').filter({hasText: '†'});
    const others = record.cells.filter(({run_id: id, status}) => id !== record.run_id && status === 'ok');
    if (others.length > 0) expect(await marked.count()).toBeGreaterThan(0);
  });

  test('without scripts every page is whole', async ({browser}) => {
    const {run, record, href} = target();
    await withoutScripts(browser, async (page) => {
      await page.goto(url + href);
      await checkFigures(page, run, record);
      await checkCharts(page, record);
      await expect(page.getByRole('link', {name: 'All versions'})).toHaveAttribute('href', '/benchmarks/');
      await expect(page.getByLabel('Commands that make this run again').first()).not.toBeEmpty();
      await page.locator('summary').first().click();
      await expect(page.locator('details[open] table').first()).toBeVisible();
      for (const [, path] of pageKinds()) {
        await page.goto(url + path);
        await expect(page.locator('h1')).toHaveCount(1);
      }
    });
  });
});

test('without scripts the pages follow the reader’s colour scheme', async ({browser}) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const context = await browser.newContext({javaScriptEnabled: false, colorScheme});
    const page = await context.newPage();
    await page.goto(url);
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe(colorScheme);
    await context.close();
  }
});

test('a phone scrolls tables inside their frames, never the page', async ({browser}) => {
  const context = await browser.newContext({viewport: {width: 390, height: 844}});
  const page = await context.newPage();
  for (const [name, path] of pageKinds()) {
    await page.goto(url + path);
    await fitsItsWindow(page, name);
  }
  if (!newest) return context.close();
  await page.goto(url + target().href);
  const frame = page.getByRole('region', {name: /: figures/}).first();
  await frame.focus();
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => frame.evaluate((element) => element.scrollLeft)).toBeGreaterThan(0);
  await context.close();
});

for (const colorScheme of SCHEMES) {
  test(`axe finds nothing on any kind of page, ${colorScheme}`, async ({browser}) => {
    test.setTimeout(480_000);
    const context = await browser.newContext({colorScheme, reducedMotion: 'reduce'});
    const page = await context.newPage();
    for (const [name, path] of onePerTemplate()) {
      await page.goto(url + path, {waitUntil: 'networkidle'});
      // Folded tables count as well.
      await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
      await axeFindsNothing(page, name);
    }
    await context.close();
  });
}
