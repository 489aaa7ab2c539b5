// Pivots of embedded engines: caches beside each other, reads before and after compaction, puts by the size of values.
import type {Run} from '../generated/records';
import {isDurable} from './durable';
import {lookOf, rowLabel} from './figures';
import {bytes, figure, ratio as ratioText, type Figure, type Spreadable} from './format';
import {pairedRatio} from './paired';
import {axesWithout} from './parts';
import {measurement, type PageCell, type PageScenario} from './record';
import type {Row, Table} from './tables';
import {scaleOfAll} from './units';

export interface Pivot {
  id: string;
  title: string;
  /** Head of the first column. */
  first: string;
  note: string;
  table: Table;
}

interface Entry {
  label: string;
  look: Row['look'];
  values: (Spreadable | undefined)[];
}

interface Head {
  head: string;
  /** Stored unit; `×` for a ratio. */
  unit: string;
}

/** Every pivot that the cells of a record fill. */
export function pivots(record: PageScenario, run: Run): Pivot[] {
  if (!isDurable(record)) return [];
  const ok = record.cells.filter(({status}) => status === 'ok');
  return [...cachePivot(ok, run), ...familiesPivot(ok, run), ...compactionPivot(ok, run), ...sizePivots(ok, run)];
}

const SPEED_UP = 'Speed-up: ratio of the throughput to that with the smallest cache, trial by trial of the same rounds.';

/** Reads with a larger and larger cache, engine by engine. */
function cachePivot(cells: PageCell[], run: Run): Pivot[] {
  const series = seriesAlong(cells.filter(({axes}) => axes.operation === 'read_random'), 'cache_bytes', 3);
  const heads: Head[] = [
    {head: 'Throughput', unit: '1/s'},
    {head: 'Mean', unit: 'ns'},
    {head: 'p50', unit: 'ns'},
    {head: 'p99', unit: 'ns'},
    {head: 'Block cache hits', unit: 'share'},
    {head: 'Speed-up', unit: '×'},
  ];
  const groups = series.map((own) => {
    const [base] = own;
    return {
      label: base ? rowLabel(base, run) : '',
      entries: own.map(
        (cell): Entry => ({
          label: cell.axes.cache_bytes === 0 ? 'no cache' : `${bytes(cell.axes.cache_bytes ?? 0)} cache`,
          look: lookOf(cell, run),
          values: [
            ...['ops_per_second', 'latency_ns_mean', 'latency_ns_p50', 'latency_ns_p99', 'cache_hit_ratio'].map((metric) => measurement(cell, metric)),
            base && base !== cell ? pairedRatio(cell, base, 'ops_per_second') : undefined,
          ],
        }),
      ),
    };
  });
  if (groups.length === 0) return [];
  return [{id: 'block-cache', title: 'What a larger cache brings', first: 'Cache', note: SPEED_UP, table: tableOf(heads, groups)}];
}

const FIVE = 'five key families';

/** The same reads with keys of one family and of five, engine by engine. */
function familiesPivot(cells: PageCell[], run: Run): Pivot[] {
  const pairs = cells
    .filter(({axes}) => axes.key_schema === 'five_families' && axes.operation !== 'stock' && axes.operation !== 'compact')
    .flatMap((five) => {
      const one = cells.find(
        (cell) =>
          cell.target === five.target && cell.placement === five.placement && cell.axes.key_schema === undefined && axesWithout(cell.axes, 'key_schema') === axesWithout(five.axes, 'key_schema'),
      );
      return one ? [{one, five}] : [];
    });
  if (pairs.length === 0) return [];
  const heads: Head[] = [
    {head: 'CPU per read, one family', unit: 'ns'},
    {head: 'CPU per read, five families', unit: 'ns'},
    {head: 'Five to one', unit: '×'},
    {head: 'p99, one family', unit: 'ns'},
    {head: 'p99, five families', unit: 'ns'},
  ];
  const groups = [...new Set(pairs.map(({one}) => one.label))].map((label) => ({
    label,
    entries: pairs
      .filter(({one}) => one.label === label)
      .map(
        ({one, five}): Entry => ({
          label: rowLabel(five, run),
          look: lookOf(five, run),
          values: [
            measurement(one, 'server_cpu_ns_per_op'),
            measurement(five, 'server_cpu_ns_per_op'),
            pairedRatio(five, one, 'server_cpu_ns_per_op'),
            measurement(one, 'latency_ns_p99'),
            measurement(five, 'latency_ns_p99'),
          ],
        }),
      ),
  }));
  const note = 'Keys of five families are about 8 bytes longer. The ratio is of the CPU time, trial by trial of the same rounds.';
  return [{id: 'key-families', title: 'Five families of keys against one', first: 'Engine', note, table: tableOf(heads, groups)}];
}

