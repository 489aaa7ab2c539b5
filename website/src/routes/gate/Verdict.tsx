// One gate that is kept: its word, its series with their intervals, and for a slower load the functions that take more instructions.
import type {ReactNode} from 'react';
import type {ShownGate} from '../../../plugins/benchmarks/gate';
import {Finding} from '../../components/Page';
import RawData from '../../components/RawData';
import {duration, short, time} from '../../lib/format';
import {OUTCOME_WORDS} from '../../lib/gate';
import VerdictTables from './VerdictTables';

export default function Verdict({gate}: {gate: ShownGate}): ReactNode {
  const {outcome, reason, verdicts, profiles = [], raw} = gate;
  // Names of files are unique on the page, ids of gates need not be.
  const id = raw.name.replace(/\.json$/, '');
  return (
    <section>
      <h2 id={`gate-${id}`}>
        A gate that said {OUTCOME_WORDS[outcome]}, {time(gate.started_at)}
      </h2>
      <Finding sentences={[`${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`]} regime={regime(gate)} />
      <VerdictTables id={id} verdicts={verdicts} profiles={profiles} />
      <RawData files={[raw]} />
    </section>
  );
}

function regime({base, head, machine_key: key, cpuModel, measured_s: measured, tool}: ShownGate): string {
  const side = ({given, commit}: ShownGate['base']) => (commit === '' ? given : `${given} (${short(commit)})`);
  return `${side(base)} against ${side(head)} on ${key}, ${cpuModel}; measured for ${duration(measured)} by ${tool.name} ${tool.version}.`;
}
