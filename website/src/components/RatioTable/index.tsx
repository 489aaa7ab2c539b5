// How are ratios shown? A row per pair, a column per metric, the spread under each; a ratio never stands without it.
import type {ReactNode} from 'react';
import type {Ratio} from '../../generated/records';
import type {RatioTable as Table} from '../../lib/derived';
import {ratio as ratioText} from '../../lib/format';
import ScrollTable from '../ScrollTable';

const HEADS: Record<string, string> = {
  ops_per_second: 'Throughput',
  latency_ns_p50: 'p50 response time',
  latency_ns_p99: 'p99 response time',
  server_cpu_ns_per_op: 'Server CPU per op',
  startup_ms: 'Start to first answer',
  knee_per_second: 'Knee',
  rss_bytes_peak: 'Peak RSS',
  rss_bytes_per_key: 'RSS per key',
};

interface Props {
  table: Table;
  caption: string;
  /** Head of the first column. */
  first: string;
}

export default function RatioTable({table, caption, first}: Props): ReactNode {
  const {metrics, groups} = table;
  if (groups.length === 0) return null;
  const all = groups.flatMap((group) => group.rows.flatMap((row) => row.ratios.filter((ratio): ratio is Ratio => ratio !== undefined)));
  return (
    <>
      <ScrollTable label={caption}>
        <table className="plain numbers">
          <caption className="hidden">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">{first}</th>
              {metrics.map((metric) => (
                <th key={metric} scope="col">
                  {HEADS[metric] ?? metric.replaceAll('_', ' ')}
                </th>
              ))}
            </tr>
          </thead>
          {groups.map(({label, rows}) => (
            <tbody key={label}>
              {label ? (
                <tr>
                  <th className="group" scope="rowgroup" colSpan={metrics.length + 1}>
                    {label}
                  </th>
                </tr>
              ) : null}
              {rows.map((row) => (
                <tr key={row.label}>
                  <th scope="row">{row.label}</th>
                  {row.ratios.map((ratio, index) => (
                    <td key={metrics[index]}>{ratio ? <RatioFigure ratio={ratio} /> : <span aria-label="no such figure">·</span>}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          ))}
        </table>
      </ScrollTable>
      <p className="fine">{ratioNote(all)}</p>
    </>
  );
}

function RatioFigure({ratio}: {ratio: Ratio}): ReactNode {
  const {value, low, high} = ratioText(ratio);
  return (
    <>
      {value}
      {ratio.n > 1 ? (
        <span className="range">
          {low}–{high}
        </span>
      ) : null}
    </>
  );
}

/** What the small grey text under a ratio is. */
export function ratioNote(ratios: Pick<Ratio, 'spread' | 'n'>[]): string {
  const n = Math.max(0, ...ratios.map((ratio) => ratio.n));
  if (ratios.some((ratio) => ratio.spread === 'interval')) {
    return `Large: median of ${n} ratios, each of two trials of the same round. Small: interval of the median, at least 95 %.`;
  }
  return n === 1
    ? 'One ratio of two trials of the same round: no spread is known.'
    : `Large: median of ${n} ratios, each of two trials of the same round. Small: their range; too few for an interval, so no verdict.`;
}
