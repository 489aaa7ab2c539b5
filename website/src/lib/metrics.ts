// Metrics of a scenario's tables: which ones, in which order, under which words, in the main table or in one below it.
import {isDurable} from './durable';
import type {PageCell, PageScenario} from './record';

export interface Metric {
  key: string;
  /** Head of the column, without the unit. */
  head: string;
  /** Stored unit, as in the record. */
  unit: string;
  /** Head over several columns that belong together. */
  group?: string;
  /** Nothing worth a column of the main table where every cell has less than one of it. */
  isDullAtZero?: true;
}

/** Most columns of figures in a table that is shown unfolded. */
export const MOST_COLUMNS = 10;

const RESPONSE = 'Response time, closed loop';
const INTENDED = 'Response time from the intended start';
const PER_OPERATION = 'Time per operation';

const TIMES: Metric[] = [
  {key: 'latency_ns_mean', head: 'mean', unit: 'ns'},
  {key: 'latency_ns_p50', head: 'p50', unit: 'ns'},
  {key: 'latency_ns_p90', head: 'p90', unit: 'ns'},
  {key: 'latency_ns_p95', head: 'p95', unit: 'ns'},
  {key: 'latency_ns_p99', head: 'p99', unit: 'ns'},
  {key: 'latency_ns_p999', head: 'p99.9', unit: 'ns'},
  {key: 'latency_ns_p9999', head: 'p99.99', unit: 'ns'},
  {key: 'latency_ns_max', head: 'max', unit: 'ns'},
];
const MAIN_TIMES = ['latency_ns_p50', 'latency_ns_p99', 'latency_ns_p999'];
const times = (group: string, keys = MAIN_TIMES): Metric[] => TIMES.filter(({key}) => keys.includes(key)).map((metric) => ({...metric, group}));

const THROUGHPUT: Metric = {key: 'ops_per_second', head: 'Throughput', unit: '1/s'};
const SERVER_CPU: Metric = {key: 'server_cpu_ns_per_op', head: 'Server CPU per op', unit: 'ns'};
const CPU: Metric = {...SERVER_CPU, head: 'CPU per op'};
const PEAK_RSS: Metric = {key: 'rss_bytes_peak', head: 'Peak RSS', unit: 'bytes'};
const RSS_GROWTH: Metric = {key: 'rss_bytes_growth', head: 'RSS growth', unit: 'bytes'};
const PER_KEY: Metric[] = [
  {key: 'rss_bytes_per_key', head: 'RSS per key', unit: 'bytes'},
  {key: 'rss_bytes_per_key_max', head: 'RSS per key at most', unit: 'bytes'},
  {key: 'accounted_bytes_per_key', head: 'Accounted per key', unit: 'bytes'},
];
const HITS: Metric[] = [
  {key: 'hit_ratio', head: 'Hits', unit: 'share'},
  {key: 'hit_ratio_exact_lru', head: 'Hits of exact LRU', unit: 'share'},
];
const STILL_HELD = 'Held after the last lifetime';
const HELD: Metric[] = [
  {key: 'keys_held', head: 'keys', unit: 'count', group: STILL_HELD},
  {key: 'accounted_bytes_held', head: 'accounted', unit: 'bytes', group: STILL_HELD},
  {key: 'rss_bytes_held', head: 'RSS', unit: 'bytes', group: STILL_HELD},
];
const DISK: Metric = {key: 'disk_bytes', head: 'On disk', unit: 'bytes'};

