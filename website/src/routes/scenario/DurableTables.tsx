// Tables that follow from the cells of embedded engines: pivots, tables per level in words, what a write promises.
import type {ReactNode} from 'react';
import FigureTable from '../../components/FigureTable';
import ScrollTable from '../../components/ScrollTable';
import type {Run} from '../../generated/records';
import {promises, tablesPerLevel} from '../../lib/durable';
import {rowLabel} from '../../lib/figures';
import type {ShortLabels} from '../../lib/labels';
import {pivots} from '../../lib/pivots';
import {type PageScenario, points, shortTitle, targetOf} from '../../lib/record';

interface Props {
  record: PageScenario;
  run: Run;
  labels: ShortLabels;
}

export default function DurableTables({record, run, labels}: Props): ReactNode {
  return (
    <>
      {pivots(record, run).map(({id, title, first, note, table}) => (
        <section key={id} id={id}>
          <h3>{title}</h3>
          <FigureTable table={table} caption={`${record.scenario.title}: ${title.toLowerCase()}`} first={first} note={note} />
        </section>
      ))}
      <Levels record={record} run={run} labels={labels} />
      <Promises record={record} run={run} />
    </>
  );
}

function Levels({record, run, labels}: Props): ReactNode {
  const rows = points(record, run).flatMap(({label, cells}) =>
    cells.flatMap((cell) => {
      const tables = tablesPerLevel(cell);
      return tables === undefined ? [] : [{key: cell.key, point: labels.short(label), engine: rowLabel(cell, run), tables}];
    }),
  );
  if (rows.length === 0) return null;
  return (
    <>
      <h3 id="levels">Tables per level</h3>
      <ScrollTable label={`${record.scenario.title}: tables per level when a cell ended`}>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Engine</th>
              <th scope="col">When this ended</th>
              <th scope="col">Tables</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({key, point, engine, tables}) => (
              <tr key={key}>
                <th scope="row">{engine}</th>
                <td>{point}</td>
                <td>{tables}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
    </>
  );
}

const SYNC: Record<string, string> = {interval: 'about every second', always: 'before each is acknowledged'};

function Promises({record, run}: Omit<Props, 'labels'>): ReactNode {
  const rows = promises(record.cells);
  if (rows.length === 0) return null;
  return (
    <>
      <h3 id="promises">What an acknowledged write survives</h3>
      <ScrollTable label={`${record.scenario.title}: what an acknowledged write survives`}>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Engine</th>
              <th scope="col">Writes are forced to the device</th>
              <th scope="col">An acknowledged write</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({target, sync, promise}) => (
              <tr key={`${target}/${sync ?? ''}/${promise}`}>
                <th scope="row">{shortTitle(targetOf(run, target), target)}</th>
                <td>{sync === undefined ? 'when the system likes' : (SYNC[sync] ?? sync)}</td>
                <td>{promise}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
    </>
  );
}
