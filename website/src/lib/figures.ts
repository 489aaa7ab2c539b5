// Series of the charts: stored cells in, chart properties out. Pure.
import type {Bar} from '../charts/BarChart';
import type {LinePoint, LineSeries} from '../charts/LineChart';
import type {PercentileSeries} from '../charts/PercentileChart';
import {type Look, rivalLook} from '../charts/looks';
import type {Axes, Mode, Run} from '../generated/records';
import {figure, ratio, scaleFor, withUnit, type Scale} from './format';
import type {ShortLabels} from './labels';
import {LAST_PERCENTILE, PERCENTILES} from './metrics';
import {byClass} from './parts';
import {scaleOfAll} from './units';
import {
  keepsNothing,
  MODE_LABELS,
  MODES,
  measurement,
  type PageCell,
  type PageScenario,
  points,
  ratioOf,
  ROLES,
  roleOf,
  shortTitle,
  targetOf,
  trialValues,
} from './record';

export function lookOf(cell: PageCell, run: Run): Look {
  const role = roleOf(run, cell.target);
  if (role === 'subject') return cell.axes.variant === undefined ? OUR_LOOKS[cell.mode] : 'ours-variant';
  return role === 'rival' ? rivalLook(cell.target) : role;
}

const OUR_LOOKS: Record<Mode, Look> = {
  native: 'ours',
  native_limited: 'ours-limited',
  container_host: 'ours-host',
  container_published: 'ours-published',
  container_no_io_uring: 'ours-strict',
  external: 'ours',
};

const SHORT_MODES: Record<Mode, string> = {
  native: '',
  native_limited: 'limited',
  container_host: 'host net',
  container_published: 'published',
  container_no_io_uring: 'no io_uring',
  external: '',
};

/** Label beside a line: at most about fourteen letters. */
export function lineLabel(cell: PageCell, run: Run): string {
  if (roleOf(run, cell.target) === 'ceiling') return 'ceiling';
  const title = shortTitle(targetOf(run, cell.target), cell.target);
  // The version of a floor is that of the runner.
  const name = roleOf(run, cell.target) === 'floor' ? title.replace(/ \d[\d.]*$/, '') : title;
  const where = [SHORT_MODES[cell.mode], cell.axes.variant ?? ''].filter(Boolean).join(' ');
  if (!where) return name;
  return roleOf(run, cell.target) === 'subject' ? `… ${where}` : `${name} ${where}`;
}

/** Label above a bar and of a row; natively is the usual way and goes without saying. */
export function rowLabel(cell: PageCell, run: Run): string {
  const role = roleOf(run, cell.target);
  if (role === 'ceiling') return 'ceiling of the generator';
  if (role === 'floor') return `floor: ${shortTitle(targetOf(run, cell.target), cell.target).replace(/^floor,? /, '').replace(/ \d[\d.]*$/, '')}`;
  const where = [cell.mode === 'native' ? '' : MODE_LABELS[cell.mode], cell.axes.variant ?? ''];
  return [shortTitle(targetOf(run, cell.target), cell.target), ...where].filter(Boolean).join(', ');
}

/** Axes along which a line can be drawn. */
export type NumericAxis = 'clients' | 'pipeline';

export const AXIS_UNITS: Record<NumericAxis, string> = {
  clients: 'clients (connections)',
  pipeline: 'requests in flight per connection',
};

export interface LineFigure {
  axis: NumericAxis;
  operation: string;
  /** What the lines have in common apart from the axis: `64 B`. */
  common: string;
  xs: number[];
  series: LineSeries[];
  scale: Scale;
}

/** Throughput along the one axis that varies; empty where none does. */
export function lineFigures(record: PageScenario, run: Run): LineFigure[] {
  return (['clients', 'pipeline'] as const).flatMap((axis) => lineFiguresAlong(record, run, axis));
}

function lineFiguresAlong(record: PageScenario, run: Run, axis: NumericAxis): LineFigure[] {
  const scale = throughputScale(record);
  const groups = new Map<string, PageCell[]>();
  for (const cell of record.cells) {
    if (cell.status !== 'ok' || cell.placement === 'together' || cell.axes[axis] === undefined || cell.axes.operation === 'peak') continue;
    const {[axis]: _varies, ...rest} = cell.axes;
    const key = JSON.stringify(Object.entries(rest).sort());
    groups.set(key, [...(groups.get(key) ?? []), cell]);
  }
  return [...groups.values()].flatMap((cells) => {
    const xs = [...new Set(cells.map((cell) => cell.axes[axis] ?? 0))].sort((a, b) => a - b);
    const first = cells[0];
    if (xs.length < 2 || !first) return [];
    const series = new Map<string, LineSeries>();
    for (const cell of sortCells(cells, run)) {
      const label = lineLabel(cell, run);
      const ops = measurement(cell, 'ops_per_second');
      if (!ops) continue;
      const entry = series.get(label) ?? {label, look: lookOf(cell, run), points: []};
      const point: LinePoint = {
        x: cell.axes[axis] ?? 0,
        median: ops.median * scale.factor,
        trials: trialValues(cell, 'ops_per_second').map((value) => value * scale.factor),
      };
      entry.points.push(point);
      entry.points.sort((a, b) => a.x - b.x);
      series.set(label, entry);
    }
    return [{axis, operation: first.axes.operation, common: common(first.axes, axis), xs, series: [...series.values()], scale}];
  });
}

