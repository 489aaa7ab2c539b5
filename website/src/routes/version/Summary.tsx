// Summary of a scenario on a version's page: the points that represent it, servers side by side.
import type {ReactNode} from 'react';
import FigureTable from '../../components/FigureTable';
import type {Run} from '../../generated/records';
import {headlinePoints, labelsOf} from '../../lib/finding';
import {classesOf, partsOf, withCells} from '../../lib/parts';
import {type PageScenario, points} from '../../lib/record';
import {slimTable, spreadNote} from '../../lib/tables';
import {rowWord} from '../scenario/ClassTables';

export default function Summary({record, run}: {record: PageScenario; run: Run}): ReactNode {
  const closed = withCells(record, partsOf(record, run).closed);
  const shown = new Set(headlinePoints(points(closed, run)).flatMap((point) => point.cells.map((cell) => cell.key)));
  const cells = record.cells.filter((cell) => shown.has(cell.key));
  if (cells.length === 0) return null;
  const caption = `${record.scenario.title}: figures of the points that represent it`;
  const classes = classesOf(cells, run);
  return classes.map(({name, cells: own}) => {
    const shownRecord = withCells(record, own);
    const table = slimTable(shownRecord, run, labelsOf(record, run));
    return <FigureTable key={name} table={table} caption={classes.length > 1 ? `${caption}: ${name}` : caption} first={rowWord(run, shownRecord)} note={spreadNote(table)} />;
  });
}
