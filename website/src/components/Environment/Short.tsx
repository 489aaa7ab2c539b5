// The environment in short: machine, version, rivals, trials and load, with the way to the long form.
import type {ReactNode} from 'react';
import type {Run} from '../../generated/records';
import {isStock} from '../../lib/durable';
import {short, time} from '../../lib/format';
import type {PageScenario} from '../../lib/record';
import {cpuWords, dataWords, loadWords, machineWords, measuredTargets, titleWithAllocator} from '../../lib/regime';
import styles from './styles.module.css';

export default function EnvironmentShort({run, record}: {run: Run; record: PageScenario}): ReactNode {
  const targets = measuredTargets(run, record);
  const ours = targets.filter(({role}) => role === 'subject').map(titleWithAllocator);
  const rivals = targets.filter(({role}) => role !== 'subject').map(titleWithAllocator);
  const load = [loadWords(run, record), cpuWords(run, record), dataWords(run, record)].join('; ');
  const facts: [string, string][] = [
    ['Machine', machineWords(run)],
    ['Measured', [...ours, commitWords(run), time(run.started_at)].filter(Boolean).join(', ')],
    ['Beside', rivals.join('; ') || 'no rival'],
    ['Trials', trialWords(record)],
    ['Load', `${load.charAt(0).toUpperCase()}${load.slice(1)}`],
  ];
  return (
    <section aria-label="Environment in short" className={styles.short}>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <a href="#environment">Whole environment</a>
    </section>
  );
}

function commitWords({source}: Run): string {
  return source.commit ? `commit ${short(source.commit)}${source.dirty ? ' with changes' : ''}` : '';
}

/** `9 per cell`, `3 to 9 per cell`: what is only loaded for other cells is left out. */
function trialWords(record: PageScenario): string {
  const counts = record.cells.filter((cell) => cell.status === 'ok' && !isStock(cell)).map(({measurements}) => Math.max(0, ...measurements.map(({n}) => n)));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  if (counts.length === 0) return 'none came to a figure';
  return `${least === most ? most : `${least} to ${most}`} per cell, each a fresh process`;
}
