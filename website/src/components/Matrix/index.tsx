// A table of the matrix: questions in rows, targets in columns; each rival's figure stands over its factor.
import clsx from 'clsx';
import type {ReactNode} from 'react';
import {
  decided,
  factorText,
  type MatrixCell,
  type MatrixRow,
  type MatrixTable,
  moreIsBetter,
  type Origin,
  quantityOf,
  scaleOf,
  sizeOf,
  valueOf,
} from '../../lib/matrix';
import type {Scale} from '../../lib/format';
import QuietLink from '../QuietLink';
import ScrollTable from '../ScrollTable';
import styles from './styles.module.css';

interface Props {
  table: MatrixTable;
  /** Name of the table for those who cannot see it. */
  label: string;
  /** Whether rows may be of different versions and machines, and are grouped by them. */
  hasOrigins?: boolean;
}

export default function Matrix({table, label, hasOrigins = false}: Props): ReactNode {
  const {columns, rows} = table;
  return (
    <ScrollTable label={label}>
      <table className={clsx('plain', 'numbers', styles.matrix)}>
        <thead>
          <tr>
            <th scope="col">Question</th>
            {columns.map(({target, title}) => (
              <th key={target} scope="col">
                {title}
              </th>
            ))}
            <th scope="col">Trials</th>
          </tr>
        </thead>
        {groupsOf(rows, hasOrigins).map(({name, rows: own}) => (
          <tbody key={name}>
            {hasOrigins ? (
              <tr>
                <th scope="rowgroup" className={styles.group} colSpan={columns.length + 2}>
                  {name}
                </th>
              </tr>
            ) : null}
            {own.map((row) => (
              <Row key={row.key} row={row} targets={columns.map(({target}) => target)} />
            ))}
          </tbody>
        ))}
      </table>
    </ScrollTable>
  );
}

/** Rows by version and machine, in the order in which these first come. */
function groupsOf(rows: MatrixRow[], hasOrigins: boolean): {name: string; rows: MatrixRow[]}[] {
  const groups = new Map<string, MatrixRow[]>();
  for (const row of rows) {
    const name = hasOrigins ? `${row.origin.version} on ${row.origin.machineKey}` : '';
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  return [...groups].map(([name, own]) => ({name, rows: own}));
}

function Row({row, targets}: {row: MatrixRow; targets: string[]}): ReactNode {
  const scale = scaleOf(row);
  const size = sizeOf(row);
  return (
    <tr>
      <th scope="row">
        <QuietLink to={row.origin.href} title={row.point}>
          {row.title}
        </QuietLink>
        <span className={styles.small}>
          {size ? `${size}: ` : ''}
          <span className={moreIsBetter(row) ? styles.more : styles.less}>{quantityOf(row)}</span>
        </span>
      </th>
      {targets.map((target) => {
        const cell = row.cells.find((one) => one.target === target);
        if (cell) {
          return (
            <td key={target}>
              <Figure cell={cell} scale={scale} row={row} />
            </td>
          );
        }
        return <td key={target}>{row.failed.includes(target) ? 'failed' : <span className={styles.none} />}</td>;
      })}
      <td>{row.cells[0]?.measurement.n}</td>
    </tr>
  );
}

function Figure({cell, scale, row}: {cell: MatrixCell; scale: Scale; row: MatrixRow}): ReactNode {
  const {factor, measurement, origin = row.origin, title} = cell;
  const side = decided(factor);
  return (
    <>
      <QuietLink to={origin.href} title={`${title}, version ${origin.version}, ${origin.machineKey}, ${measurement.n} trials`}>
        {valueOf(cell, scale)}
      </QuietLink>
      {factor ? <span className={clsx(styles.factor, side && styles[side])}>{factorText(factor)}</span> : null}
      {cell.origin ? <span className={styles.small}>{elsewhere(cell.origin, row.origin, measurement.n)}</span> : null}
    </>
  );
}

/** Where a figure is from, as far as that differs from its row. */
function elsewhere(origin: Origin, usual: Origin, n: number): string {
  const parts = [origin.version !== usual.version && origin.version, origin.machineKey !== usual.machineKey && origin.machineKey, `n = ${n}`];
  return parts.filter(Boolean).join(', ');
}
