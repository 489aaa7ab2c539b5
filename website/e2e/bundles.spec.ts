// Do the script bundles carry the records' figures unaltered? A bundler that rewrites hashes in its output once put one
// into the middle of a number.
import {readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from '@playwright/test';
import {builtVersions} from './results';
import {BUILD_DIR} from './serve';

const FIGURES = /"median":([-+.\deE]+),"low":([-+.\deE]+),"high":([-+.\deE]+)/g;

test('every figure of every scenario stands in a bundle', () => {
  const folder = path.join(BUILD_DIR, 'assets', 'js');
  // As numbers: the bundler may write one in another notation, but never another number.
  const bundled = new Set<string>();
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.js'))) {
    for (const [, ...figures] of readFileSync(path.join(folder, name), 'utf8').matchAll(FIGURES)) {
      bundled.add(figures.map(Number).join(' '));
    }
  }
  // Looked at together: an expectation for each of tens of thousands of figures takes minutes.
  let figures = 0;
  const missing: string[] = [];
  for (const {scenarios} of builtVersions()) {
    for (const {cells} of scenarios) {
      for (const {key, measurements} of cells) {
        for (const {metric, median, low, high} of measurements) {
          figures += 1;
          if (!bundled.has(`${median} ${low} ${high}`)) missing.push(`${key}, ${metric}: ${median} (${low} to ${high})`);
        }
      }
    }
  }
  expect(figures).toBeGreaterThan(0);
  expect(missing).toEqual([]);
});
