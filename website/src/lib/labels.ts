// Short labels of points: the parts that all points of a page share are said once, not in every row.

const PART = ', ';

export interface ShortLabels {
  /** Parts that every label has, in their order: `100 B, 64 MiB cache`. Empty where nothing is shared. */
  shared: string;
  /** A label without the shared parts. */
  short: (label: string) => string;
}

/** Labels are lists of parts; the first part names the operation and always stays. */
export function shortLabels(labels: string[]): ShortLabels {
  const lists = [...new Set(labels)].map((label) => label.split(PART));
  const [first, ...others] = lists;
  if (!first || others.length === 0) return {shared: '', short: (label) => label};
  const shared = first.slice(1).filter((part) => others.every((list) => list.includes(part)));
  const short = (label: string) =>
    label
      .split(PART)
      .filter((part, index) => index === 0 || !shared.includes(part))
      .join(PART);
  return {shared: shared.join(PART), short};
}