/** What a reader compares, by kind of scenario. */
const HEADLINES: Record<string, Metric[]> = {
  wire: [...PER_KEY, THROUGHPUT, ...times(RESPONSE), SERVER_CPU, ...HITS],
  embedded: [THROUGHPUT, ...times(PER_OPERATION), CPU, PEAK_RSS, DISK],
  memory_cap: [
    {key: 'accounted_bytes', head: 'Accounted', unit: 'bytes'},
    RSS_GROWTH,
    {key: 'rss_bytes_per_connection', head: 'RSS per connection', unit: 'bytes'},
    {key: 'payload_share', head: 'Keys and values', unit: 'share'},
    {key: 'evictions', head: 'Evictions', unit: 'count'},
    {key: 'refusals', head: 'Load refused', unit: 'count'},
    {key: 'survivors', head: 'Keys left', unit: 'count'},
    {key: 'early_gone', head: 'Early keys gone', unit: 'count'},
    {key: 'first_1000_gone_share', head: 'First 1,000 gone', unit: 'share'},
    {key: 'last_five_present', head: 'Last five there', unit: 'count'},
    ...HITS,
    THROUGHPUT,
    SERVER_CPU,
  ],
  memory_per_key: [...PER_KEY, RSS_GROWTH, PEAK_RSS, THROUGHPUT, SERVER_CPU],
  expiry: [THROUGHPUT, ...times(RESPONSE), SERVER_CPU, ...HELD],
  tail: [
    ...times(INTENDED, [...MAIN_TIMES, 'latency_ns_max']),
    {key: 'grown_keys_per_second', head: 'Keys set', unit: '1/s'},
    {key: 'command_ns_max', head: 'Longest command', unit: 'ns'},
    PEAK_RSS,
  ],
  startup: [
    {key: 'startup_ms', head: 'Start to first answer', unit: 'ms'},
    {key: 'binary_bytes', head: 'Program file', unit: 'bytes'},
    {key: 'image_bytes', head: 'Image', unit: 'bytes'},
    PEAK_RSS,
  ],
};

/** Of a store on a disk, beside what older records of embedded engines have. */
const DURABLE: Metric[] = [
  {key: 'open_ms', head: 'Opening', unit: 'ms'},
  {key: 'flush_ms', head: 'Flush', unit: 'ms'},
  {key: 'compact_ms', head: 'Compaction', unit: 'ms'},
  {key: 'delete_range_ms', head: 'Deletion of the range', unit: 'ms'},
  {key: 'write_wait_ms', head: 'Longest wait of a writer', unit: 'ms'},
  {key: 'space_amplification_ratio', head: 'On disk over data', unit: 'ratio'},
  {key: 'space_amplification_peak_ratio', head: 'Largest over data', unit: 'ratio'},
  THROUGHPUT,
  {key: 'slowest_window_ratio', head: 'Slowest window', unit: 'ratio'},
  {key: 'debt_bytes', head: 'Compaction debt', unit: 'bytes'},
  {key: 'empty_scan_ms', head: 'Scan when empty', unit: 'ms'},
  {key: 'settled_ops_per_second', head: 'Until settled', unit: '1/s'},
  {key: 'settle_ms', head: 'Settling', unit: 'ms'},
  {key: 'records_per_second', head: 'Records', unit: '1/s'},
  ...times(PER_OPERATION),
  {key: 'device_read_bytes_per_op', head: 'Device reads per op', unit: 'bytes', isDullAtZero: true},
  {key: 'cache_hit_ratio', head: 'Block cache hits', unit: 'share'},
  {key: 'write_amplification_ratio', head: 'Written per byte', unit: 'ratio'},
  {key: 'allocations_per_op', head: 'Allocations per op', unit: 'count'},
  {key: 'allocated_bytes_per_op', head: 'Allocated per op', unit: 'bytes'},
  CPU,
  PEAK_RSS,
  DISK,
];

const DURABLE_RESOURCES: Metric[] = [
  {key: 'rss_anonymous_bytes', head: 'RSS without files', unit: 'bytes'},
  RSS_GROWTH,
  {key: 'read_bytes_per_op', head: 'Read per op', unit: 'bytes'},
  {key: 'bytes_per_second', head: 'Values moved', unit: 'bytes/s'},
  {key: 'stalls', head: 'Stalls', unit: 'count'},
  {key: 'stalled_ms', head: 'Stalled', unit: 'ms'},
  {key: 'disk_bytes_peak', head: 'Largest on disk', unit: 'bytes'},
  {key: 'disk_bytes_before_settling', head: 'On disk before settling', unit: 'bytes'},
];

