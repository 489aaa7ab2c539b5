// Which records show every part of a page? Made-up scenarios of shape 2, from a formula: open loops with their knee, long
// loads by second, the container ladder, classes of rivals, other people's load generators, and hostile names.
import {
  type Axes,
  type Cell,
  type Measurement,
  type Mode,
  type Ratio,
  type Role,
  type Run,
  SCHEMA_VERSION,
  type ScenarioRecord,
  type TargetRecord,
  type Trial,
} from '../src/generated/records';

const TRIALS = 3;
const UNITS: [RegExp, string][] = [
  [/_per_second$/, '1/s'],
  [/_ns(?:_|$)/, 'ns'],
  [/bytes/, 'bytes'],
  [/share|ratio|busy/, 'ratio'],
];

type Values = Record<string, number>;

interface CellSpec {
  target: string;
  mode?: Mode;
  label: string;
  axes: Partial<Axes> & {operation: string};
  values?: Values;
  /** Changes a trial before it is stored. */
  trial?: (trial: Trial) => void;
  skipped?: string;
}

/** A cell of three trials around the given values; without values it was skipped. */
export function cell({target, mode = 'native', label, axes, values = {}, trial, skipped}: CellSpec): Cell {
  const point = Object.entries(axes).map(([name, value]) => `${name}=${String(value)}`);
  const base = {key: [target, mode, 'apart', ...point].join('/'), target, mode, placement: 'apart' as const, axes, label};
  if (skipped !== undefined) return {...base, status: 'skipped', reason: skipped, measurements: [], distributions: [], trials: []};
  const spread = (value: number, index: number) => value * (1 + (index - 1) * 0.02);
  const trials = Array.from({length: TRIALS}, (_, index): Trial => {
    const made: Trial = {
      index,
      position: index,
      status: 'ok',
      elapsed_s: 1,
      counts: {operations: 1000, hits: 1000, misses: 0, errors: 0},
      values: Object.entries(values).map(([metric, value]) => ({metric, value: spread(value, index)})),
      histograms: [],
      windows: [],
      facts: {},
    };
    trial?.(made);
    return made;
  });
  const measurements = Object.entries(values).map(
    ([metric, value]): Measurement => ({
      metric,
      unit: UNITS.find(([pattern]) => pattern.test(metric))?.[1] ?? 'count',
      direction: 'neutral',
      median: spread(value, 1),
      low: spread(value, 0),
      high: spread(value, 2),
      spread: 'range',
      n: TRIALS,
    }),
  );
  return {...base, status: 'ok', measurements, distributions: [], trials};
}

export function ratio(kind: string, metric: string, numerator: Cell, denominator: Cell, median: number): Ratio {
  return {kind, metric, numerator: numerator.key, denominator: denominator.key, median, low: median * 0.97, high: median * 1.03, spread: 'range', n: TRIALS};
}

export function scenario(key: string, title: string, cells: Cell[], ratios: Ratio[] = [], kind = 'wire'): ScenarioRecord {
  return {
    schema: 'plumbkv.scenario',
    schema_version: SCHEMA_VERSION,
    tool: {name: 'bench-runner', version: '0.0.2'},
    run_id: '',
    version: '',
    machine_key: 'fixture-machine',
    profile: 'quick',
    scenario: {
      key,
      title,
      kind,
      revision: 1,
      analysis: `Made-up text of ${key}.`,
      validity: 'Made-up text.',
      not_measured: 'Made-up text.',
      params: {},
      params_sha256: '0'.repeat(64),
    },
    cells,
    ratios,
  };
}

const SERVERS: [target: string, factor: number][] = [
  ['plumbkv', 1],
  ['redis-server', 0.9],
];

/** Latencies that bend upwards where the rate nears `peak`. */
function latencies(rate: number, peak: number): Values {
  const room = Math.max(1 - rate / peak, 0.01);
  return {latency_ns_p50: 60_000 / room ** 0.5, latency_ns_p99: 150_000 / room, latency_ns_p999: 400_000 / room ** 1.5};
}

