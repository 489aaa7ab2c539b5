// Which charts does memory per key have? Bytes of RSS and accounted bytes per key, every trial a dot.
import type {ReactNode} from 'react';
import type {Run} from '../../generated/records';
import {barFigures} from '../../lib/figures';
import type {PageScenario} from '../../lib/record';
import {Bars} from './WireCharts';

const BYTES = {unit: 'bytes', factor: 1};

export default function PerKeyCharts({record, run}: {record: PageScenario; run: Run}): ReactNode {
  const rss = barFigures(record, run, 'rss_bytes_per_key', BYTES);
  const accounted = barFigures(record, run, 'accounted_bytes_per_key', BYTES);
  return (
    <>
      {rss.length > 0 ? (
        <>
          <h2 id="rss-per-key">Resident memory per key</h2>
          <p className="fine">Less is better. Growth of the process’s resident memory, as the kernel counts it, over the number of keys.</p>
          <Bars figures={rss} what="RSS per key" unit="bytes" />
        </>
      ) : null}
      {accounted.length > 0 ? (
        <>
          <h2 id="accounted-per-key">By the server’s own account</h2>
          <Bars figures={accounted} what="accounted bytes per key" unit="bytes" />
        </>
      ) : null}
    </>
  );
}
