// Verdicts on every stored scenario of the newest version: none without an interval of at least six trials on both sides.
import {expect, test} from 'vitest';
import {findings, labelsOf} from '../src/lib/finding';
import {recordLeads} from '../src/lib/leading';
import {measurement} from '../src/lib/record';
import {comparisons, isDecided, LEAST_TRIALS} from '../src/lib/verdict';
import {verdictTables} from '../src/lib/verdicttable';
import {storedScenarios} from './stored';

const stored = storedScenarios();
/** What a sentence says only where an interval decides. */
const COMPARING = /\b(faster|slower|sooner|better|worse|less|more|fewer|higher|lower|beyond|within|won|lost) /i;

test('there are scenarios to look at, with intervals and without', () => {
  expect(stored.length).toBeGreaterThan(6);
});

test('every verdict has an interval that leaves 1 out, from six trials on both sides', () => {
  for (const {name, record, run} of stored) {
    for (const {lead, subject, rival, verdicts} of comparisons(record, run)) {
      for (const {point, word, ratio, n} of verdicts.filter((verdict) => isDecided(verdict.word))) {
        const sides = [subject, rival].map(({key}) => point.cells.find((cell) => cell.target === key && cell.mode === 'native'));
        const trials = sides.map((cell) => (cell && measurement(cell, lead.metric)?.n) ?? 0);
        expect([name, ratio?.spread, n >= LEAST_TRIALS, Math.min(...trials) >= LEAST_TRIALS]).toEqual([name, 'interval', true, true]);
        const above = lead.direction === 'higher' ? word === 'better' : word === 'worse';
        expect(above ? (ratio?.low ?? 0) > 1 : (ratio?.high ?? 2) < 1, `${name}: ${point.label}`).toBe(true);
      }
    }
  }
});

test('a sentence that compares carries its trials and its interval, in figures too', () => {
  for (const {name, record, run} of stored) {
    for (const {kind, text, n, spread} of findings(record, run)) {
      if (kind === 'verdict') {
        expect([name, (n ?? 0) >= LEAST_TRIALS, spread]).toEqual([name, true, 'interval']);
        expect(text, name).toMatch(/\([\d.,]+–[\d.,]+\)/);
      } else {
        // Labels of points are the scenario's own words.
        const own = record.cells.reduce((rest, {label}) => rest.replaceAll(label, ''), text);
        expect(own, name).not.toMatch(COMPARING);
      }
    }
  }
});

test('the table of verdicts prints a comparing word only beside an interval', () => {
  for (const {name, record, run} of stored) {
    for (const {rows} of verdictTables(record, run, labelsOf(record, run))) {
      for (const cell of rows.flatMap(({cells}) => cells)) {
        if (!cell || cell.word === 'few' || cell.word === 'ceiling') continue;
        expect([name, cell.n >= LEAST_TRIALS, cell.figure !== undefined]).toEqual([name, true, true]);
      }
    }
  }
});

test('no two tables of a page have the same title', () => {
  for (const {name, record, run} of stored) {
    const titles = verdictTables(record, run, labelsOf(record, run)).map(({title}) => title);
    expect([name, new Set(titles).size]).toEqual([name, titles.length]);
  }
});

test('an interval that leaves 1 out never reads as if it touched 1', () => {
  for (const {name, record, run} of stored) {
    const cells = verdictTables(record, run, labelsOf(record, run)).flatMap(({rows}) => rows.flatMap((row) => row.cells));
    for (const cell of cells) {
      if (cell?.figure && isDecided(cell.word)) expect([name, Number.parseFloat(cell.figure.low), Number.parseFloat(cell.figure.high)]).not.toContain(1);
    }
  }
});

test('scenarios are judged by what they are about', () => {
  const leads = new Map(stored.map(({record}) => [record.scenario.key, recordLeads(record).map(({metric}) => metric)]));
  const expected: Record<string, string[]> = {
    startup: ['startup_ms'],
    open: ['open_ms'],
    flush: ['flush_ms'],
    compaction: ['compact_ms', 'ops_per_second'],
    load: ['settled_ops_per_second', 'ops_per_second'],
    'value-size': ['latency_ns_p50'],
    'read-random': ['ops_per_second'],
    'wire-single': ['ops_per_second'],
  };
  for (const [key, metrics] of Object.entries(expected)) {
    if (leads.has(key)) expect([key, leads.get(key)]).toEqual([key, metrics]);
  }
});