export function wireRate(): ScenarioRecord {
  const cells = SERVERS.flatMap(([target, factor]) => {
    const peak = 90_000 * factor;
    const load = {clients: 50, pipeline: 1, value_bytes: 64, set_percent: 0};
    const rates = [10, 25, 50, 75, 90, 95].map((percent) => {
      const rate = (peak * percent) / 100;
      return cell({
        target,
        label: `GET 64 B, 50 clients, Poisson at ${percent} % of its peak`,
        axes: {operation: 'get', ...load, arrival: 'poisson', rate_percent: percent},
        values: {...latencies(rate, peak), ops_per_second: rate * 0.999, offered_per_second: rate, achieved_per_second: rate * 0.999, server_cpu_ns_per_op: 9000},
        trial: (trial) => {
          trial.open_loop = {
            arrival: 'poisson',
            offered_per_second: rate,
            achieved_per_second: rate * 0.999,
            due: Math.round(rate),
            skipped: percent > 90 ? 12 : 0,
            in_flight_bound: 4096,
            in_flight_max: percent * 3,
            send_delay_ns_max: 40_000,
          };
        },
      });
    });
    return [
      cell({target, label: 'GET 64 B, 50 clients, closed-loop peak', axes: {operation: 'peak', ...load}, values: {...latencies(peak * 0.6, peak), ops_per_second: peak, generator_busy: 0.97, server_cpu_ns_per_op: 9000}}),
      ...rates,
      cell({target, label: 'GET 64 B, 50 clients, knee', axes: {operation: 'knee', ...load}, values: {...latencies(peak * 0.84, peak), knee_per_second: peak * 0.84}}),
    ];
  });
  return scenario('wire-rate', 'Latency at a given rate', cells);
}

export function wireSustained(): ScenarioRecord {
  const cells = SERVERS.map(([target, factor]) =>
    cell({
      target,
      label: 'GET 64 B, 100 clients',
      axes: {operation: 'get', clients: 100, pipeline: 1, value_bytes: 64},
      values: {ops_per_second: 80_000 * factor, latency_ns_p50: 1_100_000, latency_ns_p99: 2_000_000, drift_ratio: 0.99, server_cpu_ns_per_op: 9500},
      trial: (trial) => {
        trial.windows = Array.from({length: 9}, (_, second) => ({
          start_ms: second * 1000,
          length_ms: second === 8 ? 100 : 1000,
          operations: second === 8 ? 8000 : Math.round(80_000 * factor + Math.sin(second + trial.index) * 900),
          latency_ns_p50: 1_100_000,
          latency_ns_p99: 2_000_000 + second * 20_000,
          server_cpu_ns: 900_000_000,
          rss_bytes: 24_000_000 + second * 10_000,
        }));
      },
    }),
  );
  return scenario('wire-sustained', 'A load that goes on', cells);
}

export function containerLadder(): ScenarioRecord {
  const modes: Mode[] = ['native', 'native_limited', 'container_host', 'container_published', 'container_no_io_uring'];
  const cells = modes.map((mode, step) =>
    cell({
      target: 'plumbkv',
      mode,
      label: 'GET 64 B, 50 clients',
      axes: {operation: 'get', clients: 50, pipeline: 1, value_bytes: 64},
      values: {ops_per_second: 80_000 * 0.9 ** step, latency_ns_p50: 600_000, latency_ns_p99: 900_000 * 1.1 ** step, server_cpu_ns_per_op: 9000 * 1.1 ** step},
    }),
  );
  const [native, ...steps] = cells;
  if (!native) throw new Error('no native cell');
  const ratios = steps.flatMap((numerator, step) => [
    ratio('overhead', 'ops_per_second', numerator, native, 0.9 ** (step + 1)),
    ratio('overhead', 'server_cpu_ns_per_op', numerator, native, 1.1 ** (step + 1)),
  ]);
  return scenario('container-ladder', 'Native and step by step into a container', cells, ratios);
}

