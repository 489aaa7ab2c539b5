// How small a change can the gate find in each series of this machine? What was measured of the noise, and what follows from it.
import type {ReactNode} from 'react';
import ScrollTable from '../../components/ScrollTable';
import type {CalibrationNoise} from '../../generated/records';
import {count} from '../../lib/format';
import {detectableWords, small} from '../../lib/gate';
import {METRIC_WORDS} from '../../lib/metrics';

export default function Noise({id, noise}: {id: string; noise: CalibrationNoise[]}): ReactNode {
  return (
    <>
      <h3>How blocks scatter where nothing was changed</h3>
      {noise.length === 0 ? (
        <p>No series was measured: how small a change can be found is not known.</p>
      ) : (
        <>
          <ScrollTable label={`Noise and smallest change found on ${id}`}>
            <table className="plain numbers">
              <thead>
                <tr>
                  <th scope="col">Scenario and metric</th>
                  <th scope="col">Smallest change</th>
                  <th scope="col">Class</th>
                  <th scope="col">Standard deviation</th>
                  <th scope="col">Blocks</th>
                </tr>
              </thead>
              <tbody>
                {noise.map((one) => (
                  <tr key={`${one.scenario}/${one.metric}`}>
                    <th scope="row">
                      {one.label}
                      <span className="range">{METRIC_WORDS[one.metric] ?? one.metric.replaceAll('_', ' ')}</span>
                    </th>
                    <td>{detectableWords(one)}</td>
                    <td>{one.class}</td>
                    <td>{small(one.block_sd)}</td>
                    <td>{count(one.blocks)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollTable>
          <p className="fine">
            The standard deviation is that of a block’s log ratio where nothing was changed. The smallest change is the one that a gate finds four times in
            five: it is calculated from that deviation, as of normal blocks, and was not tried. <em>gated</em> finds 5&nbsp;%, <em>gated@8%</em> finds 8&nbsp;%,{' '}
            <em>advisory</em> neither: it is shown, and a gate passes without it.
          </p>
        </>
      )}
    </>
  );
}
