// Which calibrations show every part of the page of the gate's errors? Made up by a formula; no machine ever said this.
import {createHash} from 'node:crypto';
import {mkdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import type {LoadedCalibration} from '../plugins/benchmarks/calibration';
import {type Calibration, type CalibrationGate, type CalibrationNoise, type CalibrationRate, GATE_RULE, type GateClass, type GateOutcome, type InjectedAs} from '../src/generated/records';
import {HOSTILE, MARKUP} from './records';

/** Exact 95 % intervals (Clopper and Pearson) by `regression/gates`, to seven places. */
const INTERVALS: Record<string, [low: number, high: number]> = {
  '0/1': [0, 0.975],
  '0/40': [0, 0.0880973],
  '0/298': [0, 0.0123025],
  '0/299': [0, 0.0122616],
  '0/368': [0, 0.0099741],
  '1/40': [0.0006327, 0.1315859],
  '3/20': [0.0320709, 0.3789268],
  '12/15': [0.5191089, 0.956688],
  '14/15': [0.6805154, 0.9983136],
  '15/15': [0.7819806, 1],
};

/** What gates said; `regression` of `gates`, the rest split as told. */
export function rate(injected: number, as: InjectedAs | undefined, regression: number, gates: number, undecided = 0): CalibrationRate {
  const [low, high] = INTERVALS[`${regression}/${gates}`] ?? [Number.NaN, Number.NaN];
  if (Number.isNaN(low)) throw new Error(`no interval of ${regression} in ${gates}`);
  return {injected_percent: injected, ...(as ? {injected_as: as} : {}), gates, regression, improvement: 0, undecided, rate_low: low, rate_high: high};
}

const REASONS: Record<GateOutcome, string> = {
  pass: 'no change of the size that is found in 9 series',
  improvement: '1 of 9 better: GET 64 B, 50 clients, server_cpu_ns_per_op × 0.962',
  regression: '4 of 9 worse: SET 64 B, 50 clients, server_cpu_ns_per_op × 1.098',
  inconclusive: '1 of 9 undecided: GET 64 B, 50 clients, ops_per_second × 0.968 (it moved by -3.2 %, but its blocks do not agree on the direction)',
  not_measured: '1 of 9 without a figure: GET 64 B, 50 clients, latency_ns_p99 (the budget ended)',
};

/** The gates behind a rate: first those that said regression. */
function gatesOf({injected_percent, injected_as, gates, regression, undecided}: CalibrationRate, begin: number): CalibrationGate[] {
  return Array.from({length: gates}, (_, index) => {
    const outcome: GateOutcome = index < regression ? 'regression' : index < regression + undecided ? 'inconclusive' : 'pass';
    const at = new Date(Date.UTC(2026, 0, 10) + (begin + index) * 20 * 60_000).toISOString();
    return {
      id: `${at.replace(/[-:]|\.\d+/g, '')}-gate-${(begin + index).toString(16).padStart(4, '0')}`,
      started_at: at.replace('.000', ''),
      seed: begin + index,
      injected_percent,
      ...(injected_as ? {injected_as} : {}),
      outcome,
      reason: REASONS[outcome],
      measured_s: outcome === 'pass' ? 412.3 : 1043.8,
      series: [{scenario: 'get-64', metric: 'server_cpu_ns_per_op', outcome, confirmed: outcome !== 'pass', ratio: outcome === 'pass' ? 1.004 : 1.098}],
    };
  });
}

function noise(scenario: string, label: string, metric: string, block_sd: number, detectable: number | undefined, known: GateClass): CalibrationNoise {
  return {scenario, label, metric, block_sd, blocks: 20, ...(detectable === undefined ? {} : {detectable}), class: known};
}

export const NOISE: CalibrationNoise[] = [
  noise('get-64', 'GET 64 B, 50 clients', 'server_cpu_ns_per_op', 0.0124, 1.034, 'gated'),
  noise('get-64', 'GET 64 B, 50 clients', 'ops_per_second', 0.031, 1.049, 'gated'),
  noise('set-64', 'SET 64 B, 50 clients', 'server_cpu_ns_per_op', 0.0461, 1.0648, 'gated@8%'),
  noise('rate-50', 'GET 64 B at half of the peak, Poisson arrivals', 'latency_ns_p99', 0.183, 1.31, 'advisory'),
  noise('mixed', 'A mix of 10 % SET and 90 % GET of 1 KiB, 50 clients, pipeline 16', 'ops_per_second', 0.44, undefined, 'advisory'),
];

export function calibration(key: string, rates: CalibrationRate[], more: Partial<Calibration> = {}): Calibration {
  let begin = 0;
  const gates = rates.flatMap((one) => {
    const made = gatesOf(one, begin);
    begin += made.length;
    return made;
  });
  return {
    schema: 'plumbkv.calibration',
    schema_version: 2,
    tool: {name: 'bench-runner', version: '0.0.2'},
    machine_key: key,
    machine: {
      fingerprint: 'f1f1f1f1f1f1',
      title: key === 'fixture-machine' ? 'Fixture: a machine that does not exist' : '',
      class: 'stored',
      cpu_model: 'Fixture CPU (0/0/0)',
      architecture: 'x86_64',
      cores: 2,
      threads: 2,
      memory_gib: 24,
      virtualisation: 'kvm',
    },
    gate_sha256: '5eed'.repeat(16),
    rule: GATE_RULE,
    noise: NOISE,
    gates,
    rates,
    ...more,
  };
}

/** A machine with all that can be known, one with false alarms and no sleep injected, and one whose first gate has not ended. */
export function calibrations(): Calibration[] {
  return [
    calibration('fixture-machine', [rate(0, undefined, 0, 40, 2), rate(5, 'spin', 12, 15, 2), rate(10, 'spin', 15, 15), rate(5, 'sleep', 3, 20, 9), rate(10, 'sleep', 14, 15, 1)]),
    calibration('other-machine', [rate(0, undefined, 3, 20), rate(5, 'spin', 12, 15)], {noise: NOISE.slice(0, 2)}),
    calibration('third-machine', []),
  ];
}

/** One as runners before 0.5.3 wrote it: of a rule without a name. */
export function earlierCalibration(): Calibration {
  const {rule: _rule, ...made} = calibration('earlier-machine', [rate(0, undefined, 0, 40)]);
  return {...made, schema_version: 1, tool: {name: 'bench-runner', version: '0.2.0'}};
}

/** Every text that people wrote or that a program said, made hostile. */
export function hostileCalibration(): Calibration {
  const made = calibration('fixture-machine', [rate(0, undefined, 0, 40), rate(5, 'spin', 12, 15)]);
  made.machine.title = HOSTILE;
  made.machine.cpu_model = HOSTILE;
  made.machine.virtualisation = MARKUP;
  made.tool = {name: MARKUP, version: MARKUP};
  made.gate_sha256 = HOSTILE;
  made.noise = NOISE.map((one, index) => ({...one, scenario: `${one.scenario} ${MARKUP}`, label: index === 0 ? HOSTILE : MARKUP, metric: `${one.metric}_${MARKUP}`}));
  made.gates.forEach((gate, index) => {
    gate.id = `${gate.id} ${MARKUP}`;
    // One that is a single word, and one that is long by its many words.
    gate.reason = index === 0 ? HOSTILE : index === 1 ? 'word '.repeat(2000) : MARKUP;
  });
  return made;
}

/** As if it had been read from a results folder. */
export function loadedCalibration(made: Calibration): LoadedCalibration {
  const text = JSON.stringify(made);
  const name = `${made.machine_key}.json`;
  const sha256 = createHash('sha256').update(text).digest('hex');
  return {calibration: made, file: {name, sitePath: `results/calibration/${name}`, diskPath: '', sha256, bytes: Buffer.byteLength(text)}};
}

/** Writes them where the site looks for them. */
export function writeCalibrations(root: string, all: Calibration[]): void {
  const folder = path.join(root, 'calibration');
  mkdirSync(folder, {recursive: true});
  for (const one of all) writeFileSync(path.join(folder, `${one.machine_key}.json`), JSON.stringify(one));
}
