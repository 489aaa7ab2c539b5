// How long may a word be on a page? A browser takes seconds to lay out one of 10,000 letters that may break anywhere, once
// for each place where it stands. No text of a person holds such a word; the raw file keeps it. Pure.

/** Longest word that a page shows whole. */
export const WORD_MOST = 400;
const LONGER = new RegExp(`\\S{${WORD_MOST + 1},}`, 'g');

/** The same value with every longer word cut. */
export function breakable<T>(value: T): T {
  if (typeof value === 'string') return value.replace(LONGER, (word) => `${word.slice(0, WORD_MOST)}…`) as T;
  if (Array.isArray(value)) return value.map(breakable) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, breakable(entry as unknown)])) as T;
}
