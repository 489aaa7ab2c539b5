// Are compressed records read as they were written, and anything else refused?
import {readFileSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {inflateSync} from 'node:zlib';
import {createHash} from 'node:crypto';
import {cpSync, mkdtempSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {expect, test} from 'vitest';
import {compareData} from '../plugins/benchmarks/beyond';
import {loadResults} from '../plugins/benchmarks/load';
import {ResultsProblem} from '../plugins/benchmarks/problem';
import {type Place, routes} from '../plugins/benchmarks/routes';
import type {Index, ScenarioRecord} from '../src/generated/records';
import {hasHistograms, histogramLog, histogramSources} from '../src/lib/histograms';
import {content, text, withTexts} from '../src/lib/packed';
import {HISTOGRAMS, isScenario} from '../src/lib/record-files';
import {validator} from './fixture';

const V3 = path.join(__dirname, 'fixtures', 'v3');
const index = JSON.parse(readFileSync(path.join(V3, 'index.json'), 'utf8')) as Index;
const files = index.versions[0]?.machines[0]?.runs[0]?.files ?? [];
const at = (ending: string): string => path.join(V3, files.find(({path: file}) => file.endsWith(ending))?.path ?? '');

function withCopy<T>(use: (root: string) => T): T {
  const root = mkdtempSync(path.join(tmpdir(), 'plumbkv-v3-'));
  try {
    cpSync(V3, root, {recursive: true});
    return use(root);
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
}

/** The message that loading gives when a file has other bytes, with its digest in the index kept right or not. */
function problem(ending: string, change: (bytes: Buffer) => Buffer, keepChecksum = false): string {
  return withCopy((root) => {
    const file = files.find(({path: name}) => name.endsWith(ending));
    if (!file) throw new Error(`no ${ending}`);
    const bytes = change(readFileSync(path.join(root, file.path)));
    writeFileSync(path.join(root, file.path), bytes);
    const listed = readFileSync(path.join(root, 'index.json'), 'utf8');
    if (!keepChecksum) writeFileSync(path.join(root, 'index.json'), listed.replace(file.sha256, createHash('sha256').update(bytes).digest('hex')));
    try {
      loadResults(root, validator);
    } catch (error) {
      expect(error).toBeInstanceOf(ResultsProblem);
      return (error as Error).message;
    }
    throw new Error('the damage was not seen');
  });
}

test('a run of version 3 loads, and its pages offer the files that exist', () => {
  const results = loadResults(V3, validator);
  const loaded = results.versions[0]?.machines[0]?.runs[0];
  expect(loaded?.scenarios.map(({scenario}) => scenario.key)).toEqual(['wire-mixed']);
  expect(loaded?.files.map(({name}) => name)).toEqual(['run.json', 'wire-mixed.json.zst', HISTOGRAMS]);
  expect(loaded?.scenarios[0]?.cells.some(({distributions}) => distributions.length > 0)).toBe(true);
  const sitePaths = files.map(({path: file}) => `results/${file}`);
  expect(compareData(results)[0]?.scenarios.map(({sitePath}) => sitePath)).toEqual([sitePaths[1]]);
  const plan = routes(results);
  const page = plan.routes.find(({path: route, page: kind}) => kind === 'scenario' && route.endsWith('/wire-mixed/'));
  const {raw} = plan.data.get(page?.data.place ?? '')?.() as Place;
  expect(raw.map(({sitePath}) => sitePath)).toEqual(sitePaths);
  expect(histogramSources(raw, 'wire-mixed')).toEqual([{sitePath: sitePaths[1], bytes: files[1]?.bytes, histograms: {sitePath: sitePaths[2], bytes: files[2]?.bytes}}]);
  expect(histogramSources(raw, 'mixed')).toEqual([]);
});

test('histograms of the file become a log that HdrHistogram reads', async () => {
  const record = JSON.parse(text('x.json.zst', readFileSync(at('wire-mixed.json.zst')))) as ScenarioRecord;
  const all = content(HISTOGRAMS, readFileSync(at(HISTOGRAMS)));
  const cell = record.cells.find(hasHistograms);
  if (!cell) throw new Error('no cell has histograms');
  const places = cell.trials.flatMap(({histograms}) => histograms.map(({hdr_v2: place}) => place));
  const lines = (histogramLog(await withTexts(cell, all)) ?? '').split('\n').filter((line) => line.startsWith('Tag='));
  expect(lines.length).toBe(places.length);
  lines.forEach((line, number) => {
    const bytes = Buffer.from(line.split(',').at(-1) ?? '', 'base64');
    expect(bytes.readUInt32BE(0)).toBe(0x1c849314);
    expect(bytes.readUInt32BE(4)).toBe(bytes.length - 8);
    const {at: from, bytes: length} = places[number] ?? {at: 0, bytes: 0};
    const raw = inflateSync(bytes.subarray(8));
    expect(raw.equals(all.subarray(from, from + length))).toBe(true);
    expect(raw.readUInt32BE(0)).toBe(0x1c849313);
  });
  await expect(withTexts(cell, all.subarray(0, 10))).rejects.toThrow(HISTOGRAMS);
  await expect(withTexts(cell, undefined)).rejects.toThrow(HISTOGRAMS);
});

test('a file that is cut, another format, or changed is refused in one line', () => {
  for (const share of [0.3, 0.9, 0.999]) {
    expect(problem('wire-mixed.json.zst', (bytes) => bytes.subarray(0, Math.floor(bytes.length * share)))).toMatch(/wire-mixed\.json\.zst: /);
  }
  expect(problem('wire-mixed.json.zst', () => Buffer.from('{}'))).toMatch(/wire-mixed\.json\.zst: is not a whole zstd file/);
  expect(problem('wire-mixed.json.zst', () => Buffer.alloc(0))).toMatch(/wire-mixed\.json\.zst: /);
  for (const ending of ['wire-mixed.json.zst', HISTOGRAMS]) {
    expect(problem(ending, (bytes) => Buffer.concat([bytes, Buffer.from([0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0])]), true)).toMatch(/its SHA-256 is .*the index says/);
  }
});

test('a decompression bomb ends at the limit', () => {
  // One block of 128 KB that repeats a byte takes 4 bytes: 320 MiB in 10 KB.
  const block = Buffer.from([0x02, 0x00, 0x10, 0x00]);
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]);
  const last = Buffer.from([0x03, 0x00, 0x10, 0x00]);
  const frame = (blocks: number): Buffer => Buffer.concat([head, ...Array.from({length: blocks}, () => block), last]);
  expect(content('x.zst', frame(7)).length).toBe(8 * 128 * 1024);
  expect(() => content('x.zst', frame(2560))).toThrow('decompresses to more than 256 MiB');
});

test('names say what a file is', () => {
  expect(isScenario('run.json')).toBe(false);
  expect(isScenario(HISTOGRAMS)).toBe(false);
  expect(isScenario('wire-mixed.json.zst') && isScenario('wire-mixed.json') && isScenario('wire-mixed.json.zst', 'wire-mixed')).toBe(true);
  expect(isScenario('wire-mixed.json.zst', 'mixed')).toBe(false);
});
