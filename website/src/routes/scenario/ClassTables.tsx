// Tables of a scenario, one set per class of servers (in process or over a socket, volatile or durable), family by family.
import type {ReactNode} from 'react';
import FigureTable from '../../components/FigureTable';
import ScrollTable from '../../components/ScrollTable';
import Told from '../../components/Told';
import type {Run} from '../../generated/records';
import type {ShortLabels} from '../../lib/labels';
import {classesOf, type Parts, partsOf, withCells} from '../../lib/parts';
import {absentTitle, type PageScenario} from '../../lib/record';
import {isInProcess, measuredTargets} from '../../lib/regime';
import {allocatorNote, type Block, blocks, checksTable, percentilesAt, spreadNote} from '../../lib/tables';

interface Props {
  record: PageScenario;
  run: Run;
  labels: ShortLabels;
}

/** Numbers of connections at which percentiles are shown unfolded. */
const SHOWN_CLIENTS = [50, 100];

export default function ClassTables({record, run, labels, note}: Props & {note?: string | undefined}): ReactNode {
  const {closed, open, foreign} = partsOf(record, run);
  const classes = classesOf([...closed, ...open, ...foreign], run);
  return (
    <>
      {note ? <p className="fine">{note}</p> : null}
      {classes.map(({name, cells}) => (
        <Families key={name} name={classes.length > 1 ? name : ''} record={withCells(record, cells)} run={run} labels={labels} />
      ))}
      <p className="fine">
        {allocatorNote(measuredTargets(run, record))}
        {labels.shared ? ` At every point: ${labels.shared}.` : ''}
      </p>
    </>
  );
}

/** The word for what a row is of. */
export function rowWord(run: Run, record: PageScenario): string {
  return isInProcess(run, record) ? 'Engine' : 'Server';
}

function Families({name, record, run, labels}: Props & {name: string}): ReactNode {
  const all = blocks(record, run, labels);
  const percentiles = percentilesAt(record, run, SHOWN_CLIENTS, labels);
  const captionOf = (title: string) => [`${record.scenario.title}: figures`, all.length > 1 ? title.toLowerCase() : '', name].filter(Boolean).join(', ');
  return (
    <>
      {name ? <h3>{name}</h3> : null}
      {all.map((block) =>
        block.folded ? (
          <details key={block.title} className="fold">
            <summary>{block.title}</summary>
            <BlockTables block={block} caption={captionOf(block.title)} record={record} run={run} />
          </details>
        ) : (
          <div key={block.title}>
            {all.filter(({folded}) => !folded).length > 1 ? <h3>{block.title}</h3> : null}
            <BlockTables block={block} caption={captionOf(block.title)} record={record} run={run} />
          </div>
        ),
      )}
      {percentiles ? (
        <>
          <h3>Percentiles at {SHOWN_CLIENTS.join(' and ')} clients</h3>
          <FigureTable table={percentiles} caption={`${captionOf('')}, percentiles at ${SHOWN_CLIENTS.join(' and ')} clients`} first={rowWord(run, record)} />
        </>
      ) : null}
    </>
  );
}

function BlockTables({block: {main, more}, caption, record, run}: {block: Block; caption: string; record: PageScenario; run: Run}): ReactNode {
  const first = rowWord(run, record);
  return (
    <>
      <FigureTable table={main} caption={caption} first={first} note={spreadNote(main, first === 'Server' ? 'server process' : 'process')} />
      {more.map(({title, table}) => (
        <details key={title} className="fold">
          <summary>{title}</summary>
          <FigureTable table={table} caption={`${caption}, ${title.toLowerCase()}`} first={first} />
        </details>
      ))}
    </>
  );
}

/** What shows that the figures can be believed: trials, replies checked, how busy the generator was, who else ran. */
export function Checks({record, run, labels}: Props): ReactNode {
  const {closed, open, foreign} = partsOf(record, run);
  const classes = classesOf([...closed, ...open, ...foreign], run);
  if (classes.length === 0) return <p>Nothing was measured here.</p>;
  return classes.map(({name, cells}) => {
    const caption = `${record.scenario.title}: what was checked`;
    const own = withCells(record, cells);
    return (
      <div key={name}>
        {classes.length > 1 ? <h3>{name}</h3> : null}
        <FigureTable table={checksTable(own, run, labels)} caption={classes.length > 1 ? `${caption}, ${name}` : caption} first={rowWord(run, own)} />
      </div>
    );
  });
}

/** Servers that were not found here: a row each that says so. */
export function Absent({absent}: {absent: Parts['absent']}): ReactNode {
  if (absent.length === 0) return null;
  return (
    <ScrollTable label="Not measured on this machine">
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
              <td className="words">
                not measured: <Told text={reason} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollTable>
  );
}
