// How do the pages look? Writes them as pictures, at two widths and in both colour schemes: `npm run screenshots -- DIR`.
// `--fixtures` first builds a site of its own from the made-up records, which hold what a run seldom has all of at once.
import {mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {chromium, type Page} from '@playwright/test';
import {calibrations, writeCalibrations} from '../test/calibrations';
import {moreScenarios, moreServers} from '../test/records';
import {writeResults} from '../test/versions';
import {buildSite} from './build';
import {LAUNCH} from './chromium';
import {builtVersions} from './results';
import {BUILD_DIR, serveBuild} from './serve';

const WIDTHS = [390, 1440];
const SCHEMES = ['light', 'dark'] as const;

async function main(dir: string, build: string): Promise<void> {
  mkdirSync(dir, {recursive: true});
  const pages = pagesOf(build);
  const site = await serveBuild(build);
  const browser = await chromium.launch(LAUNCH);
  try {
    for (const width of WIDTHS) {
      for (const colorScheme of SCHEMES) {
        const context = await browser.newContext({viewport: {width, height: 900}, colorScheme});
        const page = await context.newPage();
        for (const [name, href] of pages) {
          await page.goto(site.url + href, {waitUntil: 'networkidle'});
          const file = path.join(dir, `${name}-${width}-${colorScheme}.png`);
          await page.screenshot({path: file, fullPage: true});
          const beyond = await overflow(page);
          process.stdout.write(`${file}${beyond.length > 0 ? `  wider than the page: ${beyond.join(', ')}` : ''}\n`);
        }
        await context.close();
      }
    }
  } finally {
    await browser.close();
    await site.stop();
  }
}

/** Every kind of page once, and every scenario of the newest version that has it. */
function pagesOf(build: string): Map<string, string> {
  const pages = new Map([
    ['landing', '/'],
    ['benchmarks', '/benchmarks/'],
    ['claims', '/benchmarks/claims/'],
    ['trends', '/benchmarks/trends/'],
    ['gate', '/benchmarks/gate/'],
    ['method', '/benchmarks/method/'],
    ['method-statistics', '/benchmarks/method/statistics/'],
    ['start', '/docs/getting-started/'],
    ['reading', '/docs/reading-the-numbers/'],
    ['docs', '/docs/'],
    ['embed', '/docs/embed/'],
    ['settings', '/docs/settings/'],
    ['commands', '/docs/commands/'],
    ['scenario-list', '/benchmarks/method/scenario-list/'],
    ['changelog', '/docs/changelog/'],
    ['search', '/search/?q=durable'],
    ['not-found', '/nowhere/'],
  ]);
  const built = builtVersions(build);
  for (const {href, run, scenarios} of built) {
    if (!pages.has('version')) pages.set('version', href).set('run', `${href}run/${run.id}/`);
    if (!pages.has('components') && run.components.length > 0) pages.set('components', `${href}components/`);
    for (const {scenario} of scenarios) if (!pages.has(scenario.key)) pages.set(scenario.key, `${href}${scenario.key}/`);
  }
  // The scenario that has most versions of one machine behind it, newest first.
  const byScenario = new Map<string, {key: string; runs: string[]}>();
  for (const {machine, run, scenarios} of built) {
    for (const {scenario: {key}} of scenarios) {
      const found = byScenario.get(`${machine}/${key}`) ?? {key, runs: []};
      found.runs.push(run.id);
      byScenario.set(`${machine}/${key}`, found);
    }
  }
  const [followed] = [...byScenario.values()].sort((a, b) => b.runs.length - a.runs.length);
  if (followed) {
    const {key, runs: [newer, older]} = followed;
    pages.set('trend', `/benchmarks/trends/${key}/`);
    pages.set('compare', older === undefined ? '/benchmarks/compare/' : `/benchmarks/compare/?a=${older}&b=${newer}&scenario=${key}`);
  }
  return pages;
}

/** Parts that reach beyond the screen outside a frame that scrolls. */
function overflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const wide = [...document.querySelectorAll('main *')].filter((element) => {
      if (element.closest('[tabindex="0"], .hidden, pre')) return false;
      return element.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
    });
    return [...new Set(wide.map((element) => `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''}`))].slice(0, 5);
  });
}

async function fromFixtures(dir: string): Promise<void> {
  const root = mkdtempSync(path.join(tmpdir(), 'plumbkv-screenshots-'));
  try {
    const more = moreScenarios();
    writeResults(path.join(root, 'results'), [{version: '0.0.2', startedAt: '2026-02-01T00:00:00Z', changeRun: moreServers, more}]);
    writeCalibrations(path.join(root, 'results'), calibrations());
    await buildSite('screenshots', path.join(root, 'results'), path.join(root, 'site'));
    await main(dir, path.join(root, 'site'));
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
}

const [dir, how] = process.argv.slice(2);
if (dir && (how === undefined || how === '--fixtures')) {
  const out = path.resolve(dir);
  void (how === undefined ? main(out, BUILD_DIR) : fromFixtures(out));
} else {
  process.stderr.write('screenshots: name a folder to write to: npm run screenshots -- DIR [--fixtures]\n');
  process.exitCode = 64;
}
