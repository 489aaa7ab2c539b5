// What follows from the stored ratios? Steps of the container ladder, adjacent client counts and their plateau,
// stability over the length of a run, switches, and what another load generator says of the same cells.
import type {Ratio, Run} from '../generated/records';
import {rowLabel} from './figures';
import {axesWithout} from './parts';
import {measurement, MODES, type PageCell, type PageScenario, roleOf, shortTitle, targetOf} from './record';

/** A ratio with the cells it is of. */
export interface Compared {
  ratio: Ratio;
  numerator: PageCell;
  denominator: PageCell;
}

/** Ratios of one kind whose cells are all stored, in the order of their numerators. */
export function compared(record: PageScenario, kind: string): Compared[] {
  const cells = new Map(record.cells.map((cell, index) => [cell.key, {cell, index}]));
  return record.ratios
    .filter((ratio) => ratio.kind === kind && ratio.operation === undefined)
    .flatMap((ratio) => {
      const [above, below] = [cells.get(ratio.numerator), cells.get(ratio.denominator)];
      return above && below ? [{ratio, numerator: above.cell, denominator: below.cell, index: above.index}] : [];
    })
    .sort((a, b) => a.index - b.index)
    .map(({index: _index, ...rest}) => rest);
}

export interface RatioRow {
  label: string;
  ratios: (Ratio | undefined)[];
}

export interface RatioGroup {
  label: string;
  rows: RatioRow[];
}

export interface RatioTable {
  metrics: string[];
  groups: RatioGroup[];
}

/** Ratios of one kind as a table: groups and rows as told, a column per metric. */
export function ratioTable(
  record: PageScenario,
  kind: string,
  metrics: string[],
  name: (pair: Compared) => {group: string; row: string; rank?: number},
): RatioTable {
  const pairs = compared(record, kind).filter(({ratio}) => metrics.includes(ratio.metric));
  const present = metrics.filter((metric) => pairs.some(({ratio}) => ratio.metric === metric));
  const groups = new Map<string, Map<string, {rank: number; row: RatioRow}>>();
  for (const pair of pairs) {
    const {group, row, rank = 0} = name(pair);
    const rows = groups.get(group) ?? new Map<string, {rank: number; row: RatioRow}>();
    groups.set(group, rows);
    const found = rows.get(row) ?? {rank, row: {label: row, ratios: present.map(() => undefined)}};
    rows.set(row, found);
    found.row.ratios[present.indexOf(pair.ratio.metric)] = pair.ratio;
  }
  return {
    metrics: present,
    groups: [...groups].map(([label, rows]) => ({label, rows: [...rows.values()].sort((a, b) => a.rank - b.rank).map(({row}) => row)})),
  };
}

/** Each way of running a server against running it natively, in the order of the ladder. */
export function ladder(record: PageScenario, run: Run): RatioTable {
  // A start's only reply has a response time, too, but says nothing of it.
  const metrics = record.scenario.kind === 'startup' ? ['startup_ms'] : ['ops_per_second', 'latency_ns_p50', 'latency_ns_p99', 'server_cpu_ns_per_op'];
  return ratioTable(record, 'overhead', metrics, ({numerator}) => ({
    group: numerator.placement === 'together' ? `${numerator.label}, on one CPU` : numerator.label,
    row: rowLabel(numerator, run),
    rank: (roleOf(run, numerator.target) === 'subject' ? 0 : 10) + MODES.indexOf(numerator.mode),
  }));
}

/** Client counts beyond which throughput no longer grows by a share that matters. */
export const PLATEAU_GAIN = 1.05;

export interface Plateau {
  server: string;
  load: string;
  /** Clients from which on no step gained `PLATEAU_GAIN`. */
  from: number;
  /** Highest client count that was measured. */
  upTo: number;
}

