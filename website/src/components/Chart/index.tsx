// A chart on a page: in a row of small multiples, each with its caption and its table.
import {Fragment, type ReactNode} from 'react';
import ScrollTable from '../ScrollTable';
import styles from './styles.module.css';

export interface ChartTable {
  head: string[];
  rows: string[][];
}

/** Small multiples side by side, as many as fit. */
export function Multiples({children}: {children: ReactNode}): ReactNode {
  return <div className={styles.multiples}>{children}</div>;
}

interface Props {
  caption: string;
  /** What the chart shows, unique on the page: `SET 64 B, 50 clients: throughput`. */
  name: string;
  chart: ReactNode;
  /** Absent where the page shows the same figures in a table of its own. */
  table?: ChartTable;
  /** What is said right beneath the chart. */
  below?: ReactNode;
}

export default function Chart({caption, name, chart, table, below}: Props): ReactNode {
  return (
    <figure className={styles.figure}>
      <figcaption className={styles.caption}>{caption}</figcaption>
      {chart}
      {below}
      {table ? <Folded table={table} name={name} /> : null}
    </figure>
  );
}

function Folded({table, name}: {table: ChartTable; name: string}): ReactNode {
  return (
    <details className={styles.details}>
      <summary>
        Table<span className={styles.hidden}> of {name}</span>
      </summary>
      <ScrollTable label={`Figures of the chart: ${name}`}>
        <table className="plain">
          <thead>
            <tr>
              {table.head.map((head, index) => (
                <th key={index} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, index) => (
              <tr key={index}>
                {row.map((cell, column) => (
                  <Fragment key={column}>{column === 0 ? <th scope="row">{cell}</th> : <td>{cell}</td>}</Fragment>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
    </details>
  );
}
