// What may be said of the gate's errors? Order, digits and sentences of a calibration; no sentence claims more than its interval.
import type {CalibrationGate, CalibrationNoise, CalibrationRate, GateClass, GateOutcome, InjectedAs} from '../generated/records';
import {count, fixed, withUnit, word} from './format';

/** Gates without a false alarm from which the rate is below 1 %, one-sided at 95 %: 1 − 0.05^(1/299) < 0.01. */
export const ENOUGH = 299;

export const OUTCOME_WORDS: Record<GateOutcome, string> = {
  pass: 'pass',
  improvement: 'improvement',
  regression: 'regression',
  inconclusive: 'inconclusive',
  not_measured: 'not measured',
};

/** How something is injected, and what that costs. */
export const KINDS: Record<InjectedAs, {name: string; meaning: string}> = {
  spin: {name: 'work', meaning: 'CPU time'},
  sleep: {name: 'sleep', meaning: 'waiting, which CPU time does not show'},
  tail: {name: 'late replies', meaning: 'so many of the replies leave 5 ms later'},
};
const KIND_ORDER: (InjectedAs | undefined)[] = [undefined, 'spin', 'sleep', 'tail'];

type Injected = Pick<CalibrationRate, 'injected_percent' | 'injected_as'>;

/** Nothing first, then work, then sleep, each by size. */
export function sortedRates(rates: CalibrationRate[]): CalibrationRate[] {
  return [...rates].sort(
    (a, b) => KIND_ORDER.indexOf(a.injected_as) - KIND_ORDER.indexOf(b.injected_as) || a.injected_percent - b.injected_percent,
  );
}

export function newestFirst<T extends Pick<CalibrationGate, 'started_at' | 'id'>>(gates: T[]): T[] {
  return [...gates].sort((a, b) => Date.parse(b.started_at) - Date.parse(a.started_at) || (a.id < b.id ? 1 : -1));
}

/** `5`, `7.5`: an injected size in percent, which was given and not measured. */
export function size(percent: number): string {
  return String(Number(percent.toFixed(2)));
}

/** `nothing`, `5 % as work`. */
export function injectedWords({injected_percent: percent, injected_as: as}: Injected): string {
  return as === undefined ? 'nothing' : `${withUnit(size(percent), '%')} as ${KINDS[as].name}`;
}

/** A share as percent without its sign; digits grow towards both ends, where a tenth of a point is a large part of what is left. */
export function points(share: number): string {
  const percent = share * 100;
  const fromEnd = Math.min(percent, 100 - percent);
  if (fromEnd <= 0) return fixed(percent, 0);
  return fixed(percent, fromEnd < 0.095 ? 2 : fromEnd < 9.95 ? 1 : 0);
}

/** `0–8.8 %`. */
export function interval({rate_low: low, rate_high: high}: Pick<CalibrationRate, 'rate_low' | 'rate_high'>): string {
  return withUnit(`${points(low)}–${points(high)}`, '%');
}

/** Share of the gates that said regression; undefined where there was no gate. */
export function share({regression, gates}: Pick<CalibrationRate, 'regression' | 'gates'>): number | undefined {
  return gates > 0 ? regression / gates : undefined;
}

export function isFalseAlarm({injected_as: as}: Injected): boolean {
  return as === undefined;
}

/** What the gates say in which nothing was injected. */
export function falseAlarms(rates: CalibrationRate[]): string[] {
  const rate = rates.find(isFalseAlarm);
  const found = rate && share(rate);
  if (!rate || found === undefined) return ['No gate was carried out with nothing injected: how often the gate raises a false alarm is not known.'];
  const {gates, regression, rate_high: high} = rate;
  const rated = regression > 0 ? `a false-alarm rate of ${withUnit(points(found), '%')}` : 'the false-alarm rate';
  const said = `With nothing injected, ${regression === 0 ? 'none' : word(regression)} of ${count(gates)} ${gates === 1 ? 'gate' : 'gates'} said regression: ${rated}${
    regression > 0 ? ', with' : ' lies in'
  } an exact ${withUnit('95', '%')} interval of ${interval(rate)}.`;
  if (regression > 0) return [said];
  if (gates < ENOUGH) return [said, `Whether it is below ${withUnit('1', '%')} is not known: that takes ${ENOUGH} gates without a false alarm.`];
  // The interval has two sides of 2.5 % each, so it may reach beyond what one side of 5 % excludes.
  const reaches = high >= 0.01 ? `; the two-sided interval still reaches to ${withUnit(points(high), '%')}` : '';
  return [said, `None in at least ${ENOUGH}: the rate is below ${withUnit('1', '%')}, by the one-sided bound at ${withUnit('95', '%')}${reaches}.`];
}

