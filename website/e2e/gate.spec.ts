// Is the page of the gate's errors whole where calibrations are stored? Built from made-up ones; the other specs see what is stored.
import {cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect, type Page, test} from '@playwright/test';
import {calibrations, earlierCalibration, writeCalibrations} from '../test/calibrations';
import {GATE_RULE} from '../src/generated/records';
import {writeResults} from '../test/versions';
import {axeFindsNothing, SCHEMES} from './axe';
import {buildSite} from './build';
import {serveBuild} from './serve';
import {fitsItsWindow} from './width';

const PATH = '/benchmarks/gate/';
const [whole] = calibrations();
const SIMULATED = {
  ...{schema: 'plumbkv.power', schema_version: 1, rule: GATE_RULE, seed: 1},
  cases: [1, 1.05].map((effect) => ({block_sd: 0.02, layout_sd: 0.01, mood: 0.5, shape: 't3', effect, series: 12, gates: 1000, caught: effect > 1 ? 990 : 0, false_red: 0, inconclusive: 0, blocks: 30})),
};
let root = '';
let url = '';
let stop: () => Promise<void> = () => Promise.resolve();

test.beforeAll(async () => {
  test.setTimeout(240_000);
  root = mkdtempSync(path.join(tmpdir(), 'plumbkv-gate-'));
  writeResults(path.join(root, 'results'), []);
  writeCalibrations(path.join(root, 'results'), [...calibrations(), earlierCalibration()]);
  writeFileSync(path.join(root, 'results', 'calibration', 'power.json'), JSON.stringify(SIMULATED));
  mkdirSync(path.join(root, 'results', 'gates'));
  cpSync(path.join(__dirname, '..', '..', 'bench-runner', 'tests', 'fixtures', 'gate', 'v2.json'), path.join(root, 'results', 'gates', 'red.json'));
  await buildSite('gate', path.join(root, 'results'), path.join(root, 'site'));
  ({url, stop} = await serveBuild(path.join(root, 'site')));
});
test.afterAll(async () => {
  await stop();
  rmSync(root, {recursive: true, force: true});
});

async function checkWhole(page: Page): Promise<void> {
  const main = page.locator('main');
  await expect(page.getByRole('heading', {level: 1})).toHaveText('The gate’s errors');
  await expect(page.getByRole('heading', {level: 2})).toHaveText([
    'Fixture: a machine that does not exist',
    'other-machine',
    'third-machine',
    'Simulated gates',
    /^A gate that said regression, 2026-11-21/,
    'An earlier rule: earlier-machine',
  ]);
  await expect(main).toContainText('nothing of the rule in force');
  await expect(page.getByRole('region', {name: 'Series of gate red'}).locator('tbody tr')).toHaveCount(5);
  await expect(page.getByRole('region', {name: 'Functions of gate red, 1'})).toContainText('engine::shard::get');
  await expect(main).toContainText('none of 40 gates said regression');
  await expect(main).toContainText('three of 20 gates said regression: a false-alarm rate of 15');
  await expect(main).not.toContainText('is below 1 %,');
  // Work and sleep on the first machine, work on the second, nothing on the third.
  const charts = page.locator('main svg.chart');
  await expect(charts).toHaveCount(3);
  for (const chart of await charts.all()) {
    expect(await chart.locator('desc').textContent()).toMatch(/5\s% as \w+ \d+ of \d+ \(/);
    expect(await chart.innerHTML()).not.toMatch(/NaN|undefined|Infinity/);
  }
  await expect(page.getByRole('region', {name: 'Noise and smallest change found on fixture-machine'}).locator('tbody tr')).toHaveCount(5);
  const gates = page.getByRole('region', {name: 'Single gates on fixture-machine'});
  await expect(gates).toBeHidden();
  await page.locator('summary').first().click();
  await expect(gates).toBeVisible();
  await expect(gates.locator('tbody tr')).toHaveCount(whole?.gates.length ?? 0);
}

test('every calibrated machine is shown, and its file is offered', async ({page, request}) => {
  const said: string[] = [];
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
  await page.goto(url + PATH);
  await checkWhole(page);
  const link = page.getByRole('link', {name: 'fixture-machine.json'});
  const reply = await request.get(url + (await link.getAttribute('href')));
  expect(await reply.json()).toEqual(JSON.parse(JSON.stringify(whole)));
  expect(said).toEqual([]);
});

test('a reader finds the page from the list of benchmarks, and its rule from there', async ({page}) => {
  await page.goto(`${url}/benchmarks/`);
  await page.getByRole('main').getByRole('link', {name: 'false alarms of the gate'}).click();
  await expect(page).toHaveURL(url + PATH);
  await page.getByRole('main').getByRole('link', {name: 'By which rule it judges'}).click();
  await expect(page).toHaveURL(`${url}/benchmarks/method/statistics/`);
});

test('without scripts the page is whole', async ({browser}) => {
  const context = await browser.newContext({javaScriptEnabled: false});
  const page = await context.newPage();
  await page.goto(url + PATH);
  await checkWhole(page);
  await context.close();
});

for (const colorScheme of SCHEMES) {
  test(`axe finds nothing, and a phone does not scroll sideways, ${colorScheme}`, async ({browser}) => {
    const context = await browser.newContext({colorScheme, reducedMotion: 'reduce', viewport: {width: 390, height: 844}});
    const page = await context.newPage();
    await page.goto(url + PATH, {waitUntil: 'networkidle'});
    await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
    await axeFindsNothing(page, 'report');
    await fitsItsWindow(page, 'report');
    await context.close();
  });
}
