// Where is the whole distribution of each cell? As files in HdrHistogram's formats, folded, since there are many.
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import type {ReactNode} from 'react';
import type {RawLink} from '../../../plugins/benchmarks/routes';
import type {Run} from '../../generated/records';
import {rowLabel} from '../../lib/figures';
import {histogramName} from '../../lib/histograms';
import type {PageScenario} from '../../lib/record';
import ScrollTable from '../ScrollTable';

interface Props {
  record: PageScenario;
  run: Run;
  /** Raw files of the page: the histograms lie beside them. */
  files: RawLink[];
}

export default function Histograms({record, run, files}: Props): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  const folder = files[0]?.sitePath.replace(/[^/]+$/, '');
  const rows = record.cells.flatMap((cell, index) => (cell.distributions.length > 0 ? [{cell, name: histogramName(index, cell.key)}] : []));
  if (folder === undefined || rows.length === 0) return null;
  const link = (name: string, ending: string) => withBaseUrl(`${folder}histograms/${record.scenario.key}/${name}.${ending}`);
  return (
    <details className="fold">
      <summary>Histograms of each cell</summary>
      <p className="fine">
        The log holds every trial’s whole histogram in HdrHistogram’s format (version 2, nanoseconds); the list its percentiles, µs, as HdrHistogram’s
        plotter reads them.
      </p>
      <ScrollTable label={`${record.scenario.title}: histograms of each cell`}>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Cell</th>
              <th scope="col">Files</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({cell, name}) => (
              <tr key={cell.key}>
                <th scope="row">
                  {cell.label}
                  {cell.placement === 'together' ? ', on one CPU' : ''}: {rowLabel(cell, run)}
                </th>
                <td>
                  <a href={link(name, 'hlog')} download>
                    log
                  </a>
                  ,{' '}
                  <a href={link(name, 'hgrm')} download>
                    percentiles
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
    </details>
  );
}
