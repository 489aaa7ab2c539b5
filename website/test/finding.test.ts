// Does a finding say what the record holds, both sides of it, and no more than its trials allow?
import {expect, test} from 'vitest';
import {badge, type Finding, findings, headlinePoints} from '../src/lib/finding';
import {regime} from '../src/lib/regime';
import {wordOf} from '../src/lib/verdict';
import {points} from '../src/lib/record';
import {asFull, fixtureScenario, withGeneratorBusy} from './fixture';

const COMPARING = /\b(faster|slower|fewer|better|worse|beats|wins|loses|won|lost|than|sooner|higher|lower)\b/i;
const text = (all: Finding[]) => all.map((one) => one.text).join(' ');

test('fewer than six trials give figures of both sides, no verdict and no comparing word', () => {
  for (const key of ['wire-single', 'wire-concurrency', 'wire-mixed', 'wire-pipeline', 'memory-cap', 'startup']) {
    const {record, run} = fixtureScenario(key);
    const found = findings(record, run);
    expect(found.filter(({kind}) => kind === 'verdict'), key).toEqual([]);
    expect(text(found), key).toMatch(/PlumbKV/);
    expect(text(found), key).toMatch(/Redis/);
    expect(text(found), key).toMatch(/Three trials, no verdict/);
    expect(text(found), key).not.toMatch(COMPARING);
  }
});

test('the badge names profile and trials; six trials need none, whatever the profile is called', () => {
  expect(badge('quick', 3)).toBe('quick run: 3 trials, no verdict');
  expect(badge('smoke', 1)).toBe('smoke run: one trial, no verdict');
  expect(badge('full', 1)).toBe('full run: one trial, no verdict');
  expect(badge('full', 6)).toBeUndefined();
});

test('points that are lost are said by name, points that are won and undecided ones by number', () => {
  const {record, run} = fixtureScenario('wire-single');
  const full = asFull(withGeneratorBusy(record, 0.5), (cell) =>
    cell.axes.operation === 'get'
      ? {median: 1.2, low: 1.1, high: 1.3}
      : cell.axes.operation === 'set'
        ? {median: 0.8, low: 0.7, high: 0.9}
        : {median: 1.02, low: 0.97, high: 1.07},
  );
  const [verdict] = findings(full, run);
  expect(verdict).toMatchObject({kind: 'verdict', n: 9, spread: 'interval'});
  expect(verdict?.text).toMatch(/^Against Redis 0\.0\.0, \d+ of \d+ points are decided: PlumbKV 0\.0\.1 is faster at \d, slower at \d\./);
  expect(verdict?.text).toMatch(/Lost: 0\.80× \(0\.70–0\.90\) the throughput at SET/);
  expect(verdict?.text).toMatch(/Won: 1\.2× \(1\.1–1\.3\)/);
});

test('a verdict says in short sentences that every point is decided one way', () => {
  const {record, run} = fixtureScenario('wire-single');
  const said = (low: number, median: number, high: number) => text(findings(asFull(withGeneratorBusy(record, 0.5), () => ({low, median, high})), run));
  expect(said(1.1, 1.2, 1.3)).toMatch(/^PlumbKV 0\.0\.1 is faster than Redis 0\.0\.0 at all \d points: 1\.2× \(1\.1–1\.3\)/);
  expect(said(0.7, 0.8, 0.9)).toMatch(/^PlumbKV 0\.0\.1 is slower than Redis 0\.0\.0 at all \d points: 0\.80× \(0\.70–0\.90\) the throughput at /);
  expect(said(0.9, 1, 1.1)).toMatch(/^PlumbKV 0\.0\.1 and Redis 0\.0\.0 are undecided at all \d points/);
});

test('where the load generator set the pace, no throughput is judged', () => {
  const {record, run} = fixtureScenario('wire-single');
  const found = findings(asFull(withGeneratorBusy(record, 0.99), () => ({median: 2, low: 1.9, high: 2.1})), run);
  expect(found.filter(({kind}) => kind === 'verdict')).toEqual([]);
  expect(text(found)).toMatch(/Not judged by throughput: the load generator set the pace at every point/);
});

test('a verdict needs an interval of six trials that leaves 1 out, in the direction of its metric', () => {
  const interval = (low: number, high: number) => ({spread: 'interval' as const, low, high});
  expect(wordOf({...interval(1.5, 1.6), spread: 'range'}, 9, 'higher')).toBe('few');
  expect(wordOf(interval(1.5, 1.6), 5, 'higher')).toBe('few');
  expect(wordOf(interval(1.5, 1.6), 6, 'higher')).toBe('better');
  expect(wordOf(interval(1.5, 1.6), 6, 'lower')).toBe('worse');
  expect(wordOf(interval(0.5, 0.6), 6, 'lower')).toBe('better');
  expect(wordOf(interval(0.99, 1.6), 6, 'higher')).toBe('undecided');
});

test('failed and skipped cells are counted in the finding', () => {
  const {record, run} = fixtureScenario('wire-single');
  const cells = record.cells.map((cell, index) => (index === 0 ? {...cell, status: 'failed' as const, reason: 'it broke'} : cell));
  expect(text(findings({...record, cells}, run))).toMatch(/Of \d+ cells one failed/);
});

test('the regime names machine class, CPUs, loop, memory and the rival with its allocator', () => {
  const {record, run} = fixtureScenario('wire-single');
  const said = regime(run, record);
  for (const part of [run.machine.class, 'closed loop over loopback', 'in memory', 'CPU', 'jemalloc']) expect(said).toContain(part);
});

test('the points that represent a scenario are of different operations and not on one CPU', () => {
  const {record, run} = fixtureScenario('wire-single');
  const chosen = headlinePoints(points(record, run));
  expect(chosen.map(({operation}) => operation)).toEqual(['set', 'get']);
  expect(chosen.every(({placement, axes}) => placement !== 'together' && axes.value_bytes === 64)).toBe(true);
});
