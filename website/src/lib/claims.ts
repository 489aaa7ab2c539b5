// Claims as the page tells them: their state over versions, their groups, and figures beside bounds in one unit. Pure.
import catalogue from '../generated/scenarios.json';
import type {Claim, ClaimOnMachine, Evidence, Figure as Measured} from '../generated/records';
import {type Figure, figure, fixed, ratio, type Scale, scaleFor, word} from './format';

/** `held`, `failed`: in an earlier version; the newest one of every machine has no verdict. */
export type State = 'holds' | 'fails' | 'held' | 'failed' | 'never';

export const STATES: State[] = ['holds', 'fails', 'held', 'failed', 'never'];

export type Stated = Pick<Claim, 'verdict' | 'version' | 'earlier'>;

export function stateOf({verdict, earlier}: Stated): State {
  if (verdict !== 'not_measured') return verdict;
  if (!earlier || earlier.verdict === 'not_measured') return 'never';
  return earlier.verdict === 'holds' ? 'held' : 'failed';
}

/** `holds in 0.5.0`, `held in 0.4.0, not measured since`. */
export function stateWords(claim: Stated): string {
  const {version, earlier} = claim;
  const since = `in ${earlier?.version}, not measured since`;
  const words = {holds: `holds${version ? ` in ${version}` : ''}`, fails: `fails${version ? ` in ${version}` : ''}`, held: `held ${since}`, failed: `failed ${since}`, never: 'no verdict yet'};
  return words[stateOf(claim)];
}

/** `89 claims: 34 hold, three fail; not measured since an earlier version: 44 that held and three that failed; no verdict yet: five.` */
export function tally(claims: Stated[]): string {
  const many = (state: State) => claims.filter((claim) => stateOf(claim) === state).length;
  const [holds, fails, held, failed, never] = STATES.map(many) as [number, number, number, number, number];
  const parts = [
    `${counted(holds, 'holds', 'hold')}, ${counted(fails, 'fails', 'fail')}`,
    held + failed > 0 && `not measured since an earlier version: ${[held > 0 && `${word(held)} that held`, failed > 0 && `${word(failed)} that failed`].filter(Boolean).join(' and ')}`,
    never > 0 && `no verdict yet: ${word(never)}`,
  ];
  return `${claims.length} ${claims.length === 1 ? 'claim' : 'claims'}: ${parts.filter(Boolean).join('; ')}.`;
}

function counted(many: number, one: string, more: string): string {
  return many === 0 ? `none ${one}` : `${word(many)} ${many === 1 ? one : more}`;
}

export type GroupKey = 'server' | 'store' | 'runner';

export const GROUPS: {key: GroupKey; title: string; what: string}[] = [
  {key: 'server', title: 'Server', what: 'Requests over the wire, memory under the cap, containers'},
  {key: 'store', title: 'Store', what: 'The durable store and its parts, called inside a process'},
  {key: 'runner', title: 'Runner', what: 'What the load generator itself costs'},
];

export function groupOf({scenario, metric}: Pick<Claim, 'scenario' | 'metric'>): GroupKey {
  if (metric.startsWith('generator_')) return 'runner';
  const group = catalogue.scenarios.find(({key}) => key === scenario)?.group;
  return scenario === 'components' || group === 'durable' ? 'store' : 'server';
}

/** What decides a claim, as far as its figures need it. */
export type Bounded = Pick<Claim, 'metric' | 'bound' | 'comparison' | 'denominator' | 'minus' | 'every_trial' | 'slack_percent'>;

/** `at most 4.9 ms`, `at least 1.5×`, `at least −3 points`. */
export function boundText(claim: Bounded): string {
  return `${claim.comparison === '<=' ? 'at most' : 'at least'} ${valueText(claim, claim.bound)}`;
}

/** A measured figure in the unit of its bound. */
export function figureText(claim: Bounded, measured: Measured): Figure {
  if (claim.minus) return inPoints(measured);
  if (claim.denominator) return ratio(measured);
  const {value, low, high} = figure(measured, scaleOf(claim));
  const unit = unitText(claim);
  return {value: `${value}${unit}`, low, high};
}

