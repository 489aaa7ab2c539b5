// Which stored figures may prose quote? A page names a quote, never a number; what is not stored reads "not measured".
import type {Measurement, Mode, Run, ScenarioRecord} from '../generated/records';

interface Selector {
  scenario: string;
  target: string;
  mode: Mode;
  axes: {operation: string; clients?: number; pipeline?: number; value_bytes?: number};
  metric: string;
}

const single = (target: string, mode: Mode, operation: string, metric: string): Selector => ({
  scenario: 'wire-single',
  target,
  mode,
  axes: {operation, value_bytes: 64},
  metric,
});
const many = (target: string, operation: string, metric: string): Selector => ({
  scenario: 'wire-concurrency',
  target,
  mode: 'native',
  axes: {operation, clients: 50},
  metric,
});

/** Every quote by name. */
export const QUOTES = {
  'single-set-native': single('plumbkv', 'native', 'set', 'ops_per_second'),
  'single-set-container': single('plumbkv', 'container_host', 'set', 'ops_per_second'),
  'single-set-redis': single('redis-server', 'native', 'set', 'ops_per_second'),
  'single-set-p99': single('plumbkv', 'native', 'set', 'latency_ns_p99'),
  'many-get-native': many('plumbkv', 'get', 'ops_per_second'),
  'many-get-redis': many('redis-server', 'get', 'ops_per_second'),
  'many-get-ceiling': many('null', 'get', 'ops_per_second'),
  'many-get-cpu': many('plumbkv', 'get', 'server_cpu_ns_per_op'),
  'many-get-cpu-redis': many('redis-server', 'get', 'server_cpu_ns_per_op'),
} satisfies Record<string, Selector>;

export type QuoteName = keyof typeof QUOTES;

/** A stored figure with everything it must not travel without. */
export interface Quote {
  measurement: Measurement;
  /** Value of each ok trial. */
  trials: number[];
  label: string;
  target: string;
  href: string;
  runId: string;
  version: string;
  machine: string;
  profile: Run['profile'];
}

interface Source {
  version: string;
  machineKey: string;
  run: Run;
  scenarios: ScenarioRecord[];
}

/** Looks every quote up in the runs of one version on one machine, newest first. */
export function resolveQuotes(newestFirst: Source[]): Partial<Record<QuoteName, Quote>> {
  const found: Partial<Record<QuoteName, Quote>> = {};
  for (const [name, selector] of Object.entries(QUOTES) as [QuoteName, Selector][]) {
    for (const source of newestFirst) {
      const quote = lookUp(source, selector);
      if (quote) {
        found[name] = quote;
        break;
      }
    }
  }
  return found;
}

function lookUp(source: Source, selector: Selector): Quote | undefined {
  const record = source.scenarios.find(({scenario}) => scenario.key === selector.scenario);
  const cell = record?.cells.find(
    (candidate) =>
      candidate.status === 'ok' &&
      candidate.target === selector.target &&
      candidate.mode === selector.mode &&
      candidate.placement !== 'together' &&
      Object.entries(selector.axes).every(([axis, value]) => candidate.axes[axis as keyof typeof candidate.axes] === value),
  );
  const measurement = cell?.measurements.find((m) => m.metric === selector.metric && m.operation === undefined);
  if (!cell || !measurement) return undefined;
  const trials = cell.trials
    .filter((trial) => trial.status === 'ok')
    .flatMap((trial) => trial.values.filter((v) => v.metric === selector.metric && v.operation === undefined))
    .map((v) => v.value);
  return {
    measurement,
    trials,
    label: cell.label,
    target: source.run.targets.find((target) => target.key === cell.target)?.title ?? cell.target,
    href: `/benchmarks/${source.version}/${source.machineKey}/run/${source.run.id}/${selector.scenario}/`,
    runId: source.run.id,
    version: source.version,
    machine: source.run.machine.title || source.machineKey,
    profile: source.run.profile,
  };
}
