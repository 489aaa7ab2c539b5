// Data of the page of the gate's errors: what is known of the rule in force, what of an earlier one, and gates as examples. Pure.
import {type CalibrationGate, type CalibrationNoise, type CalibrationRate, type Gate, GATE_RULE, type GateVerdict, type Machine, type Tool} from '../../src/generated/records';
import {newestFirst, sortedRates} from '../../src/lib/gate';
import type {LoadedCalibration} from './calibration';
import type {RawFile, Results} from './load';
import type {Power} from './power';
import type {RawLink} from './routes';

/** A gate as the page lists it: what it said of each series stays in the raw file. */
export type ListedGate = Omit<CalibrationGate, 'series' | 'seed'>;

export interface CalibratedMachine {
  key: string;
  machine: Machine;
  tool: Tool;
  gateSha256: string;
  /** Absent: written before rules had names. */
  rule?: string;
  noise: CalibrationNoise[];
  rates: CalibrationRate[];
  /** Newest first. */
  gates: ListedGate[];
  raw: RawLink;
}

/** A series of a gate; its single blocks stay in the raw file. */
export type ShownVerdict = Omit<GateVerdict, 'blocks' | 'evidence' | 'p' | 'p_adjusted'> & {measured: number};

/** A gate that is kept as an example. */
export interface ShownGate extends Pick<Gate, 'id' | 'started_at' | 'outcome' | 'reason' | 'base' | 'head' | 'machine_key' | 'tool' | 'measured_s' | 'profiles'> {
  cpuModel: string;
  verdicts: ShownVerdict[];
  raw: RawLink;
}

/** Data of `/benchmarks/gate/`. */
export interface GateData {
  /** Calibrations of the rule in force, by key; none: how often it errs on a machine is not known. */
  machines: CalibratedMachine[];
  /** Those of another rule, which say nothing of the one in force. */
  earlier: CalibratedMachine[];
  /** Simulated gates of the rule in force. */
  simulated?: Power & {raw: RawLink};
  /** Newest first. */
  examples: ShownGate[];
}

export function gateData({calibrations = [], power, gates = []}: Results): GateData {
  const machines = calibrations.map(machineOf).sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return {
    machines: machines.filter(({rule}) => rule === GATE_RULE),
    earlier: machines.filter(({rule}) => rule !== GATE_RULE),
    ...(power?.power.rule === GATE_RULE ? {simulated: {...power.power, raw: link(power.file)}} : {}),
    examples: gates.map(({gate, file}) => shownGate(gate, file)),
  };
}

function machineOf({calibration, file}: LoadedCalibration): CalibratedMachine {
  return {
    key: calibration.machine_key,
    machine: calibration.machine,
    tool: calibration.tool,
    gateSha256: calibration.gate_sha256,
    ...(calibration.rule === undefined ? {} : {rule: calibration.rule}),
    noise: calibration.noise,
    rates: sortedRates(calibration.rates),
    gates: newestFirst(calibration.gates).map(({series: _series, seed: _seed, ...listed}) => listed),
    raw: link(file),
  };
}

function shownGate({id, started_at, outcome, reason, base, head, machine_key, machine, tool, measured_s, profiles, verdicts}: Gate, file: RawFile): ShownGate {
  return {
    ...{id, started_at, outcome, reason, base, head, machine_key, tool, measured_s, cpuModel: machine.cpu_model},
    ...(profiles === undefined ? {} : {profiles}),
    verdicts: verdicts.map(({blocks, evidence: _evidence, p: _p, p_adjusted: _adjusted, ...kept}) => ({...kept, measured: blocks.length})),
    raw: link(file),
  };
}

function link({name, sitePath, bytes, sha256}: RawFile): RawLink {
  return {name, sitePath, bytes, sha256};
}