const RESOURCES: Metric[] = [PEAK_RSS, RSS_GROWTH, {key: 'rss_bytes_start', head: 'RSS at start-up', unit: 'bytes'}, {key: 'bytes_per_second', head: 'Values moved', unit: 'bytes/s'}];

/** Of them, what a version's page shows of a durable store. */
const DURABLE_SLIM = [
  'open_ms',
  'flush_ms',
  'compact_ms',
  'delete_range_ms',
  'write_wait_ms',
  'space_amplification_ratio',
  'space_amplification_peak_ratio',
  'empty_scan_ms',
  'slowest_window_ratio',
  'debt_bytes',
  'ops_per_second',
  'settled_ops_per_second',
  'latency_ns_p50',
  'latency_ns_p99',
  'device_read_bytes_per_op',
  'rss_bytes_peak',
  'disk_bytes',
];

/** What a version's page shows of a scenario over the wire. */
const SLIM = [
  'rss_bytes_per_key',
  'accounted_bytes_per_key',
  'ops_per_second',
  'latency_ns_p50',
  'latency_ns_p99',
  'server_cpu_ns_per_op',
  'keys_held',
  'rss_bytes_held',
];

/** What tells whether a figure can be believed. */
const CHECKS: Metric[] = [
  {key: 'generator_busy', head: 'Generator busy', unit: 'share'},
  {key: 'foreign_cpu_cores', head: 'CPU used by others', unit: 'cores'},
  {key: 'connect_ms', head: 'Connect phase', unit: 'ms'},
];

/** Stored, and shown elsewhere: a cap is a given and is in its row's label, rates and drift have tables of their own. */
const NO_COLUMN = [
  'cap_bytes',
  'knee_per_second',
  'offered_per_second',
  'achieved_per_second',
  'skipped_share',
  'drift_ratio',
];

function headlinesOf(record: PageScenario): Metric[] {
  return isDurable(record) ? DURABLE : (HEADLINES[record.scenario.kind] ?? HEADLINES.wire ?? []);
}

/** The same columns in the words of engines in a process, where there is no loop and no server. */
export function inWordsOfEngines(metrics: Metric[]): Metric[] {
  return metrics.map((metric) => ({...metric, ...(metric.group === RESPONSE ? {group: PER_OPERATION} : {}), ...(metric.key === SERVER_CPU.key ? {head: CPU.head} : {})}));
}

/** Names of the percentiles over their columns. */
export function timesHead(record: PageScenario): string {
  if (record.scenario.kind === 'embedded') return PER_OPERATION;
  return record.scenario.kind === 'tail' ? INTENDED : RESPONSE;
}

/** Metrics of a main table: those that at least one of these cells has. */
export function headlineMetrics(record: PageScenario, cells: PageCell[] = record.cells): Metric[] {
  return presentOf(headlinesOf(record), cells)
    .filter(({key, isDullAtZero}) => !isDullAtZero || cells.some((cell) => cell.measurements.some(({metric, median}) => metric === key && median >= 1)))
    .slice(0, MOST_COLUMNS);
}

/** Every percentile that these cells have, for a table of its own. */
export function timeMetrics(record: PageScenario, cells: PageCell[] = record.cells): Metric[] {
  // A start's only reply has a response time, too, but says nothing of it.
  return record.scenario.kind === 'startup' ? [] : presentOf(TIMES, cells);
}

/** Memory, bytes and stalls that are not in the main table. */
export function resourceMetrics(record: PageScenario, cells: PageCell[] = record.cells): Metric[] {
  const shown = headlineMetrics(record, cells).map(({key}) => key);
  const beyond = presentOf(headlinesOf(record), cells).filter(({key}) => !shown.includes(key) && !key.startsWith('latency_ns_'));
  const others = isDurable(record) ? DURABLE_RESOURCES : RESOURCES;
  return [...beyond, ...presentOf(others, cells).filter(({key}) => !shown.includes(key) && !beyond.some((one) => one.key === key))];
}

