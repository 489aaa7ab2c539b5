// Components: criterion's estimates of single parts, in words, beside like parts of other libraries. Pure.
import type {Component} from '../generated/records';
import type {Bar} from '../charts/BarChart';
import type {Look} from '../charts/looks';
import {figure, fixed, ratio, type Figure} from './format';
import {componentFigure} from './tables';
import {scaleOfAll, type Scale} from './units';

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

const GROUPS: Record<string, string> = {
  'lsm-block': 'Lookup in a block',
  'lsm-cache': 'Block cache',
  'lsm-database': 'Whole durable store',
  'lsm-filter': 'Filter of a table',
  'lsm-index': 'Index of a table',
  'lsm-key': 'Comparison of keys',
  'lsm-log': 'Write-ahead log',
  'lsm-memtable': 'Memtable',
  'lsm-table': 'Table',
  'lsm-value': 'Encoding of values',
  'memory-store': 'Memory store',
  'resp-compose': 'Composing replies, one at a time',
  'resp-parse': 'Parsing requests, one at a time',
  'resp/compose-reply': 'Composing replies in batches',
  'resp/parse-reply': 'Parsing replies in batches',
  'resp/parse-request': 'Parsing requests in batches',
};

/** A group in words. */
export function groupTitle(group: string): string {
  return GROUPS[group] ?? group.replaceAll(/[-/]/g, ' ');
}

/** `get-cached/4096` → `get cached`. */
export function operationOf(name: string): string {
  return name.replace(/\/\d+$/, '').replaceAll('-', ' ');
}

/** `get-cached/4096` → 4096. */
export function sizeOf(name: string): number | undefined {
  const digits = /\/(\d+)$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export interface OverviewRow {
  /** `get` */
  operation: string;
  /** `4,096 and 1,000,000 entries`. */
  entries: string;
  small: Figure;
  large?: Figure;
  allocations: string | undefined;
}

/** Our parts of a group, one row per operation, with few entries and with many. */
export function overviewRows(components: Component[]): OverviewRow[] {
  const own = components.filter(({library}) => library === undefined);
  return [...new Set(own.map(({name}) => operationOf(name)))].map((operation) => {
    const sizes = own.filter(({name}) => operationOf(name) === operation).sort((a, b) => (sizeOf(a.name) ?? 0) - (sizeOf(b.name) ?? 0));
    const [small, large] = [sizes[0], sizes.length > 1 ? sizes.at(-1) : undefined] as [Component, Component | undefined];
    const time = ({ns_per_op: median, ns_per_op_low: low, ns_per_op_high: high}: Component) => componentFigure(median, low, high);
    const allocations = Math.max(...sizes.map(({allocations_per_op: calls}) => calls ?? -1));
    return {
      operation,
      entries: sizes.flatMap(({name}) => (sizeOf(name) === undefined ? [] : [fixed(sizeOf(name) ?? 0, 0)])).join(' and '),
      small: time(small),
      ...(large ? {large: time(large)} : {}),
      allocations: allocations < 0 ? undefined : fixed(allocations, Number.isInteger(allocations) ? 0 : 2),
    };
  });
}

const LIBRARY_LOOKS: [pattern: RegExp, look: Look][] = [
  [/^lsm-tree/, 'rival-2'],
  [/^crossbeam/, 'rival-5'],
  [/^quick_cache/, 'rival-6'],
];

export interface PartFigure {
  /** `get, 1,000,000 entries`. */
  label: string;
  bars: Bar[];
  scale: Scale;
  max: number;
}

/** Bars of the parts of a group that have a counterpart, each operation with most entries. */
export function partFigures(components: Component[]): PartFigure[] {
  const own = components.filter(({library}) => library === undefined);
  return [...new Set(own.map(({name}) => operationOf(name)))].flatMap((operation) => {
    const ours = own.filter(({name}) => operationOf(name) === operation).sort((a, b) => (sizeOf(b.name) ?? 0) - (sizeOf(a.name) ?? 0))[0];
    const others = ours ? components.filter(({counterpart}) => counterpart === ours.key) : [];
    if (!ours || others.length === 0) return [];
    const scale = scaleOfAll('ns', [ours, ...others].map(({ns_per_op: median}) => median));
    const bars = [ours, ...others].map(({library, ns_per_op: median, ns_per_op_low: low, ns_per_op_high: high}): Bar => {
      const look = library === undefined ? 'ours' : (LIBRARY_LOOKS.find(([pattern]) => pattern.test(library))?.[1] ?? 'rival');
      return {label: library ?? 'PlumbKV', look, median: median * scale.factor, trials: [], text: figure({median, low, high}, scale).value};
    });
    const size = sizeOf(ours.name);
    return [{label: size === undefined ? operation : `${operation}, ${fixed(size, 0)} entries`, bars, scale, max: Math.max(...bars.map(({median}) => median))}];
  });
}
