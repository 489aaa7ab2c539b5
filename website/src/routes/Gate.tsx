// How often does the gate err? What gates of which the truth was known said, machine by machine; silence is no all-clear.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {CalibratedMachine, GateData} from '../../plugins/benchmarks/gate';
import CopyBlock from '../components/CopyBlock';
import Page, {Finding} from '../components/Page';
import RawData from '../components/RawData';
import {count, short, time} from '../lib/format';
import {detections, falseAlarms, unknowns} from '../lib/gate';
import Gates from './gate/Gates';
import Noise from './gate/Noise';
import Rates from './gate/Rates';

export default function Gate({gate: {machines}}: {gate: GateData}): ReactNode {
  return (
    <Page
      title="The gate’s errors"
      description="How often the gate calls a regression where there is none, and how often it finds one that was put in."
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: 'gate'}]}
    >
      <p className="lead">
        The gate compares a change with its base and says whether it is slower. How often it errs is measured by asking it what is known: a build against
        itself, and against one that was made slower on purpose. <Link to="/benchmarks/method/statistics/">By which rule it judges</Link>
      </p>
      {machines.length === 0 ? (
        <>
          <p>No calibration is stored in this checkout, so how often the gate errs is not known. To make one:</p>
          <CopyBlock lines={['bench-runner calibrate']} label="Command that measures how often the gate errs on this machine" />
          <p>
            It carries out one gate after the other for an hour and keeps each that ended in <code>results/calibration/&lt;machine&gt;.json</code>; the next call
            goes on behind it.
          </p>
        </>
      ) : (
        machines.map((machine) => <Machine key={machine.key} calibrated={machine} />)
      )}
    </Page>
  );
}

function Machine({calibrated}: {calibrated: CalibratedMachine}): ReactNode {
  const {key, machine, rates, noise, gates, raw} = calibrated;
  return (
    <section>
      <h2 id={key}>{machine.title || key}</h2>
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
