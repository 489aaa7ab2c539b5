// Does a page that is done stay as it is? Two real builds: with one version, and with a newer one, local runs and
// calibrations beside.
import {createHash} from 'node:crypto';
import {mkdtempSync, readFileSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect, test} from '@playwright/test';
import {calibrations, writeCalibrations} from '../test/calibrations';
import {writeResults} from '../test/versions';
import {buildSite} from './build';

/** SHA-256 of every file below a folder of a build, by its path. */
function digests(out: string, folder: string): Map<string, string> {
  const below = path.join(out, folder);
  const files = readdirSync(below, {recursive: true, withFileTypes: true}).filter((entry) => entry.isFile());
  const paths = files.map((entry) => path.relative(below, path.join(entry.parentPath, entry.name))).sort();
  return new Map(paths.map((file) => [file, createHash('sha256').update(readFileSync(path.join(below, file))).digest('hex')]));
}

test('adding a version, local runs and a calibration changes no byte of an older version’s pages', async () => {
  test.setTimeout(240_000);
  const root = mkdtempSync(path.join(tmpdir(), 'plumbkv-immutable-'));
  const [before, after] = [path.join(root, 'before'), path.join(root, 'after')];
  try {
    writeResults(path.join(root, 'one'), []);
    writeResults(path.join(root, 'three'), [
      {version: '0.0.2', startedAt: '2026-02-01T00:00:00Z', changeRun: (run) => (run.notes = ['Another note.'])},
      {version: 'local', startedAt: '2026-03-01T00:00:00Z', changeScenario: (record) => (record.scenario.title += ', once more')},
    ]);
    writeCalibrations(path.join(root, 'three'), calibrations());
    await buildSite('immutable', path.join(root, 'one'), before);
    await buildSite('immutable', path.join(root, 'three'), after);

    expect(digests(after, 'benchmarks/0.0.2').size).toBeGreaterThan(0);
    expect(digests(after, 'benchmarks/local').size).toBeGreaterThan(0);
    expect(digests(after, 'results/calibration').size).toBeGreaterThan(0);
    for (const folder of ['benchmarks/0.0.1', 'results/0.0.1']) {
      const was = digests(before, folder);
      expect(was.size).toBeGreaterThan(5);
      expect(digests(after, folder)).toEqual(was);
    }
    // No script depends on what is stored.
    expect(digests(after, 'assets/js')).toEqual(digests(before, 'assets/js'));
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
});
