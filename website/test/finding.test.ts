// Does a finding say what the record holds, both sides of it, and no more than its trials allow?
import {expect, test} from 'vitest';
import {badge, findings, headlinePoints, regime, separates} from '../src/lib/finding';
import {points} from '../src/lib/record';
import {asFull, fixtureScenario, withGeneratorBusy} from './fixture';

const COMPARING = /faster|slower|more operations|fewer|better|worse|beats|wins|loses|than/i;

test('a quick run gives figures of both sides and no comparing word', () => {
  for (const key of ['wire-single', 'wire-concurrency', 'wire-mixed', 'wire-pipeline', 'memory-cap', 'startup']) {
    const {record, run} = fixtureScenario(key);
    const said = findings(record, run).join(' ');
    expect(said, key).toMatch(/PlumbKV/);
    expect(said, key).toMatch(/Redis/);
    expect(said, key).not.toMatch(COMPARING);
  }
});

test('the badge names profile and trials; a full run has none', () => {
  expect(badge('quick', 3)).toBe('quick run: range of 3 trials, no verdict');
  expect(badge('smoke', 1)).toBe('smoke run: one trial, no verdict');
  expect(badge('full', 9)).toBeUndefined();
});

test('a full run names the points that are won, those that are lost, and those that are open', () => {
  const {record, run} = fixtureScenario('wire-single');
  const full = asFull(withGeneratorBusy(record, 0.5), (cell) =>
    cell.axes.operation === 'get'
      ? {median: 1.2, low: 1.1, high: 1.3}
      : cell.axes.operation === 'set'
        ? {median: 0.8, low: 0.7, high: 0.9}
        : {median: 1.02, low: 0.97, high: 1.07},
  );
  const said = findings(full, run).join(' ');
  expect(said).toMatch(/more operations per second at GET 64 B.*1\.2×/);
  expect(said).toMatch(/fewer at SET 64 B.*0\.80×/);
  expect(said).toMatch(/at one of \w+ judged points the intervals do not separate/);
});

test('nothing is judged where the load generator was at its ceiling', () => {
  const {record, run} = fixtureScenario('wire-single');
  const full = asFull(withGeneratorBusy(record, 0.99), () => ({median: 2, low: 1.9, high: 2.1}));
  const said = findings(full, run).join(' ');
  expect(said).toMatch(/more operations per second at no point, fewer at no point/);
  expect(said).toMatch(/Not judged, since the load generator was at its ceiling/);
});

test('a range never separates, an interval does only when it leaves 1 out', () => {
  const {record} = fixtureScenario('wire-single');
  const [ratio] = record.ratios;
  if (!ratio) throw new Error('the fixture holds no ratio');
  expect(separates({...ratio, spread: 'range', low: 1.5, high: 1.6})).toBe(false);
  expect(separates({...ratio, spread: 'interval', low: 1.5, high: 1.6})).toBe(true);
  expect(separates({...ratio, spread: 'interval', low: 0.99, high: 1.6})).toBe(false);
});

test('failed and skipped cells are counted in the finding', () => {
  const {record, run} = fixtureScenario('wire-single');
  const cells = record.cells.map((cell, index) => (index === 0 ? {...cell, status: 'failed' as const, reason: 'it broke'} : cell));
  expect(findings({...record, cells}, run).join(' ')).toMatch(/Of \d+ cells one failed/);
});

test('the regime names machine class, CPUs, loop, memory and the rival with its allocator', () => {
  const {record, run} = fixtureScenario('wire-single');
  const said = regime(run, record);
  for (const part of [run.machine.class, 'closed loop over loopback', 'in memory', 'CPU', 'jemalloc']) expect(said).toContain(part);
});

test('the points that stand for a scenario are of different operations and not on one CPU', () => {
  const {record, run} = fixtureScenario('wire-single');
  const chosen = headlinePoints(points(record, run));
  expect(chosen.map(({operation}) => operation)).toEqual(['set', 'get']);
  expect(chosen.every(({placement, axes}) => placement !== 'together' && axes.value_bytes === 64)).toBe(true);
});