/** The few metrics of a summary. */
export function slimMetrics(record: PageScenario, cells: PageCell[] = record.cells): Metric[] {
  const metrics = headlineMetrics(record, cells);
  if (isDurable(record)) return metrics.filter(({key}) => DURABLE_SLIM.includes(key));
  return record.scenario.kind === 'memory_cap' || record.scenario.kind === 'startup' ? metrics : metrics.filter(({key}) => SLIM.includes(key));
}

/** Every other metric of the record: the known ones first, then whatever else was stored. */
export function checkMetrics(record: PageScenario): Metric[] {
  const present = presentMetrics(record.cells);
  const elsewhere = [...headlinesOf(record), ...TIMES, ...(isDurable(record) ? DURABLE_RESOURCES : RESOURCES)];
  for (const {key} of elsewhere) present.delete(key);
  const known = CHECKS.filter(({key}) => present.delete(key));
  for (const key of NO_COLUMN) present.delete(key);
  const others = [...present].sort(([a], [b]) => a.localeCompare(b));
  return [...known, ...others.map(([key, unit]) => ({key, head: key.replaceAll('_', ' '), unit}))];
}

function presentOf(metrics: Metric[], cells: PageCell[]): Metric[] {
  const present = presentMetrics(cells);
  return metrics.filter(({key}) => present.has(key));
}

function presentMetrics(cells: PageCell[]): Map<string, string> {
  return new Map(cells.flatMap((cell) => cell.measurements.map((m): [string, string] => [m.metric, m.unit])));
}

/** The percentiles a trial stores, for the dots beside a merged curve. */
export const PERCENTILES: {percentile: number; metric: string}[] = [
  {percentile: 50, metric: 'latency_ns_p50'},
  {percentile: 90, metric: 'latency_ns_p90'},
  {percentile: 95, metric: 'latency_ns_p95'},
  {percentile: 99, metric: 'latency_ns_p99'},
  {percentile: 99.9, metric: 'latency_ns_p999'},
];

/** Beyond it a run of a second has too few samples to draw. */
export const LAST_PERCENTILE = 99.99;

/** Metrics in words, where they stand outside a table. */
export const METRIC_WORDS: Record<string, string> = {
  ops_per_second: 'throughput',
  knee_per_second: 'knee',
  latency_ns_p50: 'p50',
  latency_ns_p99: 'p99',
  server_cpu_ns_per_op: 'server CPU per operation',
  generator_cpu_ns_per_op: 'generator CPU per operation',
  rss_bytes_peak: 'peak RSS',
  rss_bytes_growth: 'RSS growth',
  rss_bytes_per_key: 'RSS per key',
  rss_bytes_per_connection: 'RSS per connection',
  hit_ratio: 'hits',
  rss_bytes_per_key_max: 'RSS per key at most',
  rss_bytes_start: 'RSS at start-up',
  payload_share: 'share of keys and values',
  latency_ns_p999: 'p99.9',
  command_ns_max: 'longest command',
  accounted_bytes_per_key: 'accounted bytes per key',
  startup_ms: 'start to first answer',
  settled_ops_per_second: 'throughput until settled',
  open_ms: 'time of an opening',
  flush_ms: 'time of a flush',
  disk_bytes: 'bytes on disk',
  disk_bytes_peak: 'largest bytes on disk',
  delete_range_ms: 'time of a range deletion',
  write_wait_ms: 'longest wait of a writer',
  empty_scan_ms: 'time of a scan that finds nothing',
  space_amplification_ratio: 'bytes on disk over data',
  slowest_window_ratio: 'slowest window over the median one',
  debt_bytes: 'compaction debt',
};
