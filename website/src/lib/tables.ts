// Tables of a scenario's page: records in, texts out, rows grouped by point of the axes, a unit per column and table.
import type {Measurement, Run, Spread, TargetRecord} from '../generated/records';
import {familiesOf} from './families';
import {count, duration, figure, fixed, type Figure, type Scale} from './format';
import {lookOf, rowLabel} from './figures';
import type {ShortLabels} from './labels';
import {checkMetrics, headlineMetrics, inWordsOfEngines, type Metric, resourceMetrics, slimMetrics, timeMetrics, timesHead} from './metrics';
import {generatorAtCeiling, keepsNothing, measurement, type PageCell, type PageScenario, points, shortTitle} from './record';
import {isInProcess} from './regime';
import type {Look} from '../charts/frame';
import {isWithinReach, scaleOfAll, scaleOfMost} from './units';

export interface Column {
  head: string;
  unit: string;
  group?: string;
  /** Tells of the load generator as much as of the server, so that its ceiling is marked here. */
  ofGenerator?: true;
}

export interface Row {
  label: string;
  look: Look;
  /** One per column; absent where the cell has no such figure. */
  figures: (Figure | undefined)[];
  /** Words in the place of figures: `skipped: no container runtime`. */
  failure?: string;
  /** Set where the load generator was at its ceiling. */
  atCeiling: boolean;
  /** Of another run than the first of those that the page is merged from. */
  isOfOther?: true;
}

export interface Table {
  columns: Column[];
  groups: {label: string; rows: Row[]}[];
  spread: Spread;
  /** Fewest and most trials of a cell. */
  trials: [least: number, most: number];
}

/** What a family of cells is shown as: a main table, and below it those with more columns. */
export interface Block {
  title: string;
  folded: boolean;
  main: Table;
  more: {title: string; table: Table}[];
}

const SAME: ShortLabels = {shared: '', short: (label) => label};

/** The tables of some cells, family by family. */
export function blocks(record: PageScenario, run: Run, labels: ShortLabels = SAME): Block[] {
  return familiesOf(record, record.cells).map(({title, folded, cells}) => {
    const isEngine = isInProcess(run, {...record, cells});
    const of = (metrics: Metric[], skipsFailures = false) => build({record, cells, run, metrics: isEngine ? inWordsOfEngines(metrics) : metrics, labels, skipsFailures});
    const times = timeMetrics(record, cells);
    const more = [
      {title: `Percentiles: ${isEngine ? 'time per operation' : lower(timesHead(record))}`, table: of(times, true)},
      {title: 'Resources', table: of(resourceMetrics(record, cells), true)},
    ];
    return {title, folded, main: of(headlineMetrics(record, cells)), more: more.filter(({table}) => table.columns.length > 0 && table.groups.length > 0)};
  });
}

/** The short form of a record, for a page that has many. */
export function slimTable(record: PageScenario, run: Run, labels: ShortLabels = SAME): Table {
  return build({record, cells: record.cells, run, metrics: slimMetrics(record), labels});
}

/** What tells whether the figures can be believed. */
export function checksTable(record: PageScenario, run: Run, labels: ShortLabels = SAME): Table {
  return build({record, cells: record.cells, run, metrics: checkMetrics(record), labels, counts: COUNTS});
}

/** Percentiles of the cells with one of these numbers of connections; nothing where no two were measured. */
export function percentilesAt(record: PageScenario, run: Run, clients: number[], labels: ShortLabels = SAME): Table | undefined {
  const cells = record.cells.filter(({axes, status}) => status === 'ok' && axes.clients !== undefined && clients.includes(axes.clients));
  if (new Set(cells.map(({axes}) => axes.clients)).size < 2) return undefined;
  return build({record, cells, run, metrics: timeMetrics(record, cells), labels, skipsFailures: true});
}

interface Request {
  record: PageScenario;
  cells: PageCell[];
  run: Run;
  metrics: Metric[];
  labels: ShortLabels;
  /** Columns of counts before the metrics. */
  counts?: Counted[];
  /** Leaves out cells without a figure: another table of the page gives their reasons. */
  skipsFailures?: boolean;
}

function build({record, cells, run, metrics, labels, counts = [], skipsFailures = false}: Request): Table {
  const shown = cells.filter(({status}) => status === 'ok' || !skipsFailures);
  const scales = columnScales(shown, metrics);
  const groups = points({...record, cells: shown}, run).map((point) => ({
    label: labels.short(point.label),
    rows: point.cells.flatMap((cell) => rows(cell, run, metrics, scales, counts, record.run_id)).filter(({figures, failure}) => failure !== undefined || figures.some(Boolean)),
  }));
  const all = shown.flatMap((cell) => cell.measurements);
  return {
    columns: [
      ...counts.map(({head}) => ({head, unit: ''})),
      ...metrics.map(({key, head, group}, index) => ({
        head,
        unit: scales[index]?.unit ?? '',
        ...(group ? {group} : {}),
        ...(key === 'ops_per_second' || key === 'generator_busy' ? {ofGenerator: true as const} : {}),
      })),
    ],
    groups: groups.filter((group) => group.rows.length > 0),
    spread: all.some((m) => m.spread === 'interval') ? 'interval' : 'range',
    trials: [Math.min(...all.map((m) => m.n), Infinity), Math.max(0, ...all.map((m) => m.n))],
  };
}

