// How much do the site and its build take? Bounds on the scripts that each page waits for, on the HTML of a large page, and
// on the memory of the build that `npm run build` has just made; and records are in no script at all.
import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from '@playwright/test';
import {type BuildReport, REPORT_FILE} from '../plugins/benchmarks/build-report';
import {builtVersions} from './results';
import {BUILD_DIR} from './serve';

const KB = 1000;
const GB = 1e9;
/** Scripts that every page waits for. */
const MAIN_MOST = 500 * KB;
/** Any other script: a kind of page, an island, a guide. */
const CHUNK_MOST = 150 * KB;
/** The page of a scenario with many cells. */
const READ_RANDOM_MOST = 350 * KB;
const PEAK_RSS_MOST = 2 * GB;

const SCRIPTS = path.join(BUILD_DIR, 'assets', 'js');

function scripts(): {name: string; bytes: number}[] {
  return readdirSync(SCRIPTS)
    .filter((name) => name.endsWith('.js'))
    .map((name) => ({name, bytes: statSync(path.join(SCRIPTS, name)).size}));
}

test('main.js is at most 500 KB, and every other script at most 150 KB', () => {
  const tooLarge = scripts().filter(({name, bytes}) => bytes > (name === 'main.js' ? MAIN_MOST : CHUNK_MOST));
  expect(tooLarge).toEqual([]);
});

test('no script holds a record: neither its figures nor its id', () => {
  const ids = builtVersions().flatMap(({runs}) => [...runs.keys()]);
  for (const {name} of scripts()) {
    const text = readFileSync(path.join(SCRIPTS, name), 'utf8');
    expect(text.match(/"?median"?:[-\d.]+,"?low"?:[-\d.]+/)?.[0], name).toBeUndefined();
    expect(text.includes('hdr_v2_deflate_base64:"'), name).toBe(false);
    expect(ids.filter((id) => text.includes(id)), name).toEqual([]);
  }
});

test('the HTML of random reads is at most 350 KB, of every version', () => {
  const pages = builtVersions().flatMap(({href, merged}) => (merged.has('read-random') ? [path.join(BUILD_DIR, href, 'read-random', 'index.html')] : []));
  const tooLarge = pages.map((file) => ({file, bytes: statSync(file).size})).filter(({bytes}) => bytes > READ_RANDOM_MOST);
  expect(tooLarge).toEqual([]);
});

test('the build took at most 2 GB of memory', () => {
  const file = path.resolve(__dirname, '..', '.docusaurus', REPORT_FILE);
  expect(existsSync(file), `${file}: run 'npm run build' first`).toBe(true);
  expect(statSync(file).mtimeMs, `${file} is of an earlier build than ${BUILD_DIR}`).toBeGreaterThan(statSync(path.join(BUILD_DIR, 'index.html')).mtimeMs);
  const {peak_rss_bytes: peak} = JSON.parse(readFileSync(file, 'utf8')) as BuildReport;
  expect(peak, `peak resident memory of the build: ${(peak / GB).toFixed(2)} GB, at most ${PEAK_RSS_MOST / GB}`).toBeLessThanOrEqual(PEAK_RSS_MOST);
});
