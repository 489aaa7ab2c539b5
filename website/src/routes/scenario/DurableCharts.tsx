// Charts of a store on a disk: what its scenario is about first, every trial a dot; then throughput, times and memory.
import type {ReactNode} from 'react';
import Bars from '../../components/Bars';
import {withoutStock} from '../../lib/durable';
import {barPanels} from '../../lib/figures';
import WireCharts, {type ChartProps} from './WireCharts';

interface Figure {
  metric: string;
  unit: string;
  title: string;
  note: string;
}

const FIRST: Figure[] = [
  {metric: 'open_ms', unit: 'ms', title: 'Opening', note: 'Less is better. Until the store can be read.'},
  {metric: 'flush_ms', unit: 'ms', title: 'Flush', note: 'Less is better. Until a full write buffer is a table.'},
  {metric: 'compact_ms', unit: 'ms', title: 'Compaction', note: 'Less is better. Until everything is in one level.'},
  {metric: 'delete_range_ms', unit: 'ms', title: 'Deletion of a range', note: 'Less is better. The time of the call.'},
  {metric: 'write_wait_ms', unit: 'ms', title: 'Longest wait of a writer beside the deletion', note: 'Less is better. One thread overwrites other keys meanwhile.'},
  {metric: 'space_amplification_peak_ratio', unit: 'ratio', title: 'Largest size of the files over the data', note: 'Less is better. While records are overwritten, and until compaction is done.'},
  {metric: 'slowest_window_ratio', unit: 'ratio', title: 'Slowest ten-second window over the median one', note: 'More is better; 1 is even.'},
  {metric: 'settled_ops_per_second', unit: '1/s', title: 'Load, counted until settled', note: 'Records per second when the time counts until compaction is done.'},
];

const LAST: Figure[] = [
  {metric: 'device_read_bytes_per_op', unit: 'bytes', title: 'Read from the device per operation', note: 'Less is better. Nothing where the page cache has the data.'},
  {metric: 'rss_bytes_peak', unit: 'bytes', title: 'Peak resident memory', note: 'Less is better. Of an engine that maps its files, the mapped pages are in it.'},
];

export default function DurableCharts({record, run, labels}: ChartProps): ReactNode {
  // What is only loaded for the cells beside it is in a folded table.
  const shown = withoutStock(record);
  return (
    <>
      {FIRST.map((figure) => (
        <One key={figure.metric} {...figure} record={shown} run={run} labels={labels} />
      ))}
      <WireCharts record={shown} run={run} labels={labels} />
      {LAST.map((figure) => (
        <One key={figure.metric} {...figure} record={shown} run={run} labels={labels} />
      ))}
    </>
  );
}

function One({metric, unit, title, note, record, run, labels}: Figure & ChartProps): ReactNode {
  const panels = barPanels(record, run, metric, unit, labels);
  if (panels.length === 0) return null;
  return (
    <>
      <h2 id={metric.replaceAll('_', '-')}>{title}</h2>
      <p className="fine">{note}</p>
      <Bars panels={panels} what={title.toLowerCase()} />
    </>
  );
}
