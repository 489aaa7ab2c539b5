// A verdict table: ratios of ours to each rival with their intervals, and in words what each says.
import type {ReactNode} from 'react';
import type {VerdictCell, VerdictTable as Table} from '../../lib/verdicttable';
import ScrollTable from '../ScrollTable';
import styles from './styles.module.css';

export default function VerdictTable({table}: {table: Table}): ReactNode {
  const {title, shared, direction, rivals, rows} = table;
  return (
    <>
      <h3>{title}</h3>
      <ScrollTable label={title} isFit>
        <table className={`plain numbers ${styles.table}`}>
          <thead>
            <tr>
              <th scope="col">
                {direction}
                {shared ? <span className="range">{shared}</span> : null}
              </th>
              {rivals.map((rival) => (
                <th key={rival} scope="col">
                  {rival}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({label, cells}) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {cells.map((cell, index) => (cell ? <Cell key={rivals[index]} cell={cell} /> : <td key={rivals[index]}>–</td>))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
    </>
  );
}

function Cell({cell: {word, n, said, figure}}: {cell: VerdictCell}): ReactNode {
  return (
    <td className={styles[word]} data-verdict={word} data-n={n}>
      {figure?.value}
      <span className="range">
        {figure && n > 1 ? `${figure.low.replace('×', '')}–${figure.high.replace('×', '')}, ` : ''}
        {said}
      </span>
    </td>
  );
}
