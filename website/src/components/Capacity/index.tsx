// How many users is a measured knee enough for? The knee is measured; what a user does is the reader's assumption. The
// table stands without scripts; nothing is said beyond the highest rate that was measured.
import {type ChangeEvent, type ReactNode, useId, useState} from 'react';
import {count} from '../../lib/format';
import ScrollTable from '../ScrollTable';
import styles from './styles.module.css';

export interface CapacityRow {
  server: string;
  /** The measured knee, requests per second: the lower end of its spread. */
  kneePerSecond: number;
}

/** Shares of the knee that are planned with, percent. */
const SHARES = [50, 70];
/** Requests that a user sends in a second, on average at the busiest time. */
const RATES = [0.1, 1, 10];

/** Users at a share of the knee; a share above the whole knee would say what was never measured. */
export function users(kneePerSecond: number, sharePercent: number, requestsPerUser: number): number {
  const share = Math.min(Math.max(sharePercent, 0), 100) / 100;
  return requestsPerUser > 0 ? Math.floor((kneePerSecond * share) / requestsPerUser) : 0;
}

/** Cut down to three digits, whole: more than a knee's spread allows would claim a precision, and rounding up a capacity. */
export function cut(value: number): number {
  const step = 10 ** Math.max(Math.floor(Math.log10(Math.max(value, 1))) - 2, 0);
  return Math.floor(value / step) * step;
}

export default function Capacity({rows, label}: {rows: CapacityRow[]; label: string}): ReactNode {
  return (
    <>
      <ScrollTable label={`${label}: users by assumption`}>
        <table className={`plain numbers ${styles.wrapped}`}>
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">Knee, requests/s</th>
              {SHARES.flatMap((share) =>
                RATES.map((rate) => (
                  <th key={`${share}-${rate}`} scope="col">
                    Users at {share} %, {rate} requests/s each
                  </th>
                )),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map(({server, kneePerSecond}) => (
              <tr key={server}>
                <th scope="row">{server}</th>
                <td>{count(cut(kneePerSecond))}</td>
                {SHARES.flatMap((share) => RATES.map((rate) => <td key={`${share}-${rate}`}>{count(cut(users(kneePerSecond, share, rate)))}</td>))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
      <Assumptions rows={rows} />
    </>
  );
}

function Assumptions({rows}: {rows: CapacityRow[]}): ReactNode {
  const id = useId();
  const [share, setShare] = useState(70);
  const [rate, setRate] = useState(1);
  const number = (set: (value: number) => void, most: number) => (event: ChangeEvent<HTMLInputElement>) => {
    const value = event.target.valueAsNumber;
    if (Number.isFinite(value)) set(Math.min(Math.max(value, 0), most));
  };
  return (
    <form className={styles.form} onSubmit={(event) => event.preventDefault()}>
      <p>
        <label htmlFor={`${id}-share`}>Share of the knee, %</label>
        <input id={`${id}-share`} type="number" min={1} max={100} step={1} value={share} onChange={number(setShare, 100)} />
        <label htmlFor={`${id}-rate`}>Requests per user and second</label>
        <input id={`${id}-rate`} type="number" min={0.001} max={1000000} step="any" value={rate} onChange={number(setRate, 1_000_000)} />
      </p>
      <output htmlFor={`${id}-share ${id}-rate`}>
        {rows.map(({server, kneePerSecond}) => (
          <span key={server} className={styles.answer}>
            {server}: {count(cut(users(kneePerSecond, share, rate)))} users at {count(cut((kneePerSecond * Math.min(share, 100)) / 100))} requests/s
          </span>
        ))}
      </output>
    </form>
  );
}