/** Where the throughput of each server stops growing with its clients, from the ratios of adjacent counts. */
export function plateaus(record: PageScenario, run: Run): Plateau[] {
  const chains = new Map<string, Compared[]>();
  for (const pair of compared(record, 'adjacent').filter(({ratio}) => ratio.metric === 'ops_per_second')) {
    const {target, mode, axes} = pair.numerator;
    const id = `${target}/${mode}/${axesWithout(axes, 'clients')}`;
    chains.set(id, [...(chains.get(id) ?? []), pair]);
  }
  return [...chains.values()].flatMap((pairs) => {
    const sorted = [...pairs].sort((a, b) => (a.numerator.axes.clients ?? 0) - (b.numerator.axes.clients ?? 0));
    const lastGain = sorted.findLastIndex(({ratio}) => ratio.median >= PLATEAU_GAIN);
    const after = sorted[lastGain + 1];
    const last = sorted.at(-1);
    const from = after?.denominator.axes.clients;
    const upTo = last?.numerator.axes.clients;
    if (!after || !last || from === undefined || upTo === undefined) return [];
    return [{server: rowLabel(after.numerator, run), load: withoutClients(after.numerator.label), from, upTo}];
  });
}

/** `GET 64 B, 50 clients` → `GET 64 B`. */
export function withoutClients(label: string): string {
  return label.replace(/, \d+ clients?\b/, '');
}

/** The same cell by our generator and by somebody else's. */
export interface CheckedPair {
  program: string;
  ours: PageCell | undefined;
  theirs: PageCell;
}

export function checkedPairs(record: PageScenario): CheckedPair[] {
  return record.cells.flatMap((theirs) => {
    const program = theirs.axes.client_program;
    if (program === undefined) return [];
    const ours = record.cells.find(
      (cell) =>
        cell.run_id === theirs.run_id &&
        cell.axes.client_program === undefined &&
        cell.target === theirs.target &&
        cell.mode === theirs.mode &&
        cell.placement === theirs.placement &&
        axesWithout(cell.axes) === axesWithout(theirs.axes, 'client_program'),
    );
    return [{program, ours, theirs}];
  });
}

/** Ours against a rival where another generator measured both as well: a group per pair of servers, a row per generator. */
export function repeatedRatios(record: PageScenario, run: Run): RatioTable {
  const ownOf = new Map(checkedPairs(record).flatMap(({ours, theirs}): [string, PageCell][] => (ours ? [[theirs.key, ours]] : [])));
  const rivals = compared(record, 'rival').filter(({ratio}) => REPEATED.includes(ratio.metric));
  const found = rivals.flatMap((theirs) => {
    const [above, below] = [ownOf.get(theirs.numerator.key), ownOf.get(theirs.denominator.key)];
    const ours = rivals.find(({numerator, denominator, ratio}) => numerator === above && denominator === below && ratio.metric === theirs.ratio.metric);
    return ours ? [{ours, theirs}] : [];
  });
  const metrics = REPEATED.filter((metric) => found.some(({ours}) => ours.ratio.metric === metric));
  const groups = new Map<string, RatioRow[]>();
  for (const {ours, theirs} of found) {
    const names = [ours.numerator, ours.denominator].map(({target}) => shortTitle(targetOf(run, target), target));
    const label = `${ours.numerator.label}${ours.numerator.placement === 'together' ? ', on one CPU' : ''}: ${names.join(' to ')}`;
    const rows = groups.get(label) ?? [];
    groups.set(label, rows);
    for (const [by, {ratio}] of [['our load generator', ours], [theirs.numerator.axes.client_program, theirs]] as const) {
      let row = rows.find((other) => other.label === `by ${by}`);
      if (!row) rows.push((row = {label: `by ${by}`, ratios: metrics.map(() => undefined)}));
      row.ratios[metrics.indexOf(ratio.metric)] = ratio;
    }
  }
  return {metrics, groups: [...groups].map(([label, rows]) => ({label, rows}))};
}

/** What generators of others tell, too. */
const REPEATED = ['ops_per_second', 'latency_ns_p50', 'server_cpu_ns_per_op'];

/** Knees by load, for the table of capacity: the rate is measured, nothing beyond it is said. */
export function knees(record: PageScenario): {cell: PageCell; perSecond: number; low: number}[] {
  return record.cells.flatMap((cell) => {
    const found = cell.status === 'ok' ? measurement(cell, 'knee_per_second') : undefined;
    return found ? [{cell, perSecond: found.median, low: found.low}] : [];
  });
}
