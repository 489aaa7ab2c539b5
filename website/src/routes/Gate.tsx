// The gate's errors: what gates of which the truth was known said, live by machine and simulated, apart from those of an earlier
// rule; then gates that are kept, with the functions that made them red.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {CalibratedMachine, GateData} from '../../plugins/benchmarks/gate';
import CopyBlock from '../components/CopyBlock';
import Page, {Finding} from '../components/Page';
import RawData from '../components/RawData';
import {GATE_RULE} from '../generated/records';
import {count, short, time} from '../lib/format';
import {detections, falseAlarms, unknowns} from '../lib/gate';
import Gates from './gate/Gates';
import Noise from './gate/Noise';
import Rates from './gate/Rates';
import Simulated from './gate/Simulated';
import Verdict from './gate/Verdict';

export default function Gate({gate: {machines, earlier, simulated, examples}}: {gate: GateData}): ReactNode {
  return (
    <Page
      title="The gate’s errors"
      description="How often the gate calls a regression where there is none, and how often it finds one that was put in."
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: 'gate'}]}
    >
      <p className="lead">
        The gate compares a change with its base and says whether it is slower. How often it errs is measured by asking it what is known: live, of builds that
        differ in nothing that matters (renamed symbols, comments, sections in another order) and of builds that were made slower on purpose; and simulated, of
        made-up blocks. <Link to="/benchmarks/method/statistics/">By which rule it judges</Link>
      </p>
      {machines.length === 0 ? <NoCalibration /> : machines.map((machine) => <Machine key={machine.key} calibrated={machine} />)}
      {simulated ? <Simulated simulated={simulated} /> : null}
      {examples.map((gate) => (
        <Verdict key={gate.raw.name} gate={gate} />
      ))}
      {earlier.map((machine) => (
        <Machine key={machine.key} calibrated={machine} isEarlier />
      ))}
    </Page>
  );
}

function NoCalibration(): ReactNode {
  return (
    <section>
      <h2 id="live">Live gates</h2>
      <p>
        No calibration of the rule in force, <code>{GATE_RULE}</code>, is stored yet, so how often the gate errs on a machine is not known. To make one:
      </p>
      <CopyBlock lines={['bench-runner calibrate']} label="Command that measures how often the gate errs on this machine" />
      <p>
        It carries out one gate after the other for an hour and keeps each that ended in <code>results/calibration/&lt;machine&gt;.json</code>; the next call
        goes on behind it.
      </p>
    </section>
  );
}

function Machine({calibrated, isEarlier = false}: {calibrated: CalibratedMachine; isEarlier?: boolean}): ReactNode {
  const {key, machine, rates, noise, gates, raw, rule, tool} = calibrated;
  const title = machine.title || key;
  return (
    <section>
      <h2 id={key}>{isEarlier ? `An earlier rule: ${title}` : title}</h2>
      {isEarlier ? (
        <p className="measure">
          These gates were judged by {rule === undefined ? 'the rule before rules had names' : `the rule ${rule}`}, of {tool.name} {tool.version}. They say
          nothing of the rule in force, <code>{GATE_RULE}</code>.
        </p>
      ) : null}
      <Finding sentences={[...falseAlarms(rates), ...detections(rates)]} regime={regime(calibrated)} />
      <Rates id={key} rates={rates} />
      <Noise id={key} noise={noise} />
      <h3>What is not known</h3>
      <ul className="measure">
        {unknowns({rates, noise}).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <h3>The single gates</h3>
      <Gates id={key} gates={gates} />
      <RawData files={[raw]} />
    </section>
  );
}

/** On what, when and with which gate it was measured. */
function regime({machine, tool, gateSha256, gates}: CalibratedMachine): string {
  const [last, first] = [gates[0], gates.at(-1)];
  const when = first && last ? `, the first begun ${time(first.started_at)}, the last ${time(last.started_at)}` : '';
  return [
    `${machine.cpu_model}, ${count(machine.cores)} cores, ${count(machine.threads)} threads, ${count(machine.memory_gib)} GiB, ${machine.architecture}, virtualisation ${machine.virtualisation}; ${machine.class} machine, fingerprint ${machine.fingerprint}.`,
    `${gates.length === 0 ? 'No gate has ended yet' : `${count(gates.length)} ${gates.length === 1 ? 'gate' : 'gates'}`}${when}; written by ${tool.name} ${tool.version}, gate’s file SHA-256 ${short(gateSha256)}…: another file is another calibration.`,
  ].join(' ');
}