/** Client counts with their ratios, two request counts, a switch, the floor, and redis-benchmark on the same cell. */
export function derivedTables(): ScenarioRecord {
  const at = (target: string, clients: number, ops: number, more: Partial<Axes> = {}, suffix = '') =>
    cell({
      target,
      label: `GET 64 B, ${clients} clients${suffix}`,
      axes: {operation: 'get', clients, pipeline: 1, value_bytes: 64, ...more},
      values: {ops_per_second: ops, latency_ns_p50: (clients / ops) * 1e9, latency_ns_p99: (clients / ops) * 2e9, server_cpu_ns_per_op: 9000, generator_busy: clients === 1000 ? 0.98 : 0.5, foreign_cpu_cores: 0.02},
    });
  const [one, fifty, thousand] = [at('plumbkv', 1, 16_000), at('plumbkv', 50, 82_000), at('plumbkv', 1000, 83_000)];
  const [short, long] = [at('plumbkv', 100, 81_000, {requests: 100_000}, ', 100k requests'), at('plumbkv', 100, 82_000, {requests: 500_000}, ', 500k requests')];
  const switched = at('plumbkv', 50, 84_000, {variant: 'allocator=mimalloc'}, ', allocator=mimalloc');
  const floor = at('floor-io-uring', 50, 120_000);
  const foreign = at('plumbkv', 50, 80_500, {client_program: 'redis-benchmark'}, ', by redis-benchmark');
  const rival = at('redis-server', 50, 78_000);
  const rivalForeign = at('redis-server', 50, 76_000, {client_program: 'redis-benchmark'}, ', by redis-benchmark');
  const missing = cell({
    target: 'redis-server',
    label: 'GET 64 B, 1 client, by redis-benchmark',
    axes: {operation: 'get', clients: 1, pipeline: 1, value_bytes: 64, client_program: 'redis-benchmark'},
    skipped: 'redis-benchmark is not installed; apt install redis-tools',
  });
  const invalid: Cell = {
    ...cell({target: 'redis-server', label: 'GET 64 B, 100 clients, 100k requests', axes: {operation: 'get', clients: 100, pipeline: 1, value_bytes: 64, requests: 100_000}}),
    status: 'invalid',
    reason: 'trial 2: 3 of 100000 replies were wrong, the first: GET k17 gave 63 bytes',
  };
  const absent = cell({target: 'valkey', label: 'GET 64 B, 50 clients', axes: {operation: 'get', clients: 50, pipeline: 1, value_bytes: 64}, skipped: 'no program'});
  return scenario(
    'derived',
    'What follows from the ratios',
    [one, fifty, thousand, short, long, switched, floor, foreign, rivalForeign, missing, invalid, absent, rival],
    [
      ratio('adjacent', 'ops_per_second', fifty, one, 5.1),
      ratio('adjacent', 'ops_per_second', thousand, fifty, 1.01),
      ratio('stability', 'ops_per_second', long, short, 1.012),
      ratio('variant', 'ops_per_second', switched, fifty, 1.02),
      ratio('floor', 'server_cpu_ns_per_op', fifty, floor, 1.34),
      ratio('rival', 'ops_per_second', fifty, rival, 1.051),
      ratio('rival', 'ops_per_second', foreign, rivalForeign, 1.059),
    ],
  );
}

export function lookup(): ScenarioRecord {
  const get = (target: string, ops: number) =>
    cell({
      target,
      label: 'GET by key, 100k rows',
      axes: {operation: 'get', keys: 100_000},
      values: {ops_per_second: ops, latency_ns_p50: 1e9 / ops, latency_ns_p99: 3e9 / ops, server_cpu_ns_per_op: 5e8 / ops},
    });
  return scenario('kv-lookup', 'Rows by key', [get('plumbkv', 80_000), get('redis-server', 78_000), get('postgres', 11_000), get('sqlite', 310_000)]);
}

/** Documents over HTTP: floors in place of a subject, one of them not built, and wrk on the same cell. */
export function httpLookup(): ScenarioRecord {
  const at = (target: string, clients: number, ops: number, more: Partial<Axes> = {}, suffix = '') =>
    cell({
      target,
      label: `GET 240 B, ${clients} clients, http${suffix}`,
      axes: {operation: 'get', protocol: 'http', clients, pipeline: 1, value_bytes: 240, ...more},
      values: {ops_per_second: ops, latency_ns_p50: (clients / ops) * 1e9, latency_ns_p99: (clients / ops) * 2e9, server_cpu_ns_per_op: 5e8 / ops, generator_busy: 0.8, foreign_cpu_cores: 0.03},
    });
  const absent = cell({target: 'axum-constant', label: 'GET 240 B, 50 clients, http', axes: {operation: 'get', protocol: 'http', clients: 50, pipeline: 1, value_bytes: 240}, skipped: 'not built'});
  return scenario('http-lookup', 'Documents by key over HTTP', [
    at('nginx', 10, 61_000),
    at('nginx', 50, 79_000),
    at('floor-http', 50, 118_000),
    absent,
    at('nginx', 500, 74_000),
    at('nginx', 50, 77_500, {client_program: 'wrk'}, ', by wrk'),
  ]);
}

