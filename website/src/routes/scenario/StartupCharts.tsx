// Which chart does a start have? Milliseconds to the first right answer, every trial a dot.
import type {ReactNode} from 'react';
import type {Run} from '../../generated/records';
import {barFigures} from '../../lib/figures';
import type {PageScenario} from '../../lib/record';
import {Bars} from './WireCharts';

export default function StartupCharts({record, run}: {record: PageScenario; run: Run}): ReactNode {
  const figures = barFigures(record, run, 'startup_ms', {unit: 'ms', factor: 1});
  if (figures.length === 0) return null;
  return (
    <>
      <h2 id="start">Start to first right answer</h2>
      <p className="fine">Less is better. A container’s start includes its runtime; the image is local already.</p>
      <Bars figures={figures} what="start to first right answer" unit="ms" />
    </>
  );
}
