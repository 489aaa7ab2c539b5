// Which losses of a figure were accepted, why, and until when? Beneath its chart, where a dashed line marks the version.
import type {ReactNode} from 'react';
import type {DrawnBlessing} from '../../../plugins/benchmarks/blessings';

export default function Blessings({blessings}: {blessings: DrawnBlessing[]}): ReactNode {
  if (blessings.length === 0) return null;
  return (
    <ul className="blessings fine">
      {blessings.map((one) => (
        <li key={`${one.gate}-${one.scenario}`} className={one.expired ? 'expired' : undefined}>
          {told(one)}
        </li>
      ))}
    </ul>
  );
}

/** Where the chart marks them: at versions, as places on its axis. */
export function marks(blessings: DrawnBlessing[], versions: string[]): {x: number; faded: boolean}[] {
  return blessings.flatMap(({version, expired}) => (version === undefined ? [] : [{x: versions.indexOf(version), faded: expired}]));
}

/** `Accepted on 2026-11-30 until 2027-02-28, from version 0.4.0 on: +9.8 % in GET 64 B (#7): durable by default`. */
export function told({blessed_on, expires_on, expired, ratio, label, reason, version, pull}: DrawnBlessing): string {
  const percent = `${ratio > 1 ? '+' : '−'}${Math.abs((ratio - 1) * 100).toFixed(1)} %`;
  const until = expired ? `, expired on ${expires_on} and excuses nothing any more` : ` until ${expires_on}`;
  const where = version === undefined ? 'in no version here yet' : `from version ${version} on`;
  return `Accepted on ${blessed_on}${until}, ${where}: ${percent} in ${label}${pull === undefined ? '' : ` (#${pull})`}: ${reason}`;
}
