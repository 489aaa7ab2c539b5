// Findings about a memory cap: does the growth of resident memory stay within it, and what share of reads hits under it?
import type {Measurement, Run} from '../generated/records';
import {rowLabel} from './figures';
import {fixed, percent, ratio as ratioText, word as numberWord} from './format';
import type {ShortLabels} from './labels';
import {keepsNothing, measurement, type PageCell, type PageScenario, points, shortTitle, targetOf} from './record';
import {decapital, type Finding} from './sentences';
import {LEAST_TRIALS} from './verdict';

/** Growth of resident memory over the cap, of one cell. */
export interface CapShare {
  label: string;
  share: Pick<Measurement, 'median' | 'low' | 'high' | 'n' | 'spread'>;
}

/** Per target what its cells say of their caps, ours first. */
export function capFindings(record: PageScenario, run: Run, labels: ShortLabels): Finding[] {
  const byTarget = new Map<string, CapShare[]>();
  for (const {cells, label} of points(record, run)) {
    for (const cell of cells) {
      const share = keepsNothing(run, cell.target) ? undefined : capShare(cell);
      if (share) byTarget.set(cell.target, [...(byTarget.get(cell.target) ?? []), {label: labels.short(label), share}]);
    }
  }
  const names = [...byTarget].map(([key, shares]) => ({name: shortTitle(targetOf(run, key), key), shares}));
  return [...names.flatMap(({name, shares}) => judgedShares(name, shares)), ...fewShares(names)];
}

/** Growth of resident memory as a share of the cap; nothing where there is no cap. */
export function capShare(cell: PageCell): CapShare['share'] | undefined {
  const [cap, growth] = [cell.axes.cap_bytes, cell.status === 'ok' ? measurement(cell, 'rss_bytes_growth') : undefined];
  if (!cap || !growth || (cell.mode !== 'native' && cell.mode !== 'native_limited')) return undefined;
  return {...growth, median: growth.median / cap, low: growth.low / cap, high: growth.high / cap};
}

const hasInterval = ({share}: CapShare) => share.spread === 'interval' && share.n >= LEAST_TRIALS;

function judgedShares(name: string, all: CapShare[]): Finding[] {
  const shares = all.filter(hasInterval);
  if (shares.length === 0) return [];
  const beyond = shares.filter(({share}) => share.low > 1).sort((a, b) => b.share.median - a.share.median);
  const within = shares.filter(({share}) => share.high <= 1);
  const open = shares.length - beyond.length - within.length;
  const everywhere = shares.length === 1 ? '' : shares.length === 2 ? ' at both points' : ` at all ${shares.length} points`;
  const of = ({share}: CapShare) => {
    const {value, low, high} = ratioText(share);
    return `${value} (${bare(low)}–${bare(high)}) its size`;
  };
  const most = [...within].sort((a, b) => a.share.median - b.share.median).at(-1);
  const said = [
    beyond.length > 0
      ? `${name} grows beyond its cap${beyond.length === shares.length ? everywhere : ` at ${beyond.length} of ${shares.length} points`}: ${beyond.map((one) => `${of(one)} at ${decapital(one.label)}`).join('; ')}.`
      : '',
    most ? `${name} stays within its cap${within.length === shares.length ? everywhere : ` at ${within.length} of ${shares.length} points`}: at most RSS grows to ${of(most)}.` : '',
    open > 0 ? `${name} is undecided at ${numberWord(open)} ${open === 1 ? 'point' : 'points'}: the interval includes the cap.` : '',
  ];
  return [{kind: 'verdict', text: said.filter(Boolean).join(' '), n: Math.min(...shares.map(({share}) => share.n)), spread: 'interval'}];
}

function fewShares(names: {name: string; shares: CapShare[]}[]): Finding[] {
  const few = names.map(({name, shares}) => ({name, shares: shares.filter((one) => !hasInterval(one))})).filter(({shares}) => shares.length > 0);
  if (few.length === 0) return [];
  const all = few.flatMap(({shares}) => shares.map(({share}) => share.n));
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const trials = `${least === most ? '' : `${numberWord(least)} to `}${numberWord(most)} ${most === 1 ? 'trial' : 'trials'}`;
  const said = few.map(({name, shares}) => {
    const [low, high] = [Math.min(...shares.map(({share}) => share.low)), Math.max(...shares.map(({share}) => share.high))];
    return `${name} ${two(low) === two(high) ? two(low) : `${two(low)} to ${two(high)}`}`;
  });
  return [{kind: 'figures', text: `${trials.charAt(0).toUpperCase()}${trials.slice(1)}, no verdict: growth of RSS over the cap, ${said.join('; ')}.`, n: least, spread: 'range'}];
}

/** Share of reads that hit, server by server, beside an exact LRU of as many bytes. */
export function hitFindings(record: PageScenario, run: Run, labels: ShortLabels): Finding[] {
  return points(record, run).flatMap(({cells, label}): Finding[] => {
    const found = cells.flatMap((cell) => {
      const hits = cell.status === 'ok' && cell.mode === 'native' ? measurement(cell, 'hit_ratio') : undefined;
      return hits ? [{cell, hits, exact: measurement(cell, 'hit_ratio_exact_lru')}] : [];
    });
    const exact = found.map((one) => one.exact).find((one) => one !== undefined);
    if (found.length === 0) return [];
    const said = found.map(({cell, hits}) => `${rowLabel(cell, run)} ${percent(hits.median, 1)}`).join('; ');
    return [
      {
        kind: 'figures',
        text: `${labels.short(label)}, reads that hit: ${said}${exact ? `; an exact LRU of as many bytes ${percent(exact.median, 1)}` : ''}.`,
        n: Math.min(...found.map(({hits}) => hits.n)),
        spread: found.every(({hits}) => hits.spread === 'interval') ? 'interval' : 'range',
      },
    ];
  });
}

const bare = (text: string) => text.replace('×', '');
const two = (value: number) => fixed(value, 2);
