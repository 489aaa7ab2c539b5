// What does the page of the gate's errors need? Pure.
import type {CalibrationGate, CalibrationNoise, CalibrationRate, Machine, Tool} from '../../src/generated/records';
import {newestFirst, sortedRates} from '../../src/lib/gate';
import type {Results} from './load';
import type {RawLink} from './routes';

/** A gate as the page lists it: what it said of each series stays in the raw file. */
export type ListedGate = Omit<CalibrationGate, 'series' | 'seed'>;

export interface CalibratedMachine {
  key: string;
  machine: Machine;
  tool: Tool;
  gateSha256: string;
  noise: CalibrationNoise[];
  rates: CalibrationRate[];
  /** Newest first. */
  gates: ListedGate[];
  raw: RawLink;
}

/** Data of `/benchmarks/gate/`. */
export interface GateData {
  /** By key; none: no calibration is stored. */
  machines: CalibratedMachine[];
}

export function gateData({calibrations = []}: Results): GateData {
  const machines = calibrations.map(({calibration, file: {name, sitePath, bytes, sha256}}): CalibratedMachine => ({
    key: calibration.machine_key,
    machine: calibration.machine,
    tool: calibration.tool,
    gateSha256: calibration.gate_sha256,
    noise: calibration.noise,
    rates: sortedRates(calibration.rates),
    gates: newestFirst(calibration.gates).map(({series: _series, seed: _seed, ...listed}) => listed),
    raw: {name, sitePath, bytes, sha256},
  }));
  return {machines: machines.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))};
}
