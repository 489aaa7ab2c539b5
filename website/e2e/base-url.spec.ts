// A site below a folder, as project pages are: every internal link, script and request stays below it.
import {existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect, test} from '@playwright/test';
import {writeResults} from '../test/versions';
import {buildSite} from './build';
import {serveBuild} from './serve';

const BASE = '/plumbkv/';

test('under a base address every link leads to a page of the build, and scripts request nothing outside', async ({browser}) => {
  test.setTimeout(300_000);
  const root = mkdtempSync(path.join(tmpdir(), 'plumbkv-base-'));
  // The folder is the base, so that the server needs to know nothing of it.
  const out = path.join(root, BASE);
  try {
    writeResults(path.join(root, 'results'), [{version: '0.0.2', startedAt: '2026-02-01T00:00:00Z'}]);
    await buildSite('base-url', path.join(root, 'results'), out, {PLUMBKV_BASE_URL: BASE, PLUMBKV_SITE_URL: 'https://example.org'});
    expect(strayLinks(out)).toEqual([]);

    const {url, stop} = await serveBuild(root, path.join(out, '404.html'));
    try {
      const page = await browser.newPage();
      const outside: string[] = [];
      page.on('response', (response) => {
        const {pathname} = new URL(response.url());
        if (!pathname.startsWith(BASE) || response.status() >= 400) outside.push(`${response.status()} ${pathname}`);
      });
      for (const wanted of ['', 'benchmarks/', 'benchmarks/0.0.1/', 'docs/getting-started/', 'benchmarks/method/guarding/']) {
        await page.goto(`${url}${BASE}${wanted}`, {waitUntil: 'networkidle'});
      }
      await page.getByRole('link', {name: 'trends'}).click();
      await expect(page).toHaveURL(`${url}${BASE}benchmarks/trends/`);
      expect(outside).toEqual([]);
    } finally {
      await stop();
    }
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
});

/** Internal addresses in the HTML below `out` that are not below the base, or lead to no file. */
function strayLinks(out: string): string[] {
  const pages = readdirSync(out, {recursive: true, encoding: 'utf8'}).filter((file) => file.endsWith('.html'));
  expect(pages.length).toBeGreaterThan(20);
  const stray = new Set<string>();
  let links = 0;
  for (const file of pages) {
    for (const [, address = ''] of readFileSync(path.join(out, file), 'utf8').matchAll(/\s(?:href|src)="?(\/[^"\s>]*)/g)) {
      links += 1;
      const target = decodeURIComponent(address.split(/[?#]/)[0] ?? '');
      const inside = path.join(out, target.slice(BASE.length));
      const exists = existsSync(inside) && (!statSync(inside).isDirectory() || existsSync(path.join(inside, 'index.html')));
      if (!target.startsWith(BASE) || !exists) stray.add(`${file}: ${address}`);
    }
  }
  expect(links).toBeGreaterThan(pages.length);
  return [...stray];
}
