// Where do unit tests get their records? From the made-up run in fixtures/, changed per test where a case needs it.
import {cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createHash} from 'node:crypto';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {loadResults, type LoadedRun, type Results} from '../plugins/benchmarks/load';
import {Validator} from '../plugins/benchmarks/validate';
import type {Index, Measurement, Ratio, Run, ScenarioRecord} from '../src/generated/records';
import type {PageCell, PageScenario} from '../src/lib/record';

export const FIXTURE = path.join(__dirname, 'fixtures', 'results');
export const validator = new Validator(path.join(__dirname, '..', '..', 'bench-runner', 'schema'));

export function fixtureResults(): Results {
  return loadResults(FIXTURE, validator);
}

export function fixtureRun(): LoadedRun {
  const run = fixtureResults().versions[0]?.machines[0]?.runs[0];
  if (!run) throw new Error('the fixture holds no run');
  return run;
}

export function fixtureScenario(key: string): {record: PageScenario; run: Run} {
  const loaded = fixtureRun();
  const record = loaded.scenarios.find(({scenario}) => scenario.key === key);
  if (!record) throw new Error(`the fixture holds no ${key}`);
  return {record, run: loaded.run};
}

/** A scenario's record as it is stored, with its histograms. */
export function storedScenario(key: string): ScenarioRecord {
  return JSON.parse(readFileSync(path.join(FIXTURE, fileOf(FIXTURE, `${key}.json`)), 'utf8')) as ScenarioRecord;
}

/** A copy of the fixture that a test may damage; `use` gets its root. */
export function withCopy<T>(use: (root: string) => T): T {
  const root = mkdtempSync(path.join(tmpdir(), 'plumbkv-results-'));
  try {
    cpSync(FIXTURE, root, {recursive: true});
    return use(root);
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
}

/** Path of the first file of the copied fixture whose name ends so, relative to the root. */
export function fileOf(root: string, ending: string): string {
  const index = readIndex(root);
  const found = index.versions[0]?.machines[0]?.runs[0]?.files.find(({path: file}) => file.endsWith(ending));
  if (!found) throw new Error(`no ${ending} in the index`);
  return found.path;
}

export function readIndex(root: string): Index {
  return JSON.parse(readFileSync(path.join(root, 'index.json'), 'utf8')) as Index;
}

/** Rewrites one file and, unless told otherwise, its checksum in the index. */
export function rewrite(root: string, file: string, change: (text: string) => string, keepChecksum = false): void {
  const at = path.join(root, file);
  const text = change(readFileSync(at, 'utf8'));
  writeFileSync(at, text);
  if (keepChecksum || file === 'index.json') return;
  const index = readIndex(root);
  for (const entry of index.versions.flatMap((v) => v.machines.flatMap((m) => m.runs.flatMap((r) => r.files)))) {
    if (entry.path === file) entry.sha256 = createHash('sha256').update(text).digest('hex');
  }
  writeFileSync(path.join(root, 'index.json'), JSON.stringify(index));
}

/** A record as a full run would have it: intervals, and paired ratios to the rival given by the test. */
export function asFull(record: PageScenario, ratios: (cell: PageCell) => Pick<Ratio, 'median' | 'low' | 'high'> | undefined): PageScenario {
  const interval = <T extends Measurement | Ratio>(value: T): T => ({...value, spread: 'interval', n: 9});
  const cells = record.cells.map((cell) => ({...cell, measurements: cell.measurements.map(interval)}));
  const rivals = record.ratios
    .filter((r) => r.kind === 'rival' && r.metric === 'ops_per_second' && r.operation === undefined)
    .flatMap((r) => {
      const numerator = cells.find((cell) => cell.key === r.numerator);
      const told = numerator && ratios(numerator);
      return told ? [interval({...r, ...told})] : [];
    });
  return {...record, profile: 'full', cells, ratios: rivals};
}

/** The same record with the generator nowhere at its ceiling, or everywhere. */
export function withGeneratorBusy(record: PageScenario, busy: number): PageScenario {
  const cells = record.cells.map((cell) => ({
    ...cell,
    measurements: cell.measurements.map((m) => (m.metric === 'generator_busy' ? {...m, median: busy, low: busy, high: busy} : m)),
  }));
  return {...record, cells};
}
