// Chart of a start: milliseconds to the first right answer, every trial a dot.
import type {ReactNode} from 'react';
import Bars from '../../components/Bars';
import {barPanels} from '../../lib/figures';
import type {ChartProps} from './WireCharts';

export default function StartupCharts({record, run, labels}: ChartProps): ReactNode {
  const panels = barPanels(record, run, 'startup_ms', 'ms', labels);
  if (panels.length === 0) return null;
  return (
    <>
      <h2 id="start">Start to first right answer</h2>
      <p className="fine">Less is better. A container’s start includes its runtime; the image is local already.</p>
      <Bars panels={panels} what="start to first right answer" />
    </>
  );
}
