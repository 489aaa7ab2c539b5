// What stands in the tables of a scenario's page? Pure: a record in, texts out, rows grouped by point of the axes.
import type {Measurement, Run, Spread} from '../generated/records';
import {count, duration, figure, fixed, scaleFor, type Figure, type Scale} from './format';
import {wordColumns, type Words} from './durable';
import {lookOf, rowLabel} from './figures';
import {checkMetrics, headlineMetrics, slimMetrics, type Metric} from './metrics';
import {generatorAtCeiling, keepsNothing, measurement, type PageCell, type PageScenario, points, targetOf} from './record';
import type {Look} from '../charts/frame';

export interface Column {
  head: string;
  unit: string;
  group?: string;
  /** Tells of the load generator as much as of the server, so that its ceiling is marked here. */
  ofGenerator?: true;
  /** Holds words, not numbers. */
  words?: true;
}

export interface Row {
  label: string;
  /** Below the label: allocator, and what the label leaves out of the version. */
  detail?: string;
  look: Look;
  /** One per column; absent where the cell has no such figure. */
  figures: (Figure | undefined)[];
  /** Words in the place of figures: `skipped: no container runtime`. */
  failure?: string;
  /** Set where the load generator was at its ceiling. */
  atCeiling: boolean;
}

export interface Table {
  columns: Column[];
  groups: {label: string; rows: Row[]}[];
  spread: Spread;
  trials: number;
}

/** The main table, its short form, or the table of checks. */
export type Which = keyof typeof METRICS_OF;

const METRICS_OF = {headline: headlineMetrics, slim: slimMetrics, checks: checkMetrics};

export function table(record: PageScenario, run: Run, which: Which, whole: PageScenario = record): Table {
  const metrics = METRICS_OF[which](record);
  const scales = metrics.map((metric) => columnScale(whole, metric));
  const extra = which === 'checks' ? COUNTS : [];
  const words = which === 'headline' ? wordColumns(whole) : [];
  const groups = points(record, run).map((point) => ({
    label: point.label,
    rows: point.cells.flatMap((cell) => rows(cell, run, metrics, scales, which, words)),
  }));
  const all = record.cells.flatMap((cell) => cell.measurements);
  return {
    columns: [
      ...extra.map(({head, unit}) => ({head, unit})),
      ...metrics.map(({key, head, group}, index) => ({
        head,
        unit: scales[index]?.unit ?? '',
        ...(group ? {group} : {}),
        ...(key === 'ops_per_second' || key === 'generator_busy' ? {ofGenerator: true as const} : {}),
      })),
      ...words.map(({head}) => ({head, unit: '', words: true as const})),
    ],
    groups: groups.filter((group) => group.rows.length > 0),
    spread: all.some((m) => m.spread === 'interval') ? 'interval' : 'range',
    trials: Math.max(0, ...all.map((m) => m.n)),
  };
}

/** What was counted over all ok trials of a cell. */
const COUNTS: {head: string; unit: string; of: (cell: PageCell) => string}[] = [
  {head: 'Trials', unit: '', of: (cell) => String(okTrials(cell).length)},
  {head: 'Measured', unit: '', of: (cell) => duration(sum(cell, (trial) => trial.elapsed_s))},
  {head: 'Replies checked', unit: '', of: (cell) => count(sum(cell, (trial) => trial.counts.operations))},
  {head: 'Hits', unit: '', of: (cell) => count(sum(cell, (trial) => trial.counts.hits))},
  {head: 'Misses', unit: '', of: (cell) => count(sum(cell, (trial) => trial.counts.misses))},
  {head: 'Errors', unit: '', of: (cell) => count(sum(cell, (trial) => trial.counts.errors))},
];

function rows(cell: PageCell, run: Run, metrics: Metric[], scales: Scale[], which: Which, words: Words[]): Row[] {
  const look = lookOf(cell, run);
  const label = rowLabel(cell, run);
  const detail = detailOf(cell, run);
  const atCeiling = cell.status === 'ok' && !keepsNothing(run, cell.target) && generatorAtCeiling(cell);
  if (cell.status !== 'ok') {
    return [{label, ...detail, look, figures: [], failure: cell.reason ? `${cell.status}: ${cell.reason}` : cell.status, atCeiling}];
  }
  const figuresOf = (operation?: string) =>
    metrics.map((metric, index) => {
      const measured = measurement(cell, metric.key, operation);
      return measured && figure(measured, scales[index] ?? scaleFor(metric.unit, measured.median));
    });
  if (which === 'checks') {
    const counted = COUNTS.map(({of}): Figure => ({value: of(cell), low: '', high: ''}));
    return [{label, ...detail, look, figures: [...counted, ...figuresOf()], atCeiling}];
  }
  const operations = [...new Set(cell.measurements.flatMap((m: Measurement) => (m.operation ? [m.operation] : [])))];
  const said = words.map(({of}): Figure | undefined => {
    const text = of(cell);
    return text === undefined ? undefined : {value: text, low: '', high: ''};
  });
  return [
    {label, ...detail, look, figures: [...figuresOf(), ...said], atCeiling},
    ...operations.map((operation) => ({label: `… its ${plural(operation)}`, look, figures: figuresOf(operation), atCeiling: false})),
  ];
}

/** `GETs`; of an embedded engine's longer names, `read_modify_write` → `READ MODIFY WRITEs`. */
function plural(operation: string): string {
  return `${operation.toUpperCase().replaceAll('_', ' ')}s`;
}

function detailOf(cell: PageCell, run: Run): Pick<Row, 'detail'> {
  const target = targetOf(run, cell.target);
  if (!target || keepsNothing(run, cell.target)) return {};
  const version = target.title.includes(target.version) ? '' : target.version;
  const detail = [version, target.allocator, cell.axes.variant].filter(Boolean).join(', ');
  return detail ? {detail} : {};
}

// One scale per column, over every class of servers, so that tables of one page can be compared.
function columnScale(record: PageScenario, metric: Metric): Scale {
  if (metric.unit === 'share') return {unit: '%', factor: 100};
  const medians = record.cells.flatMap((cell) => cell.measurements.filter((m) => m.metric === metric.key).map((m) => m.median));
  const unit = record.cells.flatMap((cell) => cell.measurements).find((m) => m.metric === metric.key)?.unit ?? metric.unit;
  // Response times share one unit, so that columns can be compared at a glance.
  if (unit === 'ns') return {unit: 'µs', factor: 1e-3};
  return scaleFor(unit, Math.max(0, ...medians));
}

function okTrials(cell: PageCell) {
  return cell.trials.filter((trial) => trial.status === 'ok');
}

function sum(cell: PageCell, of: (trial: PageCell['trials'][number]) => number): number {
  return okTrials(cell).reduce((total, trial) => total + of(trial), 0);
}

/** What the small grey text under each value is. */
export function spreadNote({spread, trials}: Pick<Table, 'spread' | 'trials'>): string {
  if (spread === 'interval') {
    return `Large: median of ${trials} trials, each a fresh server process. Small: interval of the median, at least 95 %.`;
  }
  return trials === 1
    ? 'One trial: no spread is known.'
    : `Large: median of ${trials} trials, each a fresh server process. Small: their range, smallest to largest; too few for an interval.`;
}

/** Criterion's estimate in ns, cut at its interval. */
export function componentFigure(median: number, low: number, high: number): Figure {
  return figure({median, low, high}, {unit: 'ns', factor: 1});
}

/** GB handled per second at a time per operation: bytes per ns. */
export function bandwidth(bytesPerOp: number, nsPerOp: number): string {
  return fixed(bytesPerOp / nsPerOp, 2);
}
