// Do the script bundles carry the records' figures unaltered? A bundler that rewrites hashes in its output once put one
// into the middle of a number.
import {readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from '@playwright/test';
import {builtVersions} from './results';
import {BUILD_DIR} from './serve';

test('every cell of every scenario stands in a bundle, digit for digit', () => {
  const folder = path.join(BUILD_DIR, 'assets', 'js');
  const bundles = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(path.join(folder, name), 'utf8'))
    .join('\n');
  let looked = 0;
  for (const {scenarios} of builtVersions()) {
    for (const {cells} of scenarios) {
      for (const {key, measurements} of cells) {
        for (const {metric, median, low, high} of measurements) {
          const figures = `"median":${String(median)},"low":${String(low)},"high":${String(high)}`;
          expect(bundles.includes(figures), `${key}, ${metric}: ${figures}`).toBe(true);
          looked += 1;
        }
      }
    }
  }
  test.info().annotations.push({type: 'figures', description: String(looked)});
});