interface Counted {
  head: string;
  of: (cell: PageCell) => string;
}

/** What was counted over all ok trials of a cell. */
const COUNTS: Counted[] = [
  {head: 'Trials', of: (cell) => String(okTrials(cell).length)},
  {head: 'Measured', of: (cell) => duration(sum(cell, (trial) => trial.elapsed_s))},
  {head: 'Replies checked', of: (cell) => count(sum(cell, (trial) => trial.counts.operations))},
  {head: 'Hits', of: (cell) => count(sum(cell, (trial) => trial.counts.hits))},
  {head: 'Misses', of: (cell) => count(sum(cell, (trial) => trial.counts.misses))},
  {head: 'Errors', of: (cell) => count(sum(cell, (trial) => trial.counts.errors))},
];

function rows(cell: PageCell, run: Run, metrics: Metric[], scales: Scale[], counts: Counted[], mainRun: string): Row[] {
  const look = lookOf(cell, run);
  const label = rowLabel(cell, run);
  const atCeiling = cell.status === 'ok' && !keepsNothing(run, cell.target) && generatorAtCeiling(cell);
  const other = cell.run_id === mainRun ? {} : {isOfOther: true as const};
  if (cell.status !== 'ok') {
    return [{label, look, figures: [], failure: cell.reason ? `${cell.status}: ${cell.reason}` : cell.status, atCeiling, ...other}];
  }
  const figuresOf = (operation?: string) =>
    metrics.map(({key}, index) => {
      const measured = measurement(cell, key, operation);
      return measured && figure(measured, scales[index] ?? {unit: '', factor: 1});
    });
  if (counts.length > 0) {
    const counted = counts.map(({of}): Figure => ({value: of(cell), low: '', high: ''}));
    return [{label, look, figures: [...counted, ...figuresOf()], atCeiling, ...other}];
  }
  const operations = [...new Set(cell.measurements.flatMap((m: Measurement) => (m.operation ? [m.operation] : [])))];
  return [
    {label, look, figures: figuresOf(), atCeiling, ...other},
    ...operations.map((operation) => ({label: `… its ${plural(operation)}`, look, figures: figuresOf(operation), atCeiling: false})),
  ];
}

/** `GETs`; of an embedded engine's longer names, `read_modify_write` → `READ MODIFY WRITEs`. */
function plural(operation: string): string {
  return `${operation.toUpperCase().replaceAll('_', ' ')}s`;
}

// Percentiles share a unit, so that neighbours can be compared at a glance; a column that it does not fit has its own.
function columnScales(cells: PageCell[], metrics: Metric[]): Scale[] {
  const isTime = ({key}: Metric) => key.startsWith('latency_ns_');
  const medians = metrics.map(({key}) => cells.flatMap((cell) => cell.measurements.filter((m) => m.metric === key).map((m) => m.median)));
  const shared = scaleOfMost('ns', medians.filter((_, index) => metrics[index] !== undefined && isTime(metrics[index])).flat());
  return metrics.map((metric, index) => {
    const own = medians[index] ?? [];
    if (isTime(metric) && own.every((value) => isWithinReach(value * shared.factor))) return shared;
    return scaleOfAll(metric.unit, own);
  });
}

function okTrials(cell: PageCell) {
  return cell.trials.filter((trial) => trial.status === 'ok');
}

function sum(cell: PageCell, of: (trial: PageCell['trials'][number]) => number): number {
  return okTrials(cell).reduce((total, trial) => total + of(trial), 0);
}

/** What the small grey text under each value is. `of`: what a trial is a fresh one of. */
export function spreadNote({spread, trials: [least, most]}: Pick<Table, 'spread' | 'trials'>, of = 'process'): string {
  if (most <= 1) return 'One trial: no spread is known.';
  const trials = least === most ? `${most} trials` : `${least} to ${most} trials`;
  const large = `Large: median of ${trials}, each a fresh ${of}.`;
  if (spread === 'range') return `${large} Small: their range, smallest to largest; too few for an interval.`;
  return `${large} Small: interval of the median, at least 95 %${least < 6 ? '; below six trials their range' : ''}.`;
}

/** `Allocator of all: libc.`, or whose is whose. */
export function allocatorNote(targets: TargetRecord[]): string {
  const byAllocator = new Map<string, string[]>();
  for (const target of targets.filter(({allocator}) => allocator)) {
    byAllocator.set(target.allocator, [...(byAllocator.get(target.allocator) ?? []), shortTitle(target, target.key)]);
  }
  const [only, ...others] = [...byAllocator.keys()];
  if (only === undefined) return '';
  if (others.length === 0) return `Allocator of all: ${only}.`;
  return `Allocators: ${[...byAllocator].map(([allocator, names]) => `${allocator} (${names.join(', ')})`).join('; ')}.`;
}

/** Criterion's estimate in ns, cut at its interval. */
export function componentFigure(median: number, low: number, high: number): Figure {
  return figure({median, low, high}, {unit: 'ns', factor: 1});
}

/** GB handled per second at a time per operation: bytes per ns. */
export function bandwidth(bytesPerOp: number, nsPerOp: number): string {
  return fixed(bytesPerOp / nsPerOp, 2);
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
