// Charts of memory per key: bytes of RSS and accounted bytes per key, every trial a dot.
import type {ReactNode} from 'react';
import Bars from '../../components/Bars';
import {barPanels} from '../../lib/figures';
import type {ChartProps} from './WireCharts';

export default function PerKeyCharts({record, run, labels}: ChartProps): ReactNode {
  const rss = barPanels(record, run, 'rss_bytes_per_key', 'bytes', labels);
  const accounted = barPanels(record, run, 'accounted_bytes_per_key', 'bytes', labels);
  return (
    <>
      {rss.length > 0 ? (
        <>
          <h2 id="rss-per-key">Resident memory per key</h2>
          <p className="fine">Less is better. Growth of the process’s resident memory, as the kernel counts it, over the number of keys.</p>
          <Bars panels={rss} what="RSS per key" />
        </>
      ) : null}
      {accounted.length > 0 ? (
        <>
          <h2 id="accounted-per-key">By the server’s own account</h2>
          <Bars panels={accounted} what="accounted bytes per key" />
        </>
      ) : null}
    </>
  );
}
