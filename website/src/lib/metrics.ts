// Which metrics does a table show, in which order and under which words?
import {isDurable} from './durable';
import type {PageScenario} from './record';

export interface Metric {
  key: string;
  /** Head of the column, without the unit. */
  head: string;
  /** Stored unit, as in the record. */
  unit: string;
  /** Head over several columns that belong together. */
  group?: string;
}

const RESPONSE = 'Response time under closed loop';

const times = (group: string): Metric[] => [
  {key: 'latency_ns_mean', head: 'mean', unit: 'ns', group},
  {key: 'latency_ns_p50', head: 'p50', unit: 'ns', group},
  {key: 'latency_ns_p95', head: 'p95', unit: 'ns', group},
  {key: 'latency_ns_p99', head: 'p99', unit: 'ns', group},
  {key: 'latency_ns_p999', head: 'p99.9', unit: 'ns', group},
  {key: 'latency_ns_max', head: 'max', unit: 'ns', group},
];
const RESPONSE_TIMES = times(RESPONSE);
const THROUGHPUT: Metric = {key: 'ops_per_second', head: 'Throughput', unit: '1/s'};
const SERVER_CPU: Metric = {key: 'server_cpu_ns_per_op', head: 'Server CPU per op', unit: 'ns'};
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
  wire: [...PER_KEY, THROUGHPUT, ...RESPONSE_TIMES, SERVER_CPU, ...HITS],
  embedded: [THROUGHPUT, ...times('Time per operation'), SERVER_CPU, PEAK_RSS, DISK],
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
  expiry: [THROUGHPUT, ...RESPONSE_TIMES, SERVER_CPU, ...HELD],
  tail: [
    ...times('Response time from the intended start'),
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
  {key: 'compact_ms', head: 'Merging everything', unit: 'ms'},
  THROUGHPUT,
  {key: 'settled_ops_per_second', head: 'Until settled', unit: '1/s'},
  {key: 'settle_ms', head: 'Settling', unit: 'ms'},
  {key: 'records_per_second', head: 'Records', unit: '1/s'},
  ...times('Time per operation'),
  {key: 'read_bytes_per_op', head: 'Read per op', unit: 'bytes'},
  {key: 'device_read_bytes_per_op', head: 'From the device per op', unit: 'bytes'},
  {key: 'write_amplification_ratio', head: 'Written per byte', unit: 'ratio'},
  {key: 'stalled_ms', head: 'Stalled', unit: 'ms'},
  SERVER_CPU,
  PEAK_RSS,
  {key: 'rss_anonymous_bytes', head: 'RSS without files', unit: 'bytes'},
  RSS_GROWTH,
  DISK,
  {key: 'disk_bytes_before_settling', head: 'On disk before settling', unit: 'bytes'},
];

/** Of them, what a version's page shows. */
const DURABLE_SLIM = [
  'open_ms',
  'flush_ms',
  'compact_ms',
  'ops_per_second',
  'settled_ops_per_second',
  'latency_ns_p50',
  'latency_ns_p99',
  'device_read_bytes_per_op',
  'rss_bytes_peak',
  'disk_bytes',
];

/** What tells whether a figure can be believed, and what it cost. */
const CHECKS: Metric[] = [
  {key: 'generator_busy', head: 'Generator busy', unit: 'share'},
  {key: 'foreign_cpu_cores', head: 'CPU used by others', unit: 'cores'},
  {key: 'connect_ms', head: 'Connect phase', unit: 'ms'},
  {key: 'bytes_per_second', head: 'Values moved', unit: 'bytes/s'},
  PEAK_RSS,
  RSS_GROWTH,
  ...RESPONSE_TIMES,
];

/** Stored, and shown elsewhere: p90 is drawn in the charts, a cap is a given and stands in its row's label, rates and
 * drift have tables of their own. */
const NO_COLUMN = [
  'latency_ns_p90',
  'cap_bytes',
  'knee_per_second',
  'offered_per_second',
  'achieved_per_second',
  'skipped_share',
  'drift_ratio',
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

function headlinesOf(record: PageScenario): Metric[] {
  return isDurable(record) ? DURABLE : (HEADLINES[record.scenario.kind] ?? HEADLINES.wire ?? []);
}

/** Metrics of a record's main table: those that at least one of its cells has. */
export function headlineMetrics(record: PageScenario): Metric[] {
  const present = presentMetrics(record);
  return headlinesOf(record).filter(({key}) => present.has(key));
}

/** The few metrics of a summary. */
export function slimMetrics(record: PageScenario): Metric[] {
  const metrics = headlineMetrics(record);
  if (isDurable(record)) return metrics.filter(({key}) => DURABLE_SLIM.includes(key));
  return record.scenario.kind === 'memory_cap' || record.scenario.kind === 'startup' ? metrics : metrics.filter(({key}) => SLIM.includes(key));
}

/** Every other metric of the record: the known ones first, then whatever else was stored. */
export function checkMetrics(record: PageScenario): Metric[] {
  const present = presentMetrics(record);
  for (const {key} of headlinesOf(record)) present.delete(key);
  const known = CHECKS.filter(({key}) => present.delete(key));
  for (const key of NO_COLUMN) present.delete(key);
  const others = [...present].sort(([a], [b]) => a.localeCompare(b));
  return [...known, ...others.map(([key, unit]) => ({key, head: key.replaceAll('_', ' '), unit}))];
}

function presentMetrics(record: PageScenario): Map<string, string> {
  return new Map(record.cells.flatMap((cell) => cell.measurements.map((m): [string, string] => [m.metric, m.unit])));
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
};