/** A trace under a cap with its hits, and a load under a cap and a limit of the kernel's. */
export function capTrace(): ScenarioRecord {
  const trace = SERVERS.map(([target, factor]) =>
    cell({
      target,
      label: 'Zipf reads of 100k keys of 64 B to 1 KiB, 16 MiB cap',
      axes: {operation: 'trace', cap_bytes: 16 * 2 ** 20},
      values: {accounted_bytes: 16.7e6 * factor, rss_bytes_growth: 17e6 * factor, hit_ratio: 0.62 * factor, hit_ratio_exact_lru: 0.64, evictions: 91_000},
    }),
  );
  const limited = SERVERS.map(([target, factor]) =>
    cell({
      target,
      mode: 'native_limited',
      label: 'Overwrites growing 64 B to 4 KiB, 48 MiB cap, 64 MiB limit',
      axes: {operation: 'overwrite', clients: 20, cap_bytes: 48 * 2 ** 20, memory_limit_bytes: 64 * 2 ** 20},
      values: {accounted_bytes: 49.9e6, rss_bytes_growth: 51e6 / factor, ops_per_second: 120_000 * factor, evictions: 340_000},
    }),
  );
  return scenario('memory-trace', 'Hits under a cap', [...trace, ...limited], [], 'memory_cap');
}

function server(key: string, title: string, role: Role, more: Partial<TargetRecord> = {}): TargetRecord {
  return {key, title, role, available: true, version: '1.2.3', allocator: 'glibc', transport: 'socket', durability: 'volatile', command: [key], settings: [], ...more};
}

/** Servers that the scenarios above name beyond those of the fixture. */
export function moreServers(run: Run): void {
  run.targets.push(
    server('floor-io-uring', 'floor, io_uring 0.0.2', 'floor'),
    server('valkey', 'Valkey', 'rival', {available: false, reason: 'no valkey-server in PATH; name one with --bin valkey=PATH', version: ''}),
    server('postgres', 'PostgreSQL 15.9 (Debian)', 'rival', {durability: 'durable'}),
    server('nginx', 'nginx 1.22.1 (Debian)', 'rival'),
    server('floor-http', 'floor over HTTP 0.0.2', 'floor'),
    server('axum-constant', 'axum not found, constant answer', 'floor', {available: false, reason: 'plumbkv-driver-axum is not there; build it with `make drivers`', version: ''}),
    server('sqlite', 'SQLite 3.40.1', 'rival', {transport: 'in_process', durability: 'durable'}),
  );
}

export function moreScenarios(): ScenarioRecord[] {
  return [wireRate(), wireSustained(), containerLadder(), derivedTables(), lookup(), httpLookup(), capTrace()];
}

/** What a record could hold to break a page: markup, mentions, links that run scripts … */
export const MARKUP = [
  '<img src=x onerror="window.hacked=1">',
  '@everyone',
  '[link](javascript:window.hacked=1)',
  '</script><script>window.hacked=1</script>',
  '"><svg/onload=window.hacked=1>',
].join(' ');

/** … and length. */
export const HOSTILE = `${MARKUP} ${'x'.repeat(10_000)}`;

/** Every text of a run that people wrote or that a program said, made hostile; long where it is said once. */
export function hostileRun(run: Run): void {
  moreServers(run);
  run.notes = [HOSTILE];
  run.command = HOSTILE;
  run.reproduce = [HOSTILE];
  run.machine.title = HOSTILE;
  run.machine.cpu_model = HOSTILE;
  run.environment.tools = [HOSTILE];
  run.environment.mitigations = [MARKUP];
  run.environment.container_runtime = MARKUP;
  for (const target of run.targets) {
    target.title = `${target.key} ${target.key === 'sqlite' || !target.available ? HOSTILE : MARKUP}`;
    target.allocator = MARKUP;
    target.version = MARKUP;
    target.command = [HOSTILE];
    target.settings = [{key: MARKUP, value: MARKUP, reason: MARKUP}];
    if (!target.available) target.reason = HOSTILE;
  }
  for (const component of run.components) component.name = MARKUP;
  for (const scenario of run.scenarios) scenario.title = HOSTILE;
}

/** The same for a scenario; some cells fail with a hostile reason. */
export function hostileScenario(record: ScenarioRecord): void {
  const {scenario} = record;
  scenario.title = `${scenario.key} ${HOSTILE}`;
  scenario.analysis = `${HOSTILE}\n\n${MARKUP}`;
  scenario.validity = MARKUP;
  scenario.not_measured = MARKUP;
  record.cells.forEach((each, index) => {
    each.label = `${each.label} ${index === 0 ? HOSTILE : MARKUP}`;
    if (index % 5 === 4) Object.assign(each, {status: 'failed', reason: index === 4 ? HOSTILE : MARKUP, measurements: [], distributions: []});
  });
}
