// The documents of the built site: sidebar, search, edit links, and what other sites and crawlers read.
import {existsSync, readFileSync, statSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from '@playwright/test';
import {CATALOGUE, COMMANDS, ENTRIES} from '../plugins/docs/catalogue';
import {axeFindsNothing, OF_COLORS, SCHEMES} from './axe';
import {BUILD_DIR, serveBuild} from './serve';
import {fitsItsWindow} from './width';

// These only read the built site, so both workers may take tests of this file.
test.describe.configure({mode: 'parallel'});

/** One program writes all pages of commands: an average one, the longest, and one whose table is wide stand for them. */
const LOOKED_AT = ENTRIES.filter((entry) => !COMMANDS.includes(entry) || ['GET', 'CLIENT', 'RESTORE'].includes(entry.label));

let url = '';
let stop: () => Promise<void> = () => Promise.resolve();

test.beforeAll(async () => {
  ({url, stop} = await serveBuild());
});
test.afterAll(async () => stop());

test('a document is a page with a description, an edit link and its place in the sidebar', async ({page}) => {
  test.setTimeout(180_000);
  for (const {file, slug, label} of LOOKED_AT) {
    await page.goto(url + slug);
    await expect(page.locator('h1')).toHaveCount(1);
    expect((await page.locator('meta[name=description]').getAttribute('content'))?.length ?? 0, file).toBeGreaterThan(20);
    await expect(page.getByRole('link', {name: 'Edit this page'})).toHaveAttribute('href', `https://github.com/plumbkv/plumbkv/edit/main/${file}`);
    await expect(page.locator('.menu__link--active').getByText(label, {exact: true}).first()).toBeVisible();
  }
  await expect(page.locator('aside .menu')).toContainText(CATALOGUE.map(({label}) => label)[0] ?? '');
});

for (const colorScheme of SCHEMES) {
  test(`on a phone axe finds nothing in any document, ${colorScheme}`, async ({browser}) => {
    test.setTimeout(480_000);
    const context = await browser.newContext({viewport: {width: 390, height: 844}, colorScheme, reducedMotion: 'reduce'});
    const page = await context.newPage();
    for (const {slug} of LOOKED_AT) {
      await page.goto(url + slug);
      await fitsItsWindow(page, slug);
      // A document holds the same elements in both schemes.
      await axeFindsNothing(page, slug, colorScheme === 'dark' ? OF_COLORS : undefined);
    }
    await context.close();
  });
}

test('the search finds a term of the field, and axe nothing in its hits', async ({browser}) => {
  for (const colorScheme of SCHEMES) {
    const context = await browser.newContext({colorScheme, reducedMotion: 'reduce'});
    const page = await context.newPage();
    await page.goto(`${url}/docs/`, {waitUntil: 'networkidle'});
    const field = page.getByRole('combobox', {name: 'Search'}).or(page.getByLabel('Search')).first();
    await field.click();
    await field.pressSequentially('group commit', {delay: 20});
    const hits = page.locator('[class*=suggestion_]');
    await expect(hits.first()).toBeVisible();
    await expect(page.locator('[class*=dropdownMenu]')).toContainText(/durab/i);
    await axeFindsNothing(page, `hits, ${colorScheme}`);
    await field.press('Enter');
    await expect(page).toHaveURL(/\/docs\/(durability|durable-store|server|durable-server)\//);
    await context.close();
  }
});

test('the index of the search is small, and holds each document and no page of one version', () => {
  const file = path.join(BUILD_DIR, 'search-index.json');
  expect(statSync(file).size).toBeLessThan(2_500_000);
  const parts = JSON.parse(readFileSync(file, 'utf8')) as {documents: {u: string}[]}[];
  const pages = new Set(parts.flatMap(({documents}) => documents.map(({u}) => u)));
  for (const {slug} of ENTRIES) expect([...pages], slug).toContain(slug);
  expect([...pages].filter((page) => /^\/benchmarks\/(\d|local)/.test(page))).toEqual([]);
});

test('other sites find a picture, and crawlers a map of the site', async ({page}) => {
  await page.goto(`${url}/docs/getting-started/`);
  const picture = new URL((await page.locator('meta[property="og:image"]').getAttribute('content')) ?? '').pathname;
  expect(existsSync(path.join(BUILD_DIR, picture))).toBe(true);
  const map = readFileSync(path.join(BUILD_DIR, 'sitemap.xml'), 'utf8');
  for (const {slug} of ENTRIES) expect(map).toContain(`${slug}</loc>`);
  expect(map).not.toContain('/run/');
});
