// What does a memory-cap trial tell beside its metrics: which keys survived, and what became of the value that cannot fit?
import type {PageCell} from './record';

/** Share of keys still there by age of insertion, one list per ok trial. */
export function survival(cell: PageCell): number[][] {
  return okFacts(cell).flatMap((facts) => {
    const shares = facts.survival_by_insertion_age;
    return Array.isArray(shares) && shares.length > 0 && shares.every((share) => typeof share === 'number') ? [shares as number[]] : [];
  });
}

export interface EarlyKey {
  key: string;
  /** In how many trials it was gone, of how many that looked. */
  gone: number;
  looked: number;
}

/** The early keys that every trial looks up. */
export function earlyKeys(cell: PageCell): EarlyKey[] {
  const found = new Map<string, EarlyKey>();
  for (const facts of okFacts(cell)) {
    const looked = facts.early_keys;
    if (typeof looked !== 'object' || looked === null) continue;
    for (const [key, what] of Object.entries(looked)) {
      const known = found.get(key) ?? {key, gone: 0, looked: 0};
      known.looked += 1;
      known.gone += what === 'gone' ? 1 : 0;
      found.set(key, known);
    }
  }
  return [...found.values()];
}

export interface Refusal {
  reply: string;
  keysBefore: number;
  keysAfter: number;
}

/** What was answered to the value that cannot fit, and the number of keys around it. */
export function refusal(cell: PageCell): Refusal | undefined {
  for (const facts of okFacts(cell)) {
    const {oversize_reply: reply, oversize_dbsize_before: keysBefore, oversize_dbsize_after: keysAfter} = facts;
    if (typeof reply === 'string' && typeof keysBefore === 'number' && typeof keysAfter === 'number') {
      return {reply, keysBefore, keysAfter};
    }
  }
  return undefined;
}

function okFacts(cell: PageCell): Record<string, unknown>[] {
  return cell.trials.filter((trial) => trial.status === 'ok').map((trial) => trial.facts ?? {});
}
