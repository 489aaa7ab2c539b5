// Can a record break a page? Its texts hold markup, mentions, links that run scripts and words of 10,000 letters.
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {type Browser, expect, type Page, test} from '@playwright/test';
import {hostileCalibration, writeCalibrations} from '../test/calibrations';
import {hostileRun, hostileScenario, MARKUP, moreScenarios} from '../test/records';
import {writeResults} from '../test/versions';
import {buildSite} from './build';
import {serveBuild} from './serve';

const HOME = '/benchmarks/0.0.2/fixture-machine/';

async function innocent(page: Page, name: string): Promise<void> {
  const found = await page.evaluate(() => {
    const protocols = [...document.querySelectorAll<HTMLAnchorElement | SVGAElement>('a')].map((link) => {
      const href = link.getAttribute('href');
      return href === null ? 'none' : new URL(href, location.href).protocol;
    });
    const handlers = [...document.querySelectorAll('main *')].filter((element) => element.getAttributeNames().some((attribute) => attribute.startsWith('on')));
    return {
      hacked: 'hacked' in window,
      handlers: handlers.length,
      foreign: document.querySelectorAll('main img, main script, main iframe, main object').length,
      protocols: [...new Set(protocols)].filter((protocol) => !['http:', 'https:'].includes(protocol)),
      wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    };
  });
  expect(found, name).toEqual({hacked: false, handlers: 0, foreign: 0, protocols: [], wider: 0});
}

async function read(browser: Browser, url: string, pages: string[], javaScriptEnabled: boolean): Promise<void> {
  const context = await browser.newContext({viewport: {width: 390, height: 844}, javaScriptEnabled});
  const page = await context.newPage();
  const said: string[] = [];
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('dialog', (dialog) => said.push(dialog.message()));
  for (const href of pages) {
    await page.goto(url + href, {waitUntil: 'load'});
    await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)));
    await innocent(page, `${href}, ${javaScriptEnabled ? 'with' : 'without'} scripts`);
    await expect(page.locator('h1')).toHaveCount(1);
  }
  expect(said).toEqual([]);
  await context.close();
}

test('hostile texts stay texts on every page, and none makes a phone scroll sideways', async ({browser}) => {
  test.setTimeout(240_000);
  const root = mkdtempSync(path.join(tmpdir(), 'plumbkv-hostile-'));
  const out = path.join(root, 'site');
  try {
    const more = moreScenarios();
    more.forEach(hostileScenario);
    writeResults(path.join(root, 'results'), [
      {version: '0.0.2', startedAt: '2026-02-01T00:00:00Z', changeRun: hostileRun, changeScenario: hostileScenario, more},
    ]);
    writeCalibrations(path.join(root, 'results'), [hostileCalibration()]);
    await buildSite('hostile', path.join(root, 'results'), out);
    const keys = ['wire-mixed', 'memory-cap', 'startup', ...more.map(({scenario}) => scenario.key)];
    const pages = ['/', '/benchmarks/', '/benchmarks/gate/', '/benchmarks/0.0.2/', HOME, `${HOME}components/`, ...keys.map((key) => `${HOME}${key}/`)];
    const {url, stop} = await serveBuild(out);
    try {
      await read(browser, url, pages, true);
      await read(browser, url, pages, false);
      // The text itself is there, letter by letter.
      const context = await browser.newContext({javaScriptEnabled: false});
      const page = await context.newPage();
      await page.goto(`${url}${HOME}wire-rate/`);
      await expect(page.locator('main')).toContainText('<img src=x onerror="window.hacked=1"> @everyone [link](javascript:window.hacked=1)');
      // Of a word that no screen could hold, the page shows the beginning.
      await expect(page.locator('h1')).toHaveText(`wire-rate ${MARKUP} ${'x'.repeat(400)}…`);
      await context.close();
    } finally {
      await stop();
    }
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
});
