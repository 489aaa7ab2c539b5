// How do parts of ours stand beside like parts of other libraries? Pure: criterion's estimates in, rows of a table out.
import type {Component} from '../generated/records';
import {fixed, ratio, type Figure} from './format';
import {componentFigure} from './tables';

export interface PartRow {
  key: string;
  /** `get/4096`; of another's part its library. */
  label: string;
  isOurs: boolean;
  time: Figure;
  /** Ours to theirs: below 1 ours takes less time. Only beside another's part. */
  ratio?: Figure;
  allocations?: string;
  estimate: string;
}

/** Whether a group says more than how long its parts take. */
export function isCompared(components: Component[]): boolean {
  return components.some(({library, allocations_per_op: allocations}) => library !== undefined || allocations !== undefined);
}

/** Each part of ours, and below it the like parts of others. */
export function partRows(components: Component[]): PartRow[] {
  const bySize = (a: Component, b: Component) => a.name.localeCompare(b.name, 'en', {numeric: true});
  const ours = components.filter(({library}) => library === undefined).sort(bySize);
  const beside = (key: string) => components.filter(({counterpart}) => counterpart === key).sort((a, b) => (a.library ?? '').localeCompare(b.library ?? '', 'en'));
  return ours.flatMap((own) => [row(own), ...beside(own.key).map((theirs) => row(theirs, own))]);
}

function row(one: Component, ours?: Component): PartRow {
  const {key, name, library, ns_per_op: median, ns_per_op_low: low, ns_per_op_high: high, allocations_per_op: allocations, estimate} = one;
  return {
    key,
    label: ours ? (library ?? name) : name,
    isOurs: ours === undefined,
    time: componentFigure(median, low, high),
    ...(ours ? {ratio: componentRatio(ours, one)} : {}),
    ...(allocations === undefined ? {} : {allocations: fixed(allocations, Number.isInteger(allocations) ? 0 : 2)}),
    estimate,
  };
}

/** The ends of both intervals put against each other: wider than 95 %, for nothing pairs the samples of two benchmarks. */
function componentRatio(ours: Component, theirs: Component): Figure {
  return ratio({
    median: ours.ns_per_op / theirs.ns_per_op,
    low: ours.ns_per_op_low / theirs.ns_per_op_high,
    high: ours.ns_per_op_high / theirs.ns_per_op_low,
  });
}
