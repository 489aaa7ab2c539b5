// Verdict sentences: a comparison of ours with a rival in a few short sentences, the points that we lose by name.
import type {Spread} from '../generated/records';
import {count, ratio as ratioText, word as numberWord} from './format';
import type {ShortLabels} from './labels';
import type {Lead} from './leading';
import {shortTitle} from './record';
import type {Comparison, Verdict, Word} from './verdict';

/** One paragraph of what a page found. */
export interface Finding {
  /** `verdict`: passed on intervals. `figures`: what was measured, without one. `remark`: what is missing or to be minded. */
  kind: 'verdict' | 'figures' | 'remark';
  text: string;
  /** Fewest trials behind it, and what its spread is. Absent of a remark. */
  n?: number;
  spread?: Spread;
}

/** Points that are named one by one; the others are in the table. */
const NAMED = 4;

/** What the comparisons of a record say: a paragraph per rival on a subject's first metric (rivals that we lose to first),
 * one for all rivals on each further metric, and one for all rivals where no comparison has an interval. */
export function verdictFindings(all: Comparison[], labels: ShortLabels): Finding[] {
  const judged = all.filter(({verdicts}) => verdicts.some(({word}) => isJudged(word)));
  const first = (one: Comparison) => all.find(({subject}) => subject === one.subject)?.lead;
  const loses = (one: Comparison) => one.verdicts.some(({word}) => word === 'worse');
  const own = judged.filter((one) => one.lead === first(one));
  const main = [...own.filter(loses), ...own.filter((one) => !loses(one))].map((one) => judgedFinding({...one, told: tell(one, labels)}));
  const further = grouped(judged.filter((one) => one.lead !== first(one))).map((group) => judgedFinding(pooled(group, labels)));
  return [...main, ...further, ...fewFindings(all.filter((one) => !judged.includes(one)))];
}

const isJudged = (word: Word) => word === 'better' || word === 'worse' || word === 'undecided';

/** A verdict with the name of its point, as a sentence says it. */
interface Told extends Verdict {
  where: string;
}

/** One comparison, or several on one metric as one. */
interface Side {
  /** `at all 6 points`, or of several rivals `in all 6 comparisons`. */
  where: (number: number, isAll: boolean) => string;
  ours: string;
  theirs: string;
  lead: Lead;
  told: Told[];
}

function tell({verdicts}: Comparison, labels: ShortLabels): Told[] {
  return verdicts.map((verdict) => ({...verdict, where: decapital(labels.short(verdict.point.label))}));
}

function pooled(group: Comparison[], labels: ShortLabels): Comparison & {told: Told[]; pool: number} {
  const [first] = group as [Comparison, ...Comparison[]];
  const told = group.flatMap((one) => tell(one, labels).map((each) => ({...each, where: `${each.where} (${shortTitle(one.rival, one.rival.key)})`})));
  return {...first, told, pool: group.length};
}

function judgedFinding({subject, rival, lead, told, pool = 1}: Comparison & {told: Told[]; pool?: number}): Finding {
  const theirs = pool > 1 ? (pool === 2 ? 'both rivals' : `all ${numberWord(pool)} rivals`) : shortTitle(rival, rival.key);
  const where = (number: number, isAll: boolean) => {
    const [preposition, noun] = pool > 1 ? ['in', number === 1 ? 'comparison' : 'comparisons'] : ['at', number === 1 ? 'point' : 'points'];
    return `${preposition} ${isAll ? (number === 2 ? 'both ' : `all ${count(number)} `) : ''}${noun}`;
  };
  const side = {where, ours: shortTitle(subject, subject.key), theirs, lead, told};
  const of = (word: Word) => told.filter((verdict) => verdict.word === word);
  const [few, ceiling] = [of('few'), of('ceiling')];
  const judged = told.filter(({word}) => isJudged(word));
  const text = [
    judged.length === 1 ? single(side, judged) : several(side, [of('better'), of('worse'), of('undecided')]),
    few.length > 0 ? `${atMore(few.length)}: ${trials(few)}, no verdict.` : '',
    ceiling.length > 0 ? `${atMore(ceiling.length)}: not judged, since the load generator set the pace.` : '',
  ];
  return {kind: 'verdict', text: text.filter(Boolean).join(' '), n: Math.min(...judged.map(({n}) => n)), spread: 'interval'};
}

function single({ours, theirs, lead}: Side, [verdict]: Told[]): string {
  if (!verdict) return '';
  if (verdict.word === 'undecided') return `${ours} and ${theirs} are undecided: ${figureOf(verdict)} ${lead.of}, an interval that includes 1.`;
  return `${ours} ${verdict.word === 'better' ? lead.better : lead.worse} than ${theirs}: ${figureOf(verdict)} ${lead.of}.`;
}

