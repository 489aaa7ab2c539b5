// Simulated gates: one row per kind of noise with the share of false alarms and, by size, of changes found. Pure.
import type {PowerCase} from '../../plugins/benchmarks/power';
import {count, withUnit} from './format';
import {points, size} from './gate';

export interface SimulatedRow {
  key: string;
  noise: Pick<PowerCase, 'block_sd' | 'layout_sd' | 'mood' | 'shape'>;
  /** Nothing was changed; absent: that was not simulated. */
  falseRed?: PowerCase;
  /** One series was made slower, by size; absent where that size was not simulated. */
  found: (PowerCase | undefined)[];
}

/** Names of distributions as people read them. */
const SHAPES: Record<string, string> = {normal: 'normal', t3: 'heavy tails', bursts: 'bursts'};

export const shapeWords = (shape: string): string => SHAPES[shape] ?? shape;

/** Sizes that were put in, as ratios above one. */
export function effectsOf(cases: PowerCase[]): number[] {
  return [...new Set(cases.map(({effect}) => effect))].filter((effect) => effect > 1).sort((a, b) => a - b);
}

/** `5 %` of a ratio of 1.05. */
export const effectWords = (effect: number): string => withUnit(size((effect - 1) * 100), '%');

/** Kinds of noise in the order of the table. */
export function simulatedRows(cases: PowerCase[]): SimulatedRow[] {
  const effects = effectsOf(cases);
  const groups = new Map<string, PowerCase[]>();
  for (const one of cases) {
    const key = [one.block_sd, one.layout_sd, one.mood, one.shape, one.series].join(' ');
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups].map(([key, group]) => {
    const [{block_sd, layout_sd, mood, shape} = {block_sd: 0, layout_sd: 0, mood: 0, shape: ''}] = group;
    const falseRed = group.find(({effect}) => effect === 1);
    return {
      key,
      noise: {block_sd, layout_sd, mood, shape},
      ...(falseRed ? {falseRed} : {}),
      found: effects.map((effect) => group.find((one) => one.effect === effect)),
    };
  });
}

const falseShare = ({false_red, gates}: PowerCase) => false_red / gates;
const foundShare = ({caught, gates}: PowerCase) => caught / gates;

/** A share as the table has it. */
export const falseWords = (one: PowerCase | undefined): string => (one ? withUnit(points(falseShare(one)), '%') : '·');
export const foundWords = (one: PowerCase | undefined): string => (one ? withUnit(points(foundShare(one)), '%') : '·');

/** What the table comes to: the worst kind of noise decides. */
export function simulatedSentences(cases: PowerCase[]): string[] {
  const rows = simulatedRows(cases);
  const unchanged = rows.flatMap(({falseRed}) => (falseRed ? [falseRed] : []));
  const all = unchanged.reduce((sum, {gates}) => sum + gates, 0);
  const red = unchanged.reduce((sum, {false_red}) => sum + false_red, 0);
  const worst = Math.max(...unchanged.map(falseShare));
  const first =
    unchanged.length === 0
      ? 'No gate was simulated in which nothing was changed.'
      : `Of ${count(all)} simulated gates in which nothing was changed, ${red === 0 ? 'none' : count(red)} said regression; under the worst of ${count(unchanged.length)} kinds of noise, ${withUnit(points(worst), '%')} did.`;
  const found = effectsOf(cases).map((effect, index) => {
    const shares = rows.flatMap(({found: all}) => (all[index] ? [foundShare(all[index])] : []));
    return `A series slower by ${effectWords(effect)} was found in ${withUnit(`${points(Math.min(...shares))} to ${points(Math.max(...shares))}`, '%')} of the gates, by kind of noise.`;
  });
  return [first, ...found];
}