function common(axes: Axes, varies: NumericAxis): string {
  const parts = [
    axes.value_bytes === undefined ? '' : withUnit(String(axes.value_bytes), 'B'),
    varies !== 'clients' && axes.clients !== undefined ? `${axes.clients} clients` : '',
    varies !== 'pipeline' && axes.pipeline !== undefined && axes.pipeline > 1 ? `depth ${axes.pipeline}` : '',
    axes.set_percent === undefined ? '' : `${axes.set_percent} % SET`,
    axes.requests === undefined ? '' : `${axes.requests} requests`,
  ];
  return parts.filter(Boolean).join(', ');
}

/** Greatest value of a set of line figures: the end of their shared axis. */
export function lineMax(figures: LineFigure[]): number {
  return Math.max(...figures.flatMap(({series}) => series.flatMap((s) => s.points.flatMap((p) => [p.median, ...p.trials]))));
}

export interface PercentileFigure {
  label: string;
  operation: string;
  series: PercentileSeries[];
}

/** Response-time curves, one figure per point and operation of a mix. */
export function percentileFigures(record: PageScenario, run: Run): PercentileFigure[] {
  return points(record, run).flatMap((point) => {
    const operations = [...new Set(point.cells.flatMap((cell) => cell.distributions.map((d) => d.operation)))];
    return operations.flatMap((operation) => {
      const mixed = operations.length > 1;
      const series = point.cells.flatMap((cell) => percentileSeries(cell, run, operation, mixed));
      return series.length > 0 ? [{label: mixed ? `${point.label}: ${operation.toUpperCase()}` : point.label, operation, series}] : [];
    });
  });
}

function percentileSeries(cell: PageCell, run: Run, operation: string, mixed: boolean): PercentileSeries[] {
  const found = cell.distributions.find((d) => d.operation === operation);
  if (cell.status !== 'ok' || !found || keepsNothing(run, cell.target)) return [];
  const trials = PERCENTILES.flatMap(({percentile, metric}) =>
    trialValues(cell, metric, mixed ? operation : undefined).map((ns) => ({percentile, us: ns / 1000})),
  );
  return [
    {
      label: lineLabel(cell, run),
      look: lookOf(cell, run),
      points: found.points.map(({percentile, latency_ns}) => ({percentile, us: latency_ns / 1000})),
      trials,
    },
  ];
}

/** Decades that charts of one section may share; beyond, each has an axis of its own. */
const SHARED_DECADES = 2.5;

/** Ends of the axis of latencies, µs: fitted to what is drawn, of one figure or of all that share it. */
export function percentileRange(figures: PercentileFigure[]): {minUs: number; maxUs: number} {
  const values = figures.flatMap(({series}) =>
    series.flatMap(({points: drawn, trials}) => [
      ...drawn.filter((p) => p.percentile >= 50 && p.percentile <= LAST_PERCENTILE).map((p) => p.us),
      ...trials.map((t) => t.us),
    ]),
  ).filter((us) => us > 0);
  return {minUs: Math.min(...values) / 1.15, maxUs: Math.max(...values) * 1.15};
}

/** Whether all figures fit one axis without lying flat on it. */
export function sharesAxis(figures: PercentileFigure[]): boolean {
  const {minUs, maxUs} = percentileRange(figures);
  return Math.log10(maxUs / minUs) <= SHARED_DECADES;
}

/** The value at a percentile of a drawn curve, for its table. */
export function atPercentile(series: PercentileSeries, percentile: number): number | undefined {
  const upTo = series.points.filter((p) => p.percentile <= percentile + 1e-9);
  const exact = upTo.at(-1);
  const next = series.points.find((p) => p.percentile >= percentile - 1e-9);
  return (next ?? exact)?.us;
}

export interface BarFigure {
  label: string;
  bars: Bar[];
}

/** Figures on one axis. */
export interface BarPanel {
  scale: Scale;
  max: number;
  figures: BarFigure[];
}

/** How many times longer than another figure's longest bar one may be on the same axis. */
const SAME_AXIS = 4;

