// A row of the matrix as bars: ours first, then the rivals, the best of them first.
import type {ReactNode} from 'react';
import {decided, factorText, type MatrixRow, moreIsBetter, quantityOf, scaleOf, valueOf} from '../lib/matrix';
import BarChart, {type Bar} from './BarChart';
import {rivalLook} from './looks';

interface Props {
  /** Unique on the page. */
  id: string;
  row: MatrixRow;
}

export default function RowChart({id, row}: Props): ReactNode {
  const scale = scaleOf(row);
  const bars = barsOf(row);
  const said = bars.map(({label, text}) => `${label} ${text}`).join(', ');
  return (
    <BarChart
      id={id}
      title={`${row.point}: ${quantityOf(row)}`}
      desc={`${said}; ${scale.unit}, ${moreIsBetter(row) ? 'more' : 'less'} is better. Each dot is a trial.`}
      bars={bars}
      unit={`${quantityOf(row)}, ${moreIsBetter(row) ? 'more' : 'less'} is better`}
      max={Math.max(...bars.flatMap(({median, trials}) => [median, ...trials]))}
    />
  );
}

function barsOf(row: MatrixRow): Bar[] {
  const scale = scaleOf(row);
  const [ours, ...rivals] = row.cells;
  const sign = moreIsBetter(row) ? -1 : 1;
  rivals.sort((a, b) => sign * (a.measurement.median - b.measurement.median));
  return (ours ? [ours, ...rivals] : rivals).map((cell) => ({
    label: cell.title,
    look: cell === ours ? 'ours' : rivalLook(cell.target),
    median: cell.measurement.median * scale.factor,
    trials: cell.trials.map((value) => value * scale.factor),
    text: valueOf(cell, scale),
    ...(cell.factor && decided(cell.factor) ? {note: factorText(cell.factor)} : {}),
  }));
}
