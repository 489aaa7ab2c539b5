// Tables of one gate: its series with their intervals, and for each slower load the functions that take more instructions.
import type {ReactNode} from 'react';
import type {ShownVerdict} from '../../../plugins/benchmarks/gate';
import ScrollTable from '../../components/ScrollTable';
import type {GateProfile} from '../../generated/records';
import {count} from '../../lib/format';
import {OUTCOME_WORDS} from '../../lib/gate';
import {amount, byDifference, byImportance, difference, instructions, signed, spanWords} from '../../lib/gateverdict';
import {METRIC_WORDS} from '../../lib/metrics';

interface Props {
  /** Name of the gate, unique on the page. */
  id: string;
  verdicts: ShownVerdict[];
  profiles: GateProfile[];
}

export default function VerdictTables({id, verdicts, profiles}: Props): ReactNode {
  return (
    <>
      {verdicts.length === 0 ? <p>It has no series.</p> : <Series id={id} verdicts={byImportance(verdicts)} />}
      {profiles.map((profile, index) => (
        <Functions key={index} id={`${id}, ${index + 1}`} profile={profile} />
      ))}
    </>
  );
}

function Series({id, verdicts}: {id: string; verdicts: ShownVerdict[]}): ReactNode {
  return (
    <ScrollTable label={`Series of gate ${id}`}>
      <table className="plain numbers">
        <thead>
          <tr>
            <th scope="col">Scenario and metric</th>
            <th scope="col">Verdict</th>
            <th scope="col">
              Change<span className="range">95&nbsp;% interval</span>
            </th>
            <th scope="col">Base</th>
            <th scope="col">Head</th>
            <th scope="col">Blocks</th>
          </tr>
        </thead>
        <tbody>
          {verdicts.map((one, index) => (
            <tr key={index}>
              <th scope="row">
                {one.label || one.scenario}
                <span className="range">{METRIC_WORDS[one.metric] ?? one.metric.replaceAll('_', ' ')}</span>
              </th>
              <td>
                <strong>{OUTCOME_WORDS[one.outcome]}</strong>
                <span className="range">{one.class}</span>
              </td>
              <td>
                {one.ratio === undefined ? '·' : signed(one.ratio)}
                <span className="range">{spanWords(one)}</span>
              </td>
              <td>{amount(one.base, one.unit)}</td>
              <td>{amount(one.head, one.unit)}</td>
              <td>{one.stage === 'counted' ? 'counted' : count(one.measured)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollTable>
  );
}

function Functions({id, profile}: {id: string; profile: GateProfile}): ReactNode {
  const functions = byDifference(profile);
  return (
    <>
      <h3>Why it is slower: {profile.label}</h3>
      {functions.length === 0 ? (
        <p>No function takes more instructions, so it is not the work that is slower.</p>
      ) : (
        <ScrollTable label={`Functions of gate ${id}`}>
          <table className="plain numbers">
            <thead>
              <tr>
                <th scope="col">
                  Function<span className="range">instructions per request, without those it calls</span>
                </th>
                <th scope="col">Base</th>
                <th scope="col">Head</th>
                <th scope="col">Difference</th>
              </tr>
            </thead>
            <tbody>
              {functions.map((one, index) => (
                <tr key={index}>
                  <th scope="row">
                    <code>{one.name}</code>
                  </th>
                  <td>{instructions(one.base)}</td>
                  <td>{instructions(one.head)}</td>
                  <td>{difference(one)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollTable>
      )}
    </>
  );
}
