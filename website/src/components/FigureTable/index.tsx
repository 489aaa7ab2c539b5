// A table of figures: units in the head, tabular numerals right-aligned, the spread under each value.
import type {ReactNode} from 'react';
import type {Column, Row, Table} from '../../lib/tables';
import {MOST_COLUMNS} from '../../lib/metrics';
import ScrollTable from '../ScrollTable';
import Told from '../Told';
import styles from './styles.module.css';

interface Props {
  table: Table;
  /** Caption and name of the scroll frame. */
  caption: string;
  /** Head of the first column: `Server`, `Engine`. */
  first: string;
  /** Said beneath the table. */
  note?: string;
}

export default function FigureTable({table, caption, first, note = ''}: Props): ReactNode {
  const {columns, groups} = table;
  const grouped = columns.some((column) => column.group);
  const atCeiling = groups.some((group) => group.rows.some((row) => row.atCeiling));
  const isMerged = groups.some((group) => group.rows.some((row) => row.isOfOther));
  return (
    <>
      <ScrollTable label={caption} isWide={columns.length <= MOST_COLUMNS}>
        <table className={styles.table}>
          <caption>{caption}</caption>
          <thead>
            {grouped ? <GroupHeads columns={columns} /> : null}
            <tr>
              <th scope="col">{first}</th>
              {columns.map(({head, unit}) => (
                <th key={head} scope="col">
                  {head}
                  {unit ? <small>{unit}</small> : null}
                </th>
              ))}
            </tr>
          </thead>
          {groups.map((group) => (
            <tbody key={group.label}>
              {group.label ? (
                <tr>
                  <th className={styles.group} scope="rowgroup" colSpan={columns.length + 1}>
                    <span className={styles.groupLabel}>{group.label}</span>
                  </th>
                </tr>
              ) : null}
              {group.rows.map((row) => (
                <FigureRow key={row.label} row={row} columns={columns} />
              ))}
            </tbody>
          ))}
        </table>
      </ScrollTable>
      {note || atCeiling || isMerged ? (
        <p className="fine">
          {note}
          {atCeiling ? ' * The load generator was at its limit (more than 95 % busy): the throughput is the generator’s; compare server CPU per operation.' : ''}
          {isMerged ? ' † Of another run than the rows without this mark; ratios are formed within a run.' : ''}
        </p>
      ) : null}
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
        {row.isOfOther ? ' †' : ''}
      </th>
      {row.failure ? (
        <td className={styles.failure} colSpan={columns.length}>
          <span>
            <Told text={row.failure} />
          </span>
        </td>
      ) : (
        row.figures.map((figure, index) => (
          <td key={index}>
            {figure ? (
              <>
                {figure.value}
                {row.atCeiling && columns[index]?.ofGenerator ? '*' : ''}
                {figure.low !== figure.high ? (
                  <small>
                    {figure.low}–{figure.high}
                  </small>
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
