// Words around the matrix: titles of its tables and how to read a cell.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import {type MatrixTable, tally, type TableKey} from '../../lib/matrix';

export const TITLES: Record<TableKey, string> = {
  server: 'In-memory server, over loopback',
  store: 'Durable store, embedded',
};

export function HowToRead({tables}: {tables: MatrixTable[]}): ReactNode {
  const {better, worse, undecided} = tally(tables);
  return (
    <>
      <p className="lead">
        Of {better + worse + undecided} comparisons, PlumbKV is better in {better} and worse in {worse}; {undecided} are undecided.
      </p>
      <p>
        Below each rival’s figure: how many times better PlumbKV is in the same run; below 1× it is worse. <strong>Bold</strong> means decided: the 95 %
        interval of the ratio excludes 1. ↑ more is better, ↓ less is better. ≥: the load generator was the limit.{' '}
        <Link to="/docs/reading-the-numbers/">How to read the numbers</Link>
      </p>
    </>
  );
}
