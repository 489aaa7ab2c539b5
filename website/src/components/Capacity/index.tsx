// How many users is a measured knee enough for? The knee is measured; what a user does is the reader's assumption. The
// table stands without scripts; nothing is said beyond the highest rate that was measured.
import type {ReactNode} from 'react';
import {count} from '../../lib/format';
import ScrollTable from '../ScrollTable';
import Assumptions from './Assumptions';
import {cut, users} from './users';
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
