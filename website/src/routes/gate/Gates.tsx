// What did each gate say? One row per gate, newest first, folded: there may be hundreds.
import type {ReactNode} from 'react';
import type {ListedGate} from '../../../plugins/benchmarks/gate';
import ScrollTable from '../../components/ScrollTable';
import {fixed, time, word} from '../../lib/format';
import {injectedWords, verdictWords} from '../../lib/gate';

export default function Gates({id, gates}: {id: string; gates: ListedGate[]}): ReactNode {
  if (gates.length === 0) return <p>No gate has been carried out yet; the noise above was measured before the first one.</p>;
  return (
    <details className="fold">
      <summary>{gates.length === 1 ? 'The one gate' : `All ${word(gates.length)} gates`} with date and reason</summary>
      <ScrollTable label={`Single gates on ${id}`}>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Begun, UTC</th>
              <th scope="col">Injected</th>
              <th scope="col">Outcome</th>
              <th scope="col">Minutes</th>
              <th scope="col">Reason</th>
            </tr>
          </thead>
          <tbody>
            {gates.map((gate) => (
              <tr key={gate.id}>
                <th scope="row">{time(gate.started_at).replace(' UTC', '')}</th>
                <td>{injectedWords(gate)}</td>
                <td>
                  <strong>{verdictWords(gate)}</strong>
                </td>
                <td>{fixed(gate.measured_s / 60, 1)}</td>
                <td className="words long">{gate.reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
    </details>
  );
}
