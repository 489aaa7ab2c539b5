// The matrix of benchmarks: questions in rows, ours and rivals in columns, each figure with its factor against ours.
import type {Measurement, Ratio} from '../generated/records';
import {figure, fixed, type Scale, scaleFor, withUnit} from './format';
import {METRIC_WORDS} from './metrics';
import {wordOf} from './verdict';


/** Which of our programs a table is about. */
export type TableKey = 'server' | 'store';

/** Where a figure is stored. */
export interface Origin {
  version: string;
  machineKey: string;
  machine: string;
  /** Page of the scenario for that version and machine. */
  href: string;
}

/** One target's figure at the point of a row. */
export interface MatrixCell {
  target: string;
  /** `Redis 7.0.15`. */
  title: string;
  measurement: Measurement;
  /** Value of each ok trial. */
  trials: number[];
  /** How many times better ours is; below 1 it is worse. Absent for ours, and where no ratio is stored. */
  factor?: Factor;
  /** Where that is not the row's run. */
  origin?: Origin;
}

/** Ours against a rival, turned so that more is better for us. */
export interface Factor extends Pick<Ratio, 'median' | 'low' | 'high' | 'spread'> {
  /** Trials of the side that has fewer. */
  n: number;
  /** Ours is at least that much better: the load generator, not our server, was the limit. */
  isLowerBound?: boolean;
}

/** A question and the answer of each target. */
export interface MatrixRow {
  key: string;
  table: TableKey;
  /** `Many connections`. */
  title: string;
  /** The point that was measured: `Random reads of 24M × 100 B, 64 MiB cache, 1 client`. */
  point: string;
  origin: Origin;
  /** Ours first. */
  cells: MatrixCell[];
  /** Rivals that failed at this point wherever they were measured, by their keys. */
  failed: string[];
}

/** A column. */
export interface MatrixColumn {
  target: string;
  /** `Redis`, without a version: rows may be of different runs. */
  title: string;
}

export interface MatrixTable {
  key: TableKey;
  columns: MatrixColumn[];
  rows: MatrixRow[];
}

/** Which side a factor decides for; `undefined` where it has no interval, one that includes 1, or is only a bound. */
export function decided(factor: Factor | undefined): 'ours' | 'theirs' | undefined {
  if (factor?.isLowerBound) return undefined;
  const word = factor && wordOf(factor, factor.n, 'higher');
  return word === 'better' ? 'ours' : word === 'worse' ? 'theirs' : undefined;
}

/** A row with the targets of its own run only: figures of other machines and versions do not stand beside each other in a chart. */
export function ofOneRun(row: MatrixRow): MatrixRow {
  return {...row, cells: row.cells.filter(({origin}) => !origin)};
}

/** Stored as a number from 0 to 1. */
const SHARES = ['hit_ratio'];

/** One unit for all figures of a row. */
export function scaleOf({cells}: Pick<MatrixRow, 'cells'>): Scale {
  const [first] = cells;
  if (!first) return {unit: '', factor: 1};
  if (SHARES.includes(first.measurement.metric)) return {unit: '%', factor: 100};
  return scaleFor(first.measurement.unit, Math.max(...cells.map(({measurement}) => measurement.median)));
}

/** What the figures of a row are: `k ops/s`, `p99, µs`. */
export function quantityOf(row: MatrixRow): string {
  const {metric} = row.cells[0]?.measurement ?? {metric: ''};
  const {unit} = scaleOf(row);
  if (metric === 'ops_per_second') return unit;
  return `${METRIC_WORDS[metric] ?? metric.replaceAll('_', ' ')}, ${unit}`;
}

/** `24M × 100 B`, where the point has so many records of that size. */
export function sizeOf({point}: Pick<MatrixRow, 'point'>): string {
  return /\d[\d.]*[kM]? × [\d.]+ (?:B|KiB|MiB)\b/.exec(point)?.[0] ?? '';
}

/** Whether more is better in a row. */
export function moreIsBetter({cells}: MatrixRow): boolean {
  return cells[0]?.measurement.direction !== 'lower';
}

/** A cell's median in its row's unit, without the unit. */
export function valueOf({measurement}: MatrixCell, scale: Scale): string {
  return figure(measurement, scale).value;
}

/** The same with the unit. */
export function valueWithUnit(cell: MatrixCell, scale: Scale): string {
  return withUnit(valueOf(cell, scale), scale.unit);
}

/** `1.44×`, `15×`, `0.038×`; `≥1.44×` where it is a lower bound. */
export function factorText({median, isLowerBound}: Factor): string {
  const places = median >= 10 ? 0 : median >= 2 ? 1 : median >= 0.1 ? 2 : Math.min(1 - Math.floor(Math.log10(median)), 6);
  return `${isLowerBound ? '≥' : ''}${fixed(median, places)}×`;
}

/** How many factors of a table are decided, and for whom. */
export interface Tally {
  better: number;
  worse: number;
  undecided: number;
}

export function tally(tables: MatrixTable[]): Tally {
  const counts: Tally = {better: 0, worse: 0, undecided: 0};
  for (const {rows} of tables) {
    for (const {factor} of rows.flatMap(({cells}) => cells)) {
      if (!factor) continue;
      const side = decided(factor);
      counts[side === 'ours' ? 'better' : side === 'theirs' ? 'worse' : 'undecided'] += 1;
    }
  }
  return counts;
}
