// Which figures stand side by side? Those of servers of one class: in process or over a socket, volatile or durable.
import type {ReactNode} from 'react';
import FigureTable from '../../components/FigureTable';
import ScrollTable from '../../components/ScrollTable';
import Told from '../../components/Told';
import type {Run} from '../../generated/records';
import {classesOf, type Parts, partsOf, withCells} from '../../lib/parts';
import {absentTitle, type PageScenario} from '../../lib/record';
import {table} from '../../lib/tables';

interface Props {
  record: PageScenario;
  run: Run;
  which?: 'headline' | 'checks';
  /** Said before the first table. */
  note?: string | undefined;
}

const CAPTIONS = {headline: 'figures by server and mode', checks: 'replies checked, and what it cost'};

export default function ClassTables({record, run, which = 'headline', note}: Props): ReactNode {
  const {closed, open, foreign} = partsOf(record, run);
  const classes = classesOf([...closed, ...open, ...foreign], run);
  const caption = `${record.scenario.title}: ${CAPTIONS[which]}`;
  const tables = classes.map(({name, cells}) => (
    <div key={name}>
      {classes.length > 1 ? <h3>{name}</h3> : null}
      <FigureTable table={table(withCells(record, cells), run, which, record)} caption={classes.length > 1 ? `${caption}: ${name}` : caption} />
    </div>
  ));
  // One place in the page either way: what stands after it keeps the ids that follow from its place.
  if (note === undefined) return tables;
  return (
    <>
      <p className="fine">{note}</p>
      {tables}
    </>
  );
}

/** Servers that were not found here: a row each that says so. */
export function Absent({absent}: {absent: Parts['absent']}): ReactNode {
  if (absent.length === 0) return null;
  return (
    <ScrollTable label="Servers that were not measured on this machine">
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">Not measured on this machine</th>
            <th scope="col">Why, and what to do</th>
          </tr>
        </thead>
        <tbody>
          {absent.map(({target, reason}) => (
            <tr key={target.key}>
              <th scope="row">{absentTitle(target)}</th>
              <td className="words">not measured: <Told text={reason} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollTable>
  );
}
