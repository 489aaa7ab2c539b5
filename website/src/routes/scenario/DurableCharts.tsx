// Which charts does a store on a disk have? What its scenario is about first, every trial a dot; then throughput and times.
import type {ReactNode} from 'react';
import type {Run} from '../../generated/records';
import {barFigures, scaleOf} from '../../lib/figures';
import type {PageScenario} from '../../lib/record';
import WireCharts, {Bars} from './WireCharts';

interface Figure {
  metric: string;
  unit: string;
  title: string;
  note: string;
}

const FIRST: Figure[] = [
  {metric: 'open_ms', unit: 'ms', title: 'Opening', note: 'Less is better. Until the store can be read.'},
  {metric: 'flush_ms', unit: 'ms', title: 'Flush', note: 'Less is better. Until a full write buffer is a table.'},
  {metric: 'compact_ms', unit: 'ms', title: 'Merging everything', note: 'Less is better.'},
  {metric: 'settled_ops_per_second', unit: '1/s', title: 'Load, counted until settled', note: 'Records per second when the time counts until merging is done.'},
];

const LAST: Figure[] = [
  {metric: 'device_read_bytes_per_op', unit: 'bytes', title: 'Read from the device per operation', note: 'Less is better. Nothing where the page cache has the data.'},
  {metric: 'rss_bytes_peak', unit: 'bytes', title: 'Peak resident memory', note: 'Less is better. Of an engine that maps its files, the mapped pages are in it.'},
];

export default function DurableCharts({record, run}: {record: PageScenario; run: Run}): ReactNode {
  return (
    <>
      {FIRST.map((figure) => (
        <One key={figure.metric} {...figure} record={record} run={run} />
      ))}
      <WireCharts record={record} run={run} />
      {LAST.map((figure) => (
        <One key={figure.metric} {...figure} record={record} run={run} />
      ))}
    </>
  );
}

function One({metric, unit, title, note, record, run}: Figure & {record: PageScenario; run: Run}): ReactNode {
  const scale = scaleOf(record, metric, unit);
  const figures = barFigures(record, run, metric, scale);
  // Nothing to see where every bar is nought.
  if (figures.every(({bars}) => bars.every(({median}) => median === 0))) return null;
  return (
    <>
      <h2 id={metric.replaceAll('_', '-')}>{title}</h2>
      <p className="fine">{note}</p>
      <Bars figures={figures} what={title.toLowerCase()} unit={scale.unit} />
    </>
  );
}
