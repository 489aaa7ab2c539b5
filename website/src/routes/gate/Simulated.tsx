// Simulated gates: the code that judges, given blocks of which the truth is known. A row per kind of noise, folded.
import type {ReactNode} from 'react';
import type {GateData} from '../../../plugins/benchmarks/gate';
import {Finding} from '../../components/Page';
import RawData from '../../components/RawData';
import ScrollTable from '../../components/ScrollTable';
import {small} from '../../lib/gate';
import {effectsOf, effectWords, falseWords, foundWords, shapeWords, simulatedRows, simulatedSentences} from '../../lib/simulated';

export default function Simulated({simulated: {cases, seed, raw}}: {simulated: NonNullable<GateData['simulated']>}): ReactNode {
  const series = [...new Set(cases.map((one) => one.series))].join(', ');
  return (
    <section>
      <h2 id="simulated">Simulated gates</h2>
      <Finding
        sentences={simulatedSentences(cases)}
        regime={`Not measured: the code that judges was given made-up blocks of ${series} series, seed ${seed}. Real machines have noise of other kinds; the live gates are for that.`}
      />
      <details className="fold">
        <summary>Every kind of noise</summary>
        <ScrollTable label="Simulated gates by kind of noise">
          <table className="plain numbers">
            <thead>
              <tr>
                <th scope="col">
                  Deviation of a block<span className="range">log ratio</span>
                </th>
                <th scope="col">
                  of it, layouts<span className="range">of a program</span>
                </th>
                <th scope="col">
                  Mood<span className="range">correlation of trials</span>
                </th>
                <th scope="col">Rest</th>
                <th scope="col">False red</th>
                {effectsOf(cases).map((effect) => (
                  <th key={effect} scope="col">
                    {effectWords(effect)}
                    <span className="range">found</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {simulatedRows(cases).map(({key, noise, falseRed, found}) => (
                <tr key={key}>
                  <th scope="row">{small(noise.block_sd)}</th>
                  <td>{small(noise.layout_sd)}</td>
                  <td>{noise.mood}</td>
                  <td>{shapeWords(noise.shape)}</td>
                  <td>{falseWords(falseRed)}</td>
                  {found.map((one, index) => (
                    <td key={index}>{foundWords(one)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollTable>
      </details>
      <RawData files={[raw]} />
    </section>
  );
}
