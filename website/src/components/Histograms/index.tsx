// Downloads of the histograms of each cell, in HdrHistogram's formats. They are made from the raw record, which is fetched
// when the reader wants the list, since it may have megabytes.
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import useIsBrowser from '@docusaurus/useIsBrowser';
import {type ReactNode, useState} from 'react';
import {island} from '../../document/island';
import type {ScenarioRecord} from '../../generated/records';
import {bytes} from '../../lib/format';
import {histogramLog, histogramName, percentileList} from '../../lib/histograms';
import {MODE_LABELS} from '../../lib/record';
import ScrollTable from '../ScrollTable';

interface Props {
  /** Raw records of one scenario. */
  files: {name: string; sitePath: string; bytes: number}[];
}

function Histograms({files}: Props): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  const [records, setRecords] = useState<ScenarioRecord[] | string>('');
  const isBrowser = useIsBrowser();
  const list = () => {
    setRecords('Fetching …');
    Promise.all(files.map(({sitePath}) => fetched(withBaseUrl(sitePath))))
      .then(setRecords)
      .catch((error: unknown) => setRecords(`The records could not be fetched: ${String(error)}`));
  };
  return (
    <details className="fold">
      <summary>Histograms of each cell</summary>
      <p>
        Every trial’s histogram is in the raw record: <code>cells[].trials[].histograms[].hdr_v2_deflate_base64</code>, nanoseconds, in HdrHistogram’s
        compressed format, version 2. As files for HdrHistogram’s tools they can be had here: the log (.hlog) of all trials of a cell, and its
        percentiles (.hgrm, µs).
      </p>
      {!isBrowser ? <p>Making these files needs JavaScript.</p> : null}
      {isBrowser && typeof records === 'string' ? (
        <p>
          <button type="button" onClick={list}>
            List the cells (fetches {bytes(files.reduce((sum, file) => sum + file.bytes, 0))})
          </button>{' '}
          <span role="status">{records}</span>
        </p>
      ) : null}
      {typeof records === 'string' ? null : records.map((record) => <Cells key={record.run_id} record={record} />)}
    </details>
  );
}

function Cells({record}: {record: ScenarioRecord}): ReactNode {
  return (
    <ScrollTable label={`Histograms of each cell of run ${record.run_id}`}>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">Cell of run {record.run_id}</th>
            <th scope="col">Files</th>
          </tr>
        </thead>
        <tbody>
          {record.cells.map((cell, index) => {
            const name = histogramName(index, cell.key);
            return histogramLog(cell) === undefined ? null : (
              <tr key={cell.key}>
                <th scope="row">
                  {cell.label}
                  {cell.placement === 'together' ? ', on one CPU' : ''}: {cell.target}, {MODE_LABELS[cell.mode]}
                </th>
                <td>
                  <button type="button" onClick={() => save(`${name}.hlog`, histogramLog(cell) ?? '')}>
                    .hlog
                  </button>{' '}
                  <button type="button" onClick={() => save(`${name}.hgrm`, percentileList(cell))}>
                    .hgrm
                  </button>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollTable>
  );
}

async function fetched(url: string): Promise<ScenarioRecord> {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`${url}: HTTP ${reply.status}`);
  return (await reply.json()) as ScenarioRecord;
}

function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], {type: 'text/plain'}));
  const link = Object.assign(document.createElement('a'), {href: url, download: name});
  link.click();
  URL.revokeObjectURL(url);
}

export default island('histograms', Histograms);
