// What does a version's page show of a scenario? The points that stand for it, servers side by side.
import type {ReactNode} from 'react';
import FigureTable from '../../components/FigureTable';
import type {Run} from '../../generated/records';
import {headlinePoints} from '../../lib/finding';
import {classesOf, partsOf, withCells} from '../../lib/parts';
import {type PageScenario, points} from '../../lib/record';
import {table} from '../../lib/tables';

export default function Summary({record, run}: {record: PageScenario; run: Run}): ReactNode {
  const closed = withCells(record, partsOf(record, run).closed);
  const shown = new Set(headlinePoints(points(closed, run)).flatMap((point) => point.cells.map((cell) => cell.key)));
  const cells = record.cells.filter((cell) => shown.has(cell.key));
  if (cells.length === 0) return null;
  const caption = `${record.scenario.title}: figures that stand for the scenario`;
  const classes = classesOf(cells, run);
  return classes.map(({name, cells: own}) => (
    <FigureTable key={name} table={table(withCells(record, own), run, 'slim')} caption={classes.length > 1 ? `${caption}: ${name}` : caption} />
  ));
}
