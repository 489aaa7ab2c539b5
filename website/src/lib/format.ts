// Formatting of numbers: digits cut at the uncertainty, units, and the words around them.
import {type Scale, scaleFor} from './units';

export {type Scale, scaleFor} from './units';

/** A median with its spread, in one unit. */
export interface Spreadable {
  median: number;
  low: number;
  high: number;
}

/** Texts of a figure, cut at its uncertainty. */
export interface Figure {
  value: string;
  low: string;
  high: string;
}

const NO_BREAK = '\u00a0';

/**
 * Decimals of a figure (negative: tens, hundreds). Digits end where the uncertainty begins, half the width of the spread:
 * 411,873 between 405,100 and 418,300 is 412,000. Two to four significant digits remain; without a spread three, since one
 * trial promises no more. The same rule as `bench-runner/src/stats/digits.rs`; both read the cases of `digits.json`.
 */
export function decimals({median, low, high}: Spreadable): number {
  const half = Math.abs(high - low) / 2;
  // Beside a wide spread a median of almost nothing has no digits of its own.
  const magnitude = exponent(Math.max(Math.abs(median), half));
  const position = half > 0 ? exponent(half) : magnitude - 2;
  return -Math.min(Math.max(position, magnitude - 3), magnitude - 1);
}

export function figure(measured: Spreadable, scale: Scale): Figure {
  const scaled = {
    median: measured.median * scale.factor,
    low: measured.low * scale.factor,
    high: measured.high * scale.factor,
  };
  // Counts stay whole: "3.0 keys" would claim a precision that counting does not have.
  const whole = [scaled.median, scaled.low, scaled.high].every(Number.isInteger);
  const exact = scaled.low === scaled.high;
  const places = whole ? (exact ? 0 : Math.min(decimals(scaled), 0)) : decimals(scaled);
  const text = (value: number) => (isAlmostNothing(value) && places > 3 ? '<0.001' : fixed(value, places));
  return {value: text(scaled.median), low: text(scaled.low), high: text(scaled.high)};
}

const isAlmostNothing = (value: number) => value > 0 && value < 0.001;

/** `value` with `places` decimals; negative places round to tens, hundreds …; thousands are grouped. */
export function fixed(value: number, places: number): string {
  if (!Number.isFinite(value)) return '–';
  const step = 10 ** -places;
  const rounded = places < 0 ? Math.round(value / step) * step : value;
  const text = Math.abs(rounded).toFixed(Math.min(Math.max(places, 0), 9));
  const [whole = '', part] = text.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  const zero = Number(text) === 0;
  return `${value < 0 && !zero ? '−' : ''}${grouped}${part ? `.${part}` : ''}`;
}

/** Labels of evenly spaced ticks: as many decimals as tell them apart, none for zero. */
export function tickLabels(values: readonly number[]): string[] {
  const [first = 0, second = first] = values;
  const step = Math.abs(second - first) || Math.abs(first) || 1;
  // Ticks are 1, 2 or 5 of a power of ten apart, so their first digit is enough.
  const places = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return values.map((value) => fixed(value, value === 0 ? 0 : places));
}

/** A tick of an axis of latencies, µs in: `500 ns`, `20 µs`, `1 ms`. */
export function latencyLabel(us: number): string {
  const {unit, factor} = scaleFor('ns', us * 1000 * 1.0001);
  return withUnit(String(Number((us * 1000 * factor).toPrecision(3))), unit);
}

/** A whole number with grouped thousands. */
export function count(value: number): string {
  return fixed(value, 0);
}

/**
 * `1.23×`, with as many digits as the spread allows: an interval that leaves 1 out never reads as if it ended there, nor do
 * its two ends read alike.
 */
export function ratio(measured: Spreadable): Figure {
  const {median, low, high} = measured;
  // Two decimals, or two digits of what is far below 1.
  const most = median < 0.1 ? 1 - exponent(median) : 2;
  let places = Math.min(decimals(measured), most);
  const endsAtOne = () => (low > 1 || high < 1) && [low, high].some((end) => fixed(end, places) === fixed(1, places));
  while (low !== high && places < most + 2 && (endsAtOne() || fixed(low, places) === fixed(high, places))) places += 1;
  const text = (value: number) => `${fixed(value, places)}×`;
  return {value: text(median), low: text(low), high: text(high)};
}

/** A number with its unit, never parted by a line break. */
export function withUnit(value: string, unit: string): string {
  return unit ? `${value}${NO_BREAK}${unit}` : value;
}

/** `2 MiB`, `1.5 KiB`: for sizes that were given, not measured. */
export function bytes(value: number): string {
  const scale = scaleFor('bytes', value);
  const scaled = value * scale.factor;
  return withUnit(fixed(scaled, Number.isInteger(scaled) ? 0 : scaled < 10 ? 2 : 1), scale.unit);
}

/** A share as percent. */
export function percent(share: number, places = 0): string {
  return withUnit(fixed(share * 100, places), '%');
}

/** `2026-11-20 12:34 UTC` of an RFC 3339 time. */
export function time(rfc3339: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/.exec(new Date(rfc3339).toISOString());
  return match ? `${match[1]} ${match[2]} UTC` : rfc3339;
}

/** `7 min 12 s`, `0.2 s`, `14 ms`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (seconds > 0 && seconds < 0.1) return withUnit(fixed(seconds * 1000, seconds < 0.01 ? 1 : 0), 'ms');
  if (seconds < 10) return withUnit(fixed(seconds, 1), 's');
  if (whole < 60) return withUnit(String(whole), 's');
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  return `${withUnit(String(minutes), 'min')}${rest ? ` ${withUnit(String(rest), 's')}` : ''}`;
}

/** `one`, `two` … `twelve`, then digits. */
export function word(value: number): string {
  const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];
  return words[value] ?? count(value);
}

/** A text that fits where nothing wraps, such as beside a line of a chart; the whole stands in the table below. */
export function shorten(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join('').trimEnd()}…`;
}

/** First digits of a digest or commit. */
export function short(digest: string, length = 12): string {
  return digest.replace(/^sha256:/, '').slice(0, length);
}

function exponent(value: number): number {
  return value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)) + 1e-12);
}
