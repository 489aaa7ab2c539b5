// Downloads of the histograms of each cell, in HdrHistogram's formats. They are made from the raw record, which is fetched
// when the reader wants the list, since it may have megabytes.
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import useIsBrowser from '@docusaurus/useIsBrowser';
import {type ReactNode, useState} from 'react';
import {island} from '../../document/island';
import type {Cell, ScenarioRecord} from '../../generated/records';
import {fetchedContent, fetchedJson} from '../../lib/fetched';
import {bytes} from '../../lib/format';
import {hasHistograms, histogramLog, histogramName, type HistogramSource, percentileList} from '../../lib/histograms';
import {MODE_LABELS} from '../../lib/record';
import ScrollTable from '../ScrollTable';

interface Props {
  /** Raw records of one scenario. */
  files: HistogramSource[];
}

interface Fetched {
  record: ScenarioRecord;
  /** The run's histograms, where they are in a file of their own. */
  file?: Uint8Array;
}

function Histograms({files}: Props): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  const [records, setRecords] = useState<Fetched[] | string>('');
  const isBrowser = useIsBrowser();
  const list = () => {
    setRecords('Fetching …');
    const fetched = async ({sitePath, histograms}: HistogramSource): Promise<Fetched> => ({
      record: await fetchedJson<ScenarioRecord>(withBaseUrl(sitePath)),
      ...(histograms ? {file: await fetchedContent(withBaseUrl(histograms.sitePath))} : {}),
    });
    Promise.all(files.map(fetched))
      .then(setRecords)
      .catch((error: unknown) => setRecords(`The records could not be fetched: ${String(error)}`));
  };
  return (
    <details className="fold">
      <summary>Histograms of each cell</summary>
      <p>
        Every trial’s histogram is in the raw record, in nanoseconds and HdrHistogram’s format, version 2: <code>cells[].trials[].histograms[]</code> has
        it compressed as text (<code>hdr_v2_deflate_base64</code>), or its place in the run’s <code>histograms.hdr.zst</code> (<code>hdr_v2</code>). As
        files for HdrHistogram’s tools they can be had here: the log (.hlog) of all trials of a cell, and its percentiles (.hgrm, µs).
      </p>
      {!isBrowser ? <p>Making these files needs JavaScript.</p> : null}
      {isBrowser && typeof records === 'string' ? (
        <p>
          <button type="button" onClick={list}>
            List the cells (fetches {bytes(files.reduce((sum, file) => sum + file.bytes + (file.histograms?.bytes ?? 0), 0))})
          </button>{' '}
          <span role="status">{records}</span>
        </p>
      ) : null}
      {typeof records === 'string' ? null : records.map((one) => <Cells key={one.record.run_id} {...one} />)}
    </details>
  );
}

function Cells({record, file}: Fetched): ReactNode {
  const [fault, setFault] = useState('');
  const saveLog = (name: string, cell: Cell) => {
    logOf(cell, file)
      .then((log) => save(name, log))
      .catch((error: unknown) => setFault(`${name} could not be made: ${String(error)}`));
  };
  return (
    <>
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
              return !hasHistograms(cell) ? null : (
                <tr key={cell.key}>
                  <th scope="row">
                    {cell.label}
                    {cell.placement === 'together' ? ', on one CPU' : ''}: {cell.target}, {MODE_LABELS[cell.mode]}
                  </th>
                  <td>
                    <button type="button" onClick={() => saveLog(`${name}.hlog`, cell)}>
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
      {fault ? <p role="status">{fault}</p> : null}
    </>
  );
}

async function logOf(cell: Cell, file: Uint8Array | undefined): Promise<string> {
  const {withTexts} = await import('../../lib/packed');
  return histogramLog(await withTexts(cell, file)) ?? '';
}

function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], {type: 'text/plain'}));
  const link = Object.assign(document.createElement('a'), {href: url, download: name});
  link.click();
  URL.revokeObjectURL(url);
}

export default island('histograms', Histograms);
