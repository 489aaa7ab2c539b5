// Texts of a gate's verdict on the page: changes with their intervals, figures in their unit, functions by what they take more.
import type {GateFunction, GateProfile} from '../generated/records';
import type {ShownVerdict} from '../../plugins/benchmarks/gate';
import {decimals, fixed, scaleFor, withUnit} from './format';

/** Order in which series are read: what is wrong first. */
const ORDER: ShownVerdict['outcome'][] = ['regression', 'improvement', 'inconclusive', 'not_measured', 'pass'];

export function byImportance(verdicts: ShownVerdict[]): ShownVerdict[] {
  return [...verdicts].sort((a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome));
}

/** `+9.8 %` of a ratio of 1.098. */
export function signed(ratio: number): string {
  const percent = (ratio - 1) * 100;
  // A number from outside may have 300 digits.
  if (Math.abs(percent) >= 1e6) return withUnit(`${percent > 0 ? '+' : '−'}${Math.abs(percent).toExponential(1)}`, '%');
  const text = fixed(percent, 1);
  return withUnit(text.startsWith('−') || Number(text) === 0 ? text : `+${text}`, '%');
}

/** `+8.9 to +10.8 %`; nothing where there are too few blocks for an interval. */
export function spanWords({interval}: Pick<ShownVerdict, 'interval'>): string | undefined {
  if (interval === undefined) return undefined;
  const [low, high] = interval;
  return `${signed(low).replace(/\u00a0%$/, '')} to ${signed(high)}`;
}

/** `4.12 µs`, `not measured`. */
export function amount(value: number | undefined, unit: string): string {
  if (value === undefined) return 'not measured';
  const scale = scaleFor(unit, value);
  const scaled = value * scale.factor;
  if (Math.abs(scaled) >= 1e12) return withUnit(scaled.toExponential(2), scale.unit);
  return withUnit(fixed(scaled, decimals({median: scaled, low: scaled, high: scaled})), scale.unit);
}

/** Instructions per request, at most one decimal. */
export function instructions(value: number): string {
  if (Math.abs(value) >= 1e12) return value.toExponential(2);
  return fixed(value, Math.abs(value) < 100 && !Number.isInteger(value) ? 1 : 0);
}

/** `+120`, `−3.5`, `0`. */
export function difference({base, head}: GateFunction): string {
  const text = instructions(head - base);
  return head > base && Number(text.replaceAll(',', '')) !== 0 ? `+${text}` : text;
}

/** The functions that take the most more, first. */
export function byDifference({functions}: GateProfile): GateFunction[] {
  return [...functions].sort((a, b) => b.head - b.base - (a.head - a.base));
}