/** Bars of one metric at each point, in panels of which no figure is a stub beside another. A single bar compares nothing. */
export function barPanels(record: PageScenario, run: Run, metric: string, unit: string, labels: ShortLabels): BarPanel[] {
  const found = byClass(record, run, (own, named) =>
    points(own, run).flatMap((point) => {
      const cells = point.cells.filter((cell) => cell.status === 'ok' && measurement(cell, metric));
      const medians = cells.map((cell) => measurement(cell, metric)?.median ?? 0);
      return cells.length > 1 && Math.max(...medians) > 0 ? [{label: named(labels.short(point.label)), cells, largest: Math.max(...medians)}] : [];
    }),
  );
  const ends: number[] = [];
  for (const {largest} of [...found].sort((a, b) => b.largest - a.largest)) {
    const last = ends.at(-1);
    if (last === undefined || largest < last / SAME_AXIS) ends.push(largest);
  }
  const panels = ends.map((end, index) => {
    const below = ends[index + 1] ?? 0;
    const own = found.filter(({largest}) => largest <= end && largest > below);
    const scale = scaleOfAll(unit, own.flatMap(({cells}) => cells.map((cell) => measurement(cell, metric)?.median ?? 0)));
    const figures = own.map(({label, cells}) => ({label, bars: cells.flatMap((cell) => bar(record, run, cell, metric, scale))}));
    return {scale, max: barMax(figures), figures};
  });
  // What most points are like comes first, outliers after it.
  return panels.sort((a, b) => b.figures.length - a.figures.length);
}

function bar(record: PageScenario, run: Run, cell: PageCell, metric: string, scale: Scale): Bar[] {
  const measured = measurement(cell, metric);
  if (cell.status !== 'ok' || !measured) return [];
  const overhead = ratioOf(record, 'overhead', metric, cell.key);
  const constant = constantRatio(record, run, metric, cell.key);
  return [
    {
      label: rowLabel(cell, run),
      look: lookOf(cell, run),
      median: measured.median * scale.factor,
      trials: trialValues(cell, metric).map((value) => value * scale.factor),
      text: figure(measured, scale).value,
      ...(overhead ? {note: `${ratio(overhead).value} native`} : constant ? {note: constant} : {}),
    },
  ];
}

/** Against the floor of the machine where it was measured, else against the ceiling of the generator: `1.34× floor`. */
function constantRatio(record: PageScenario, run: Run, metric: string, numerator: string): string | undefined {
  const found = record.ratios.filter((r) => r.kind === 'floor' && r.metric === metric && r.numerator === numerator && r.operation === undefined);
  const named = found.flatMap((r) => {
    const target = record.cells.find(({key}) => key === r.denominator)?.target;
    return target === undefined ? [] : [{value: ratio(r).value, role: roleOf(run, target)}];
  });
  const best = named.find(({role}) => role === 'floor') ?? named[0];
  return best && `${best.value} ${best.role}`;
}

export function barMax(figures: BarFigure[]): number {
  return Math.max(...figures.flatMap(({bars}) => bars.flatMap((b) => [b.median, ...b.trials])));
}

/** The scale of a metric over all ok cells of a record. */
export function scaleOf(record: PageScenario, metric: string, unit: string): Scale {
  const largest = Math.max(0, ...record.cells.map((cell) => (cell.status === 'ok' ? (measurement(cell, metric)?.median ?? 0) : 0)));
  return scaleFor(unit, largest);
}

export function throughputScale(record: PageScenario): Scale {
  return scaleOf(record, 'ops_per_second', '1/s');
}

/** Ours natively, ours in other ways, rivals, and last what answers a constant. */
function sortCells(cells: PageCell[], run: Run): PageCell[] {
  const rank = (cell: PageCell) => ROLES.indexOf(roleOf(run, cell.target)) * 100 + MODES.indexOf(cell.mode) * 10 + (cell.axes.variant === undefined ? 0 : 1);
  return [...cells].sort((a, b) => rank(a) - rank(b));
}

/** Servers that answered more than the one that answers a constant, at the same point. */
export function beyondCeiling(record: PageScenario, run: Run): string[] {
  const names = points(record, run).flatMap(({cells}) => {
    const ops = (cell: PageCell) => (cell.status === 'ok' ? (measurement(cell, 'ops_per_second')?.median ?? 0) : 0);
    const ceiling = Math.max(0, ...cells.filter((cell) => roleOf(run, cell.target) === 'ceiling').map(ops));
    const keeps = (cell: PageCell) => !keepsNothing(run, cell.target);
    return ceiling > 0 ? cells.filter((cell) => keeps(cell) && ops(cell) > ceiling).map((cell) => shortTitle(targetOf(run, cell.target), cell.target)) : [];
  });
  return [...new Set(names)];
}