/** Reads before everything is merged, and after. */
function compactionPivot(cells: PageCell[], run: Run): Pivot[] {
  const of = (operation: string, {target, axes}: PageCell) =>
    cells.find((cell) => cell.target === target && cell.axes.operation === operation && axesWithout(cell.axes, 'operation') === axesWithout(axes, 'operation'));
  const entries = cells
    .filter(({axes}) => axes.operation === 'read_before')
    .flatMap((before): Entry[] => {
      const [after, compact] = [of('read_after', before), of('compact', before)];
      if (!after) return [];
      const times = [before, after].flatMap((cell) => ['ops_per_second', 'latency_ns_p50'].map((metric) => measurement(cell, metric)));
      return [
        {
          label: `${rowLabel(before, run)}${before.axes.key_schema === undefined ? '' : `, ${FIVE}`}`,
          look: lookOf(before, run),
          values: [...times, pairedRatio(after, before, 'ops_per_second'), compact && measurement(compact, 'compact_ms')],
        },
      ];
    });
  if (entries.length === 0) return [];
  const heads: Head[] = [
    {head: 'Before', unit: '1/s'},
    {head: 'p50 before', unit: 'ns'},
    {head: 'After', unit: '1/s'},
    {head: 'p50 after', unit: 'ns'},
    {head: 'After to before', unit: '×'},
    {head: 'Compaction', unit: 'ms'},
  ];
  const note = 'Throughput of random reads before and after the compaction, and their ratio trial by trial.';
  return [{id: 'before-after', title: 'Reads before and after compaction', first: 'Engine', note, table: tableOf(heads, [{label: '', entries}])}];
}

const PER_PUT: {metric: string; title: string; unit: string}[] = [
  {metric: 'latency_ns_p50', title: 'Time per put (p50)', unit: 'ns'},
  {metric: 'allocations_per_op', title: 'Allocations per put', unit: 'count'},
  {metric: 'allocated_bytes_per_op', title: 'Bytes allocated per put', unit: 'bytes'},
  {metric: 'write_amplification_ratio', title: 'Written per byte', unit: 'ratio'},
];

/** One figure of puts, a row per size of values and a column per engine. */
function sizePivots(cells: PageCell[], run: Run): Pivot[] {
  const series = seriesAlong(cells.filter(({axes}) => axes.operation === 'load' && axes.batch === 1), 'value_bytes', 3);
  const sizes = [...new Set(series.flatMap((own) => own.map(({axes}) => axes.value_bytes ?? 0)))].sort((a, b) => a - b);
  if (sizes.length === 0) return [];
  return PER_PUT.flatMap(({metric, title, unit}): Pivot[] => {
    const filled = series.filter((own) => own.some((cell) => measurement(cell, metric)));
    if (filled.length === 0) return [];
    const heads = filled.map((own): Head => ({head: own[0] ? rowLabel(own[0], run) : '', unit}));
    const entries = sizes.map((size): Entry => {
      const values = filled.map((own) => own.find(({axes}) => axes.value_bytes === size)).map((cell) => cell && measurement(cell, metric));
      return {label: bytes(size), look: 'rival', values};
    });
    return [{id: `size-${metric.replaceAll('_', '-')}`, title: `${title} by size of values`, first: 'Value', note: '', table: tableOf(heads, [{label: '', entries}], true)}];
  });
}

/** Cells that differ along one axis alone, engine by engine, sorted along it; series that are too short are left out. */
function seriesAlong(cells: PageCell[], axis: 'cache_bytes' | 'value_bytes', least: number): PageCell[][] {
  const series = new Map<string, PageCell[]>();
  for (const cell of cells.filter(({axes}) => axes[axis] !== undefined)) {
    const id = `${cell.target}/${cell.mode}/${cell.placement}/${axesWithout(cell.axes, axis, 'keys')}/${axis === 'cache_bytes' ? cell.axes.keys : ''}`;
    series.set(id, [...(series.get(id) ?? []), cell]);
  }
  return [...series.values()].filter((own) => own.length >= least).map((own) => own.sort((a, b) => (a.axes[axis] ?? 0) - (b.axes[axis] ?? 0)));
}

/** Texts of the entries, each column in the unit it reads best in (or all columns in one); columns that none fills are left out. */
function tableOf(heads: Head[], groups: {label: string; entries: Entry[]}[], isOneUnit = false): Table {
  const all = groups.flatMap(({entries}) => entries);
  const filled = heads.map((_, index) => all.some(({values}) => values[index] !== undefined));
  const medians = heads.map((_, index) => all.flatMap(({values}) => values[index]?.median ?? []));
  const scales = heads.map(({unit}, index) => (unit === '×' ? {unit: '×', factor: 1} : scaleOfAll(unit, isOneUnit ? medians.flat() : (medians[index] ?? []))));
  const text = (value: Spreadable | undefined, index: number): Figure | undefined => {
    if (!value) return undefined;
    if (heads[index]?.unit !== '×') return figure(value, scales[index] ?? {unit: '', factor: 1});
    const {value: median, low, high} = ratioText(value);
    return {value: bare(median), low: bare(low), high: bare(high)};
  };
  const isFilled = (_: unknown, index: number) => filled[index];
  return {
    columns: heads.map(({head}, index) => ({head, unit: scales[index]?.unit ?? ''})).filter(isFilled),
    groups: groups.map(({label, entries}) => ({
      label,
      rows: entries.map(({label: name, look, values}): Row => ({label: name, look, figures: values.map(text).filter(isFilled), atCeiling: false})),
    })),
    spread: 'range',
    trials: [0, 0],
  };
}

const bare = (text: string) => text.replace('×', '');