/** A sentence per kind: which sizes were called a regression how often. */
export function detections(rates: CalibrationRate[]): string[] {
  const injected = sortedRates(rates).filter((rate) => !isFalseAlarm(rate) && rate.gates > 0);
  if (injected.length === 0) return ['No gate was carried out with a slowdown injected: how often the gate finds one is not known.'];
  return (['spin', 'sleep', 'tail'] as const).flatMap((kind) => {
    const told = injected
      .filter(({injected_as: as}) => as === kind)
      .map((rate) => `${withUnit(size(rate.injected_percent), '%')} in ${count(rate.regression)} of ${count(rate.gates)} gates (${interval(rate)})`);
    return told.length > 0 ? [`A slowdown by ${KINDS[kind].name} was called a regression: ${told.join(', ')}.`] : [];
  });
}

/** What a gate said, and whether that was an error, as far as one gate tells. */
export function verdictWords({outcome, ...injected}: Injected & Pick<CalibrationGate, 'outcome'>): string {
  const errors: Partial<Record<GateOutcome, string>> = isFalseAlarm(injected)
    ? {regression: 'false alarm', improvement: 'false'}
    : {pass: 'missed', improvement: 'wrong way round'};
  const error = errors[outcome];
  return error === undefined ? OUTCOME_WORDS[outcome] : `${OUTCOME_WORDS[outcome]} (${error})`;
}

/** A deviation or a change, as percent: `1.8 %`. */
export function small(share: number): string {
  const percent = Math.abs(share * 100);
  return withUnit(fixed(share * 100, percent === 0 ? 0 : percent < 0.095 ? 2 : percent < 99.5 ? 1 : 0), '%');
}

/** `5.4 %` of a ratio of 1.054; `none` where no change of any size would be found. */
export function detectableWords({detectable}: Pick<CalibrationNoise, 'detectable'>): string {
  return detectable === undefined ? 'none' : small(detectable - 1);
}

/** What stays unknown when all of the page is read. */
export function unknowns({rates, noise}: {rates: CalibrationRate[]; noise: {class: GateClass}[]}): string[] {
  const injected = sortedRates(rates).filter((rate) => !isFalseAlarm(rate) && rate.gates > 0);
  const missing = (['spin', 'sleep', 'tail'] as const).filter((kind) => !injected.some(({injected_as: as}) => as === kind));
  const advisory = noise.filter((one) => one.class === 'advisory').length;
  return [
    ...(injected.length > 0 ? [`Sizes other than ${list(injected.map(injectedWords))}: between and beyond what was injected nothing is known, so no line joins the points.`] : []),
    ...missing.map((kind) => `Slowdowns by ${KINDS[kind].name} (${KINDS[kind].meaning}): no gate was carried out with one.`),
    ...(advisory > 0 ? [advisoryWords(advisory, noise.length)] : []),
    'Slowdowns of a part: every turn of an I/O thread was made slower by a share of its CPU time. A change that slows one command alone, takes memory, or delays the start was not injected.',
    'Improvements: head was never made faster, so how often the gate finds a gain was not measured.',
    'Other machines, and this one on another day: an interval takes gates for independent trials of a machine that does not change.',
  ];
}

function advisoryWords(advisory: number, all: number): string {
  const [subject, alone] = advisory === 1 ? ['is', 'it'] : ['are', 'them'];
  return `What shows in advisory series alone: ${word(advisory)} of ${word(all)} series ${subject} too noisy to find ${withUnit('8', '%')}, and a gate passes without a word on ${alone}.`;
}

/** `a, b and c`. */
function list(words: string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}