function several({where, ours, theirs, lead}: Side, [better, worse, undecided]: [Told[], Told[], Told[]]): string {
  const total = better.length + worse.length + undecided.length;
  const everywhere = where(total, true);
  if (better.length === total) return `${ours} ${lead.better} than ${theirs} ${everywhere}: ${between(better, lead)}.`;
  if (worse.length === total) return `${ours} ${lead.worse} than ${theirs} ${everywhere}: ${lost(worse, lead)}.`;
  if (undecided.length === total) return `${ours} and ${theirs} are undecided ${everywhere}: ${between(undecided, lead)}, and each interval includes 1.`;
  const rest = undecided.length === 0 ? '' : undecided.length === 1 ? ' The other is undecided.' : ` The other ${count(undecided.length)} are undecided.`;
  const [preposition = '', ...noun] = where(total, false).split(' ');
  const at = (some: Told[]) => `${preposition} ${count(some.length)} of ${count(total)} ${noun.join(' ')}`;
  if (worse.length === 0) return `Against ${theirs}, ${ours} ${lead.better} ${at(better)}: ${between(better, lead)}.${rest}`;
  if (better.length === 0) return `Against ${theirs}, ${ours} ${lead.worse} ${at(worse)}: ${lost(worse, lead)}.${rest}`;
  const decided = undecided.length === 0 ? everywhere.replace(/^\S+ /, '') : `${count(better.length + worse.length)} of ${count(total)} ${noun.join(' ')}`;
  return `Against ${theirs}, ${decided} are decided: ${ours} ${lead.better} ${preposition} ${count(better.length)}, ${withoutVerb(lead)} ${preposition} ${count(worse.length)}. Lost: ${lost(worse, lead)}. Won: ${between(better)}.`;
}

/** `is slower` after `is faster`: `slower`. */
function withoutVerb({better, worse}: Lead): string {
  const [verb = ''] = better.split(' ');
  return worse.startsWith(`${verb} `) ? worse.slice(verb.length + 1) : worse;
}

/** `1.31× (1.28–1.35) to 4.7× (4.6–4.8) the throughput`. */
function between(verdicts: Told[], lead?: Lead): string {
  const sorted = [...verdicts].sort((a, b) => (a.ratio?.median ?? 1) - (b.ratio?.median ?? 1));
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (!least || !most) return '';
  const of = lead ? ` ${lead.of}` : '';
  return least === most ? `${figureOf(least)}${of}` : `${figureOf(least)} to ${figureOf(most)}${of}`;
}

/** The points that we lose by most, by name: `0.75× (0.73–0.77) the throughput at Zipf reads; 0.9× (0.8–0.95) at …`. */
function lost(verdicts: Told[], lead: Lead): string {
  const far = ({ratio}: Told) => Math.abs(Math.log(ratio?.median ?? 1));
  const sorted = [...verdicts].sort((a, b) => far(b) - far(a));
  const named = sorted.slice(0, NAMED).map((verdict, index) => `${figureOf(verdict)}${index === 0 ? ` ${lead.of}` : ''} at ${verdict.where}`);
  const rest = sorted.length - named.length;
  return `${named.join('; ')}${rest > 0 ? `; and at ${numberWord(rest)} more` : ''}`;
}

/** `0.75× (0.73–0.77)`. */
function figureOf({ratio}: Verdict): string {
  if (!ratio) return '';
  const {value, low, high} = ratioText(ratio);
  return `${value} (${bare(low)}–${bare(high)})`;
}

const bare = (text: string) => text.replace('×', '');

/** Comparisons of one subject on one metric, rival by rival. */
function grouped(all: Comparison[]): Comparison[][] {
  const groups = new Map<string, Comparison[]>();
  for (const one of all) {
    const id = `${one.subject.key}/${one.lead.noun}`;
    groups.set(id, [...(groups.get(id) ?? []), one]);
  }
  return [...groups.values()];
}

/** `Three trials, no verdict: throughput of PlumbKV 0.4.0 is 0.98 to 1.35× that of Redis 7.0.15; 1.1× that of Valkey 9.1`. */
function fewFindings(all: Comparison[]): Finding[] {
  return grouped(all).flatMap((group): Finding[] => {
    const [first] = group;
    const few = group.flatMap(({verdicts}) => verdicts.filter(({word}) => word === 'few'));
    if (!first) return [];
    if (few.length === 0) return [{kind: 'remark', text: `Not judged by ${first.lead.noun}: the load generator set the pace at every point.`}];
    const said = group.flatMap(({rival, verdicts}) => {
      const span = spanOf(verdicts);
      return span === undefined ? [] : [`${span} that of ${shortTitle(rival, rival.key)}`];
    });
    const text = `${capital(trials(few))}, no verdict: ${first.lead.noun} of ${shortTitle(first.subject, first.subject.key)} is ${said.join('; ')}.`;
    return [{kind: 'figures', text, n: Math.min(...few.map(({n}) => n)), spread: 'range'}];
  });
}

/** From the lowest to the highest end of the ranges; one ratio of one trial is that ratio. */
function spanOf(verdicts: Verdict[]): string | undefined {
  const ratios = verdicts.flatMap(({ratio, word}) => (ratio && word === 'few' ? [ratio] : []));
  const [low, high] = [Math.min(...ratios.map(({low}) => low)), Math.max(...ratios.map(({high}) => high))];
  if (ratios.length === 0) return undefined;
  const one = (value: number) => ratioText({median: value, low: value, high: value}).value;
  return one(low) === one(high) ? one(low) : `${bare(one(low))} to ${one(high)}`;
}

function trials(verdicts: Verdict[]): string {
  const [least, most] = [Math.min(...verdicts.map(({n}) => n)), Math.max(...verdicts.map(({n}) => n))];
  const counted = least === most ? numberWord(least) : `${numberWord(least)} to ${numberWord(most)}`;
  return `${counted} ${most === 1 ? 'trial' : 'trials'}`;
}

/** `At two more points`. */
function atMore(number: number): string {
  return `At ${numberWord(number)} more ${number === 1 ? 'point' : 'points'}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `Random reads` → `random reads` within a sentence; `SET 64 B` stays. */
export function decapital(text: string): string {
  return /^[A-Z][a-z]/.test(text) && !text.startsWith('Zipf') ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}