/** The evidence that is nearest to failing, of those with a figure. */
export function closest(claim: Bounded, evidence: Evidence[]): Evidence | undefined {
  const sign = claim.comparison === '<=' ? 1 : -1;
  return evidence
    .filter(({figure: found}) => found)
    .reduce<Evidence | undefined>((worst, one) => (worst === undefined || sign * ((one.figure?.median ?? 0) - (worst.figure?.median ?? 0)) > 0 ? one : worst), undefined);
}

/** `holds`, and where more than the median counts, what else was looked at. */
export function verdictText(claim: Bounded, {verdict, reason, figure: found}: Evidence): string {
  const words = {holds: 'holds', fails: 'fails', not_measured: 'not measured'}[verdict];
  if (!found || verdict === 'not_measured') return `${words}: ${reason}`;
  if (claim.every_trial) {
    const worst = worstTrial(reason);
    return worst === undefined ? words : `${words}: worst trial ${valueText(claim, worst)}`;
  }
  const isUpper = claim.comparison === '<=';
  const beyond = (value: number) => (isUpper ? value - claim.bound : claim.bound - value);
  if (beyond(found.median) > 0 && verdict === 'fails') return `${words}: the median is beyond the bound`;
  const far = isUpper ? found.high : found.low;
  if (found.n < 2 || beyond(far) <= 0) return words;
  // Of a difference, points; else percent of the bound.
  const missed = claim.minus ? `${fixed(beyond(far) * 100, 1)} points` : `${fixed((beyond(far) / Math.abs(claim.bound)) * 100, 1)} %`;
  return `${words}: the interval reaches ${valueText(claim, far)}, ${missed} beyond the bound; ${fixed(claim.slack_percent, 0)} ${claim.minus ? 'points' : '%'} are allowed`;
}

/** `all four cells hold`, `two of eight cells fail`, of one machine. */
export function machineWords({evidence, verdict, reason}: ClaimOnMachine): string {
  if (verdict === 'not_measured' || evidence.length === 0) return reason;
  const failed = evidence.filter((one) => one.verdict === 'fails').length;
  if (evidence.length === 1) return verdict;
  if (failed > 0) return `${word(failed)} of ${word(evidence.length)} cells ${failed === 1 ? 'fails' : 'fail'}`;
  return `all ${word(evidence.length)} cells hold`;
}

/** The machines that the state is of: those of the newest version, or of the earlier one that has a verdict. */
export function judgedMachines(claim: Claim): ClaimOnMachine[] {
  const machines = claim.verdict === 'not_measured' ? (claim.earlier?.machines ?? []) : claim.machines;
  return machines.filter(({verdict}) => verdict !== 'not_measured');
}

// The figure has median and interval; the worst of the trials is in the sentence alone.
function worstTrial(reason: string): number | undefined {
  const found = /\btrials?, (-?[\d.]+(?:e-?\d+)?),/.exec(reason)?.[1];
  return found === undefined ? undefined : Number(found);
}

function valueText(claim: Bounded, value: number): string {
  if (claim.minus) return `${signed(value * 100)} points`;
  if (claim.denominator) return `${Number(value.toPrecision(3))}×`;
  const scaled = value * scaleOf(claim).factor;
  return `${Number.isInteger(scaled) ? fixed(scaled, 0) : signed(scaled)}${unitText(claim)}`;
}

function signed(value: number): string {
  const text = String(Math.abs(Number(value.toPrecision(3))));
  return value < 0 ? `−${text}` : text;
}

function inPoints({median, low, high}: Measured): Figure {
  const shown = (value: number) => fixed(value * 100, 1);
  return {value: `${shown(median)} points`, low: shown(low), high: shown(high)};
}

function scaleOf({metric, bound}: Bounded): Scale {
  return scaleFor(unitOf(metric), Math.abs(bound));
}

function unitText(claim: Bounded): string {
  const {unit} = scaleOf(claim);
  return unit ? `\u00a0${unit}` : '';
}

// A name carries its unit.
function unitOf(metric: string): string {
  if (metric.endsWith('_per_second')) return '1/s';
  if (/(?:^|_)ns(?:_|$)/.test(metric)) return 'ns';
  if (/(?:^|_)bytes(?:_|$)/.test(metric)) return 'bytes';
  if (/(?:^|_)(?:ratio|share)(?:_|$)/.test(metric)) return 'share';
  return /(?:^|_)ms(?:_|$)/.test(metric) ? 'ms' : 'count';
}
