// Verdicts: ours against each rival of its class, point by point, on the metrics that the scenario is about.
//
// A verdict needs an interval. With fewer than six trials on either side there is only a range, and a range decides
// nothing; where the load generator set the pace, its throughput is nobody's and CPU per operation is judged instead.
import type {Ratio, Run, TargetRecord} from '../generated/records';
import {AT_CEILING, isOfGenerator, type Lead, leadsOf, recordLeads} from './leading';
import {rowLabel} from './figures';
import {generatorAtCeiling, measurement, type PageCell, type PageScenario, type Point, points, roleOf, targetOf} from './record';

/** Fewest trials of which the median has an interval of at least 95 %. */
export const LEAST_TRIALS = 6;

/** `few`: too few trials for an interval. `ceiling`: the load generator set the pace, and nothing else was compared. */
export type Word = 'better' | 'worse' | 'undecided' | 'few' | 'ceiling';

export interface Verdict {
  point: Point;
  word: Word;
  /** Ours to theirs. Absent where nothing can be compared. */
  ratio?: Ratio;
  /** Trials of the side that has fewer. */
  n: number;
}

/** One of ours against one rival, on one metric. */
export interface Comparison {
  subject: TargetRecord;
  rival: TargetRecord;
  lead: Lead;
  verdicts: Verdict[];
}

/** Every comparison of a record, by subject, then metric, then rival; pairs without a common point are left out. */
export function comparisons(record: PageScenario, run: Run): Comparison[] {
  const all = points(record, run);
  const find = ratioIndex(record);
  const present = new Set(record.cells.map(({target}) => target));
  const taking = run.targets.filter(({key, available}) => available && present.has(key));
  const found: Comparison[] = [];
  for (const subject of taking.filter(({role}) => role === 'subject')) {
    const rivals = taking.filter((rival) => rival.role === 'rival' && isSameClass(rival, subject));
    for (const point of all) {
      for (const rival of rivals) {
        for (const {lead, verdict} of judged(record, point, subject, rival, find)) {
          const own = found.find((one) => one.subject === subject && one.rival === rival && one.lead === lead);
          if (own) own.verdicts.push(verdict);
          else found.push({subject, rival, lead, verdicts: [verdict]});
        }
      }
    }
  }
  // CPU per operation, where it stands in for throughput, comes last.
  const leads = recordLeads(record);
  const rank = ({subject, lead}: Comparison) => taking.indexOf(subject) * 100 + (leads.includes(lead) ? leads.indexOf(lead) : leads.length);
  return found.sort((a, b) => rank(a) - rank(b));
}

/** Ours in other ways against ours natively and without a switch: what a scenario without rivals is about. */
export function ownComparisons(record: PageScenario, run: Run): Comparison[] {
  const cells = new Map(record.cells.map((cell) => [cell.key, cell]));
  const all = points(record, run);
  const found: Comparison[] = [];
  for (const ratio of record.ratios.filter(({kind, operation}) => (kind === 'overhead' || kind === 'variant') && operation === undefined)) {
    const [ours, plain] = [cells.get(ratio.numerator), cells.get(ratio.denominator)];
    const point = all.find((one) => ours !== undefined && one.cells.includes(ours));
    if (!ours || !plain || !point || roleOf(run, ours.target) !== 'subject') continue;
    const [own] = leadsOf(record, ours);
    const busy = own !== undefined && isOfGenerator(own) && (generatorAtCeiling(ours) || generatorAtCeiling(plain));
    const lead = busy ? AT_CEILING : own;
    if (lead === undefined || lead.metric !== ratio.metric) continue;
    const [subject, rival] = [named(run, ours), named(run, plain)];
    const verdict = passed(point, lead, ratio, ours, plain);
    const same = found.find((one) => one.subject.title === subject.title && one.lead === lead);
    if (same) same.verdicts.push(verdict);
    else found.push({subject, rival, lead, verdicts: [verdict]});
  }
  return found;
}

/** A target under the name of one of its rows: `PlumbKV 0.4.0, container, host network`. */
function named(run: Run, cell: PageCell): TargetRecord {
  const target = targetOf(run, cell.target) as TargetRecord;
  const title = rowLabel(cell, run);
  return {...target, key: `${target.key}/${title}`, title};
}

/** Servers over a socket and engines in a process are different things, and so are volatile and durable ones. */
export function isSameClass(one: TargetRecord, other: TargetRecord): boolean {
  return one.transport === other.transport && one.durability === other.durability;
}

type FindRatio = (metric: string, above: PageCell, below: PageCell) => Ratio | undefined;

function ratioIndex(record: PageScenario): FindRatio {
  const id = (metric: string, numerator: string, denominator: string) => `${metric}\n${numerator}\n${denominator}`;
  const stored = new Map(
    record.ratios
      .filter(({kind, operation}) => kind === 'rival' && operation === undefined)
      .map((ratio) => [id(ratio.metric, ratio.numerator, ratio.denominator), ratio]),
  );
  return (metric, above, below) => stored.get(id(metric, above.key, below.key));
}

function judged(record: PageScenario, point: Point, subject: TargetRecord, rival: TargetRecord, find: FindRatio): {lead: Lead; verdict: Verdict}[] {
  const native = ({key}: TargetRecord) => point.cells.find((cell) => cell.target === key && cell.mode === 'native' && cell.status === 'ok');
  const [ours, theirs] = [native(subject), native(rival)];
  if (!ours || !theirs || ours.run_id !== theirs.run_id) return [];
  const busy = generatorAtCeiling(ours) || generatorAtCeiling(theirs);
  return leadsOf(record, ours).flatMap((lead) => {
    if (busy && isOfGenerator(lead)) {
      const cpu = find(AT_CEILING.metric, ours, theirs);
      if (!cpu) return [{lead, verdict: {point, word: 'ceiling' as const, n: trialsOf(lead, ours, theirs)}}];
      return [{lead: AT_CEILING, verdict: passed(point, AT_CEILING, cpu, ours, theirs)}];
    }
    const ratio = find(lead.metric, ours, theirs);
    return ratio ? [{lead, verdict: passed(point, lead, ratio, ours, theirs)}] : [];
  });
}

function passed(point: Point, lead: Lead, ratio: Ratio, ours: PageCell, theirs: PageCell): Verdict {
  const n = Math.min(ratio.n, trialsOf(lead, ours, theirs));
  return {point, ratio, n, word: wordOf(ratio, n, lead.direction)};
}

function trialsOf({metric}: Lead, ...cells: PageCell[]): number {
  return Math.min(...cells.map((cell) => measurement(cell, metric)?.n ?? 0));
}

/** What a ratio of ours to theirs says, with `n` trials on the side that has fewer. */
export function wordOf(ratio: Pick<Ratio, 'low' | 'high' | 'spread'>, n: number, direction: Lead['direction']): Word {
  if (ratio.spread !== 'interval' || n < LEAST_TRIALS) return 'few';
  if (ratio.low > 1) return direction === 'higher' ? 'better' : 'worse';
  if (ratio.high < 1) return direction === 'higher' ? 'worse' : 'better';
  return 'undecided';
}

/** Whether a word is a verdict: one that an interval stands behind. */
export function isDecided(word: Word): boolean {
  return word === 'better' || word === 'worse';
}
