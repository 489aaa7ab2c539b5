// How is a table of figures shown? Units in the head, tabular numerals right-aligned, the spread under each value.
import type {ReactNode} from 'react';
import {type Column, type Row, spreadNote, type Table} from '../../lib/tables';
import ScrollTable from '../ScrollTable';
import Told from '../Told';
import styles from './styles.module.css';

interface Props {
  table: Table;
  /** Caption and name of the scroll frame. */
  caption: string;
}

export default function FigureTable({table, caption}: Props): ReactNode {
  const {columns, groups} = table;
  const grouped = columns.some((column) => column.group);
  const atCeiling = groups.some((group) => group.rows.some((row) => row.atCeiling));
  return (
    <>
      <ScrollTable label={caption}>
        <table className={styles.table}>
          <caption>{caption}</caption>
          <thead>
            {grouped ? <GroupHeads columns={columns} /> : null}
            <tr>
              <th scope="col">Server</th>
              {columns.map(({head, unit, words}) => (
                <th key={head} scope="col" className={words ? styles.words : styles.number}>
                  {head}
                  {unit ? <span className={styles.unit}>{unit}</span> : null}
                </th>
              ))}
            </tr>
          </thead>
          {groups.map((group) => (
            <tbody key={group.label}>
              <tr>
                <th className={styles.group} scope="rowgroup" colSpan={columns.length + 1}>
                  <span className={styles.groupLabel}>{group.label}</span>
                </th>
              </tr>
              {group.rows.map((row) => (
                <FigureRow key={row.label} row={row} columns={columns} />
              ))}
            </tbody>
          ))}
        </table>
      </ScrollTable>
      <p className="fine">
        {spreadNote(table)}
        {atCeiling ? ' * The load generator was at its ceiling (more than 95 % busy): the throughput is the generator’s; compare server CPU per operation.' : ''}
      </p>
    </>
  );
}

function GroupHeads({columns}: {columns: Column[]}): ReactNode {
  const spans: {group: string; span: number}[] = [];
  for (const {group = ''} of columns) {
    const last = spans.at(-1);
    if (last && last.group === group) last.span += 1;
    else spans.push({group, span: 1});
  }
  return (
    <tr>
      <td />
      {spans.map(({group, span}, index) =>
        group ? (
          <th key={index} scope="colgroup" colSpan={span} className={styles.over}>
            {group}
          </th>
        ) : (
          <td key={index} colSpan={span} />
        ),
      )}
    </tr>
  );
}

function FigureRow({row, columns}: {row: Row; columns: Column[]}): ReactNode {
  return (
    <tr className={`${styles.row} row-${row.look}`}>
      <th scope="row">
        {row.label}
        {row.detail ? <span className={styles.range}>{row.detail}</span> : null}
      </th>
      {row.failure ? (
        <td className={styles.failure} colSpan={columns.length}>
          <span>
            <Told text={row.failure} />
          </span>
        </td>
      ) : (
        row.figures.map((figure, index) => (
          <td key={index} className={columns[index]?.words ? styles.words : styles.number}>
            {figure ? (
              <>
                <span className={styles.value}>
                  {figure.value}
                  {row.atCeiling && columns[index]?.ofGenerator ? '*' : ''}
                </span>
                {figure.low !== figure.high ? (
                  <span className={styles.range}>
                    {figure.low}–{figure.high}
                  </span>
                ) : null}
              </>
            ) : (
              <span aria-label="no such figure">·</span>
            )}
          </td>
        ))
      )}
    </tr>
  );
}
