// The texts of the README that come from stored results: claims, a table of figures, and where each stands.
import type {Claim} from '../src/generated/records';
import {type State, stateOf, stateWords, tally} from '../src/lib/claims';
import {decided, type Factor, factorText, type MatrixCell, type MatrixRow, moreIsBetter, ofOneRun, quantityOf, scaleOf, sizeOf, valueOf} from '../src/lib/matrix';
import {wordOf} from '../src/lib/verdict';

/** Where the pages are published. */
export const SITE = 'https://plumbkv.github.io/plumbkv';

/** Claims that a reader of the README is shown, in the order of preference. */
const CLAIMS = {
  server: ['rival-throughput-depth-16', 'memory-per-key-against-redis', 'cap-holds-under-the-hostile-mix', 'pipeline-cpu-half-of-redis'],
  store: ['durable-mixed', 'durable-read-random', 'durable-load-random', 'durable-write-always'],
};
const OF_EACH = 2;

/** Rows of the table, at most eight: server, then store, losses among them. */
export const ROWS = ['many-connections', 'pipelined-reads', 'one-connection', 'memory-per-key', 'load', 'random-reads', 'synced-writes', 'scans'];

/** Four claims that hold and one that fails, newest evidence first. */
export function claimsText(claims: Claim[]): string {
  const inState = (states: State[], among = claims) => states.flatMap((state) => among.filter((claim) => stateOf(claim) === state));
  const named = (keys: string[]) => keys.flatMap((key) => claims.filter((claim) => claim.key === key));
  const holding = Object.values(CLAIMS).flatMap((keys) => inState(['holds', 'held'], named(keys)).slice(0, OF_EACH));
  const lines = [...holding, ...inState(['fails', 'failed']).slice(0, 1)].map(
    (claim) => `- **${stateWords(claim)}**: ${claim.statement} [Evidence](${SITE}/benchmarks/claims/#${claim.key})`,
  );
  return `${lines.join('\n')}\n\n${tally(claims)} [All of them](${SITE}/benchmarks/claims/).`;
}

/** Each row with ours and the best rival. */
export function tableText(rows: MatrixRow[]): string {
  const shown = ROWS.flatMap((key) => rows.filter((row) => row.key === key).map(ofOneRun));
  const lines = shown.map((row) => {
    const scale = scaleOf(row);
    const [ours, ...rivals] = row.cells;
    const best = bestOf(row, rivals);
    const size = sizeOf(row);
    const question = `${row.title}${size ? `, ${size}` : ''}: ${quantityOf(row)} ${moreIsBetter(row) ? '↑' : '↓'}`;
    const cells = [
      `[${question}](${SITE}${row.origin.href})`,
      ours ? valueOf(ours, scale) : '',
      best ? `${valueOf(best, scale)} (${best.title})` : '',
      best?.factor ? verdictOf(best.factor) : '',
      `${row.origin.version}, ${ours?.measurement.n ?? 0}`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const machines = [...new Set(shown.map(({origin}) => `${origin.version} on ${origin.machine}`))];
  return `| | PlumbKV | best rival | factor | version, trials |
| --- | ---: | ---: | ---: | ---: |
${lines.join('\n')}

Medians; ↑ more is better, ↓ less is better. The factor says how many times better PlumbKV is; it is bold where its 95 %
interval excludes 1, and ≥ where the load generator was the limit. Fewer than six trials, of PlumbKV or of the rival, give no verdict. ${machines.join('; ')}.`;
}

function bestOf(row: MatrixRow, rivals: MatrixCell[]): MatrixCell | undefined {
  const sign = moreIsBetter(row) ? -1 : 1;
  return [...rivals].sort((a, b) => sign * (a.measurement.median - b.measurement.median))[0];
}

function verdictOf(factor: Factor): string {
  const word = wordOf(factor, factor.n, 'higher');
  if (word === 'few') return 'no verdict';
  if (decided(factor)) return `**${factorText(factor)}**`;
  return factor.isLowerBound && word === 'better' ? factorText(factor) : 'undecided';
}

/** What the chart shows, below it and for those who cannot see it. */
export function captionText(panels: {title: string; row: MatrixRow}[]): string {
  const told = panels.map(({title, row}) => {
    const scale = scaleOf(row);
    const figures = row.cells.map((cell) => `${cell.title} ${valueOf(cell, scale)}`).join(', ');
    return `${title}, ${row.point}: ${figures} ${scale.unit}`;
  });
  return told.join('. ').replaceAll('"', '&quot;');
}

/** A document with the text between `<!-- NAME:begin -->` and `<!-- NAME:end -->` replaced. */
export function splice(document: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [before, rest, ...more] = document.split(begin);
  const [, after, ...others] = rest?.split(end) ?? [];
  if (before === undefined || after === undefined || more.length > 0 || others.length > 0) {
    throw new Error(`README.md needs the lines ${begin} and ${end} once each, in this order`);
  }
  return `${before}${begin}\n${text.trim()}\n${end}${after}`;
}
