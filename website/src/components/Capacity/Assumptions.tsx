// The reader's own assumptions: share of the knee and requests per user, with the number of users that follows.
import {type ChangeEvent, type ReactNode, useId, useState} from 'react';
import {island} from '../../document/island';
import {count} from '../../lib/format';
import type {CapacityRow} from '.';
import styles from './styles.module.css';
import {cut, users} from './users';

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

export default island('capacity-assumptions', Assumptions);
