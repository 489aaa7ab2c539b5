// Units: the one a person would choose for a set of figures, and what a stored value is multiplied by to be in it.

/** The unit of a column: what it is called and what a stored value is multiplied by. */
export interface Scale {
  unit: string;
  factor: number;
}

const NO_BREAK = '\u00a0';
const OPS = 'ops/s';

const times = (perNs: number): Scale[] => [
  {unit: 'ns', factor: perNs},
  {unit: 'µs', factor: perNs / 1e3},
  {unit: 'ms', factor: perNs / 1e6},
  {unit: 's', factor: perNs / 1e9},
];

const sizes = (per: string): Scale[] => [
  {unit: `bytes${per}`, factor: 1},
  {unit: `KiB${per}`, factor: 1 / 1024},
  {unit: `MiB${per}`, factor: 1024 ** -2},
  {unit: `GiB${per}`, factor: 1024 ** -3},
];

/** Units of a stored one, the smallest first. */
const CANDIDATES: Partial<Record<string, Scale[]>> = {
  '1/s': [
    {unit: OPS, factor: 1},
    {unit: `k${NO_BREAK}${OPS}`, factor: 1e-3},
    {unit: `M${NO_BREAK}${OPS}`, factor: 1e-6},
  ],
  ns: times(1),
  ms: times(1e6),
  bytes: sizes(''),
  'bytes/s': sizes('/s'),
  'B/s': sizes('/s'),
  count: [
    {unit: '', factor: 1},
    {unit: 'thousand', factor: 1e-3},
    {unit: 'million', factor: 1e-6},
  ],
  share: [{unit: '%', factor: 100}],
  ratio: [{unit: '', factor: 1}],
};

/** From here on a figure with one digit is shown as 10,000. */
const OUT_OF_REACH = 9_500;

/** Whether a figure's order of magnitude is within three of its unit's, as it is shown: 0.001 to 9,499. Nothing is nothing in any unit. */
export function isWithinReach(scaled: number): boolean {
  return scaled === 0 || (Math.abs(scaled) >= 0.001 && Math.abs(scaled) < OUT_OF_REACH);
}

/** How badly a figure reads: 1 to 999 reads best, less than 0.001 is shown as just that, and more than is within reach as seldom as can be. */
function cost(scaled: number): number {
  const size = Math.abs(scaled);
  if (size === 0 || (size >= 1 && size < 999.5)) return 0;
  if (size >= 0.1 && size < OUT_OF_REACH) return 1;
  if (size < 0.1) return size >= 0.01 ? 3 : isWithinReach(size) ? 6 : 9;
  return 1000;
}

/** The unit in which these stored values read best; of equals the smaller one. */
export function scaleOfAll(unit: string, values: number[]): Scale {
  const [first = {unit, factor: 1}, ...others] = CANDIDATES[unit] ?? [];
  // Counts stay whole as long as they can be read: 2,312 keys, not 2.31 thousand.
  const price = (scaled: number) => (unit === 'count' && Math.abs(scaled) >= 1 && isWithinReach(scaled) ? 0 : cost(scaled));
  const total = ({factor}: Scale) => values.reduce((sum, value) => sum + price(value * factor), 0);
  return others.reduce((best, next) => (total(next) < total(best) ? next : best), first);
}

/** The unit in which most of these values read well, though a few may be out of its reach. */
export function scaleOfMost(unit: string, values: number[]): Scale {
  const [first = {unit, factor: 1}, ...others] = CANDIDATES[unit] ?? [];
  const total = ({factor}: Scale) => values.reduce((sum, value) => sum + Math.min(cost(value * factor), 9), 0);
  return others.reduce((best, next) => (total(next) < total(best) ? next : best), first);
}

/** The unit of one figure, or of bars on an axis of which `largest` is the longest. */
export function scaleFor(unit: string, largest: number): Scale {
  return scaleOfAll(unit, [largest]);
}
