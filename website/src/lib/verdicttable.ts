// Verdict tables: ours to each rival, a row per point and a column per rival, for each metric a scenario is about.
import type {Run} from '../generated/records';
import {ratio as ratioText, type Figure} from './format';
import {type ShortLabels, shortLabels} from './labels';
import type {Lead} from './leading';
import {type PageScenario, shortTitle} from './record';
import {type Comparison, comparisons, isDecided, type Verdict, type Word} from './verdict';

export interface VerdictCell {
  word: Word;
  n: number;
  /** `faster`, `undecided`, `3 trials`. */
  said: string;
  figure?: Figure;
}

export interface VerdictTable {
  /** `Throughput: PlumbKV 0.5.0 to each rival`. */
  title: string;
  /** `Above 1 PlumbKV 0.5.0 is faster.` */
  direction: string;
  /** What all of its points have in common. */
  shared: string;
  rivals: string[];
  rows: {label: string; cells: (VerdictCell | undefined)[]}[];
}

export function verdictTables(record: PageScenario, run: Run, labels: ShortLabels): VerdictTable[] {
  const groups = new Map<string, Comparison[]>();
  for (const one of comparisons(record, run)) {
    const id = `${one.subject.key}/${one.lead.noun}`;
    groups.set(id, [...(groups.get(id) ?? []), one]);
  }
  const all = [...groups.values()];
  // Two programs of one name, the server and the store within a process, are told apart by their whole titles.
  const names = [...new Map(all.flat().map(({subject}) => [subject.key, shortTitle(subject, subject.key)])).values()];
  const isShared = (name: string) => names.indexOf(name) !== names.lastIndexOf(name);
  return all.flatMap((group) => tableOf(group, labels, isShared));
}

function tableOf(group: Comparison[], labels: ShortLabels, isShared: (name: string) => boolean): VerdictTable[] {
  const [first] = group;
  if (!first) return [];
  const {lead, subject} = first;
  const ordered = [...new Map(group.flatMap(({verdicts}) => verdicts.map(({point}) => [point.id, point] as const))).values()];
  // What these points share among them is said once, above what all of the page share.
  const own = shortLabels(ordered.map(({label}) => labels.short(label)));
  const rows = ordered.map((point) => ({
    label: own.short(labels.short(point.label)),
    cells: group.map(({verdicts}) => {
      const found = verdicts.find((verdict) => verdict.point.id === point.id);
      return found && cellOf(found, lead);
    }),
  }));
  const ours = shortTitle(subject, subject.key);
  return [
    {
      title: `${capital(lead.noun)}: ${isShared(ours) ? subject.title : ours} to each rival`,
      shared: own.shared,
      direction: `${lead.direction === 'higher' ? 'Above' : 'Below'} 1 ${ours} ${lead.better}.`,
      rivals: group.map(({rival}) => shortTitle(rival, rival.key)),
      rows,
    },
  ];
}

function cellOf(verdict: Verdict, lead: Lead): VerdictCell {
  const {word, n, ratio} = verdict;
  return {word, n, said: saidOf(verdict, lead), ...(ratio ? {figure: ratioText(ratio)} : {})};
}

function saidOf({word, n}: Verdict, {better, worse}: Lead): string {
  // `is faster` → `faster`, `uses less CPU per operation` → `less`: the table's head has the rest.
  if (isDecided(word)) return /faster|slower|less|more|lower|higher/.exec(word === 'better' ? better : worse)?.[0] ?? word;
  if (word === 'undecided') return 'undecided';
  return word === 'few' ? (n === 1 ? 'one trial' : `${n} trials`) : 'generator’s pace';
}

/** p99 stays what it is. */
function capital(text: string): string {
  return /^p\d/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
