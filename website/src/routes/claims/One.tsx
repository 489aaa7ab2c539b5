// One claim: its verdict, how it is judged, and the evidence of each machine.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import ScrollTable from '../../components/ScrollTable';
import type {Claim, ClaimOnMachine} from '../../generated/records';
import {boundText, figureText, judgedMachines, machineWords, stateOf, stateWords, verdictText} from '../../lib/claims';
import {fixed} from '../../lib/format';
import {METRIC_WORDS} from '../../lib/metrics';

interface Props {
  claim: Claim;
  /** Page of the scenario's run by `<machine>/<run-id>/<scenario>`, where the run is stored. */
  evidence: Record<string, string>;
}

export default function One({claim, evidence}: Props): ReactNode {
  const machines = judgedMachines(claim);
  const state = stateOf(claim);
  const missing = claim.machines.filter(({machine_key: key}) => machines.every((machine) => machine.machine_key !== key));
  return (
    <section>
      <h3 id={claim.key}>{claim.statement}</h3>
      <p>
        <strong>{sentenceCase(stateWords(claim))}</strong>
        {machines.length > 0 ? `: ${machines.map((machine) => `${machine.machine_title}: ${machineWords(machine)}`).join('; ')}` : ''}.
      </p>
      <p className="fine">{judgement(claim)}</p>
      {claim.remark ? <p>{claim.remark}</p> : null}
      {machines.map((machine) => (
        <Machine key={machine.machine_key} claim={claim} machine={machine} evidence={evidence} />
      ))}
      {machines.length > 0 && missing.length > 0 ? (
        <p className="fine">No verdict on {missing.map(({machine_title: title}) => title).join(', ')}.</p>
      ) : null}
      {state === 'holds' || state === 'fails' ? null : (
        <p className="fine">
          To measure it: <code>{claim.measure}</code>
        </p>
      )}
    </section>
  );
}

function judgement(claim: Claim): string {
  const {metric, numerator, denominator, minus, or, scenario, comparison, every_trial: everyTrial, slack_percent: slack, since, said_in: places} = claim;
  const what = `${sentenceCase(METRIC_WORDS[metric] ?? metric.replaceAll('_', ' '))} of ${numerator.target}`;
  const beside = `${denominator ? ` to that of ${denominator.target}` : ''}${minus ? `, less that of ${minus.numerator.target}` : ''}`;
  const other = or ? `, or ${comparison === '<=' ? 'at most' : 'at least'} ${or.bound}× that of ${or.denominator.target}` : '';
  const rule = everyTrial ? 'every trial must meet it' : `the far end of the interval may miss it by ${fixed(slack, 0)} ${minus ? 'points' : '%'}`;
  return `${what}${beside} in ${scenario}: ${boundText(claim)}${other}; ${rule}. Judged from version ${since} on.${places.length > 0 ? ` Said in ${places.join(', ')}.` : ''}`;
}

function Machine({claim, machine, evidence}: Props & {machine: ClaimOnMachine}): ReactNode {
  const {run} = machine;
  if (machine.evidence.length === 0) return null;
  const href = run && evidence[`${machine.machine_key}/${run.id}/${claim.scenario}`];
  const name = run && `${run.profile} run ${run.id} of version ${run.version}`;
  return (
    <details className="fold">
      <summary>
        Evidence on {machine.machine_title}
        {run ? `, version ${run.version}` : ''}
      </summary>
      {run ? (
        <p className="fine">
          {href ? <Link to={href}>{name}</Link> : name}; {run.targets.join(', ')}.
        </p>
      ) : null}
      <ScrollTable label={`Evidence for ${claim.key} on ${machine.machine_key}`}>
        <table className="plain numbers">
          <thead>
            <tr>
              <th scope="col">Cell</th>
              <th scope="col">Figure</th>
              <th scope="col">Bound</th>
              <th scope="col">Trials</th>
              <th scope="col" className="words">
                Verdict
              </th>
            </tr>
          </thead>
          <tbody>
            {machine.evidence.map((one) => {
              const text = one.figure && figureText(claim, one.figure);
              return (
                <tr key={one.numerator}>
                  <th scope="row">{one.label}</th>
                  <td>
                    {text ? text.value : '·'}
                    {text && text.low !== text.high ? (
                      <span className="range">
                        {text.low}–{text.high}
                      </span>
                    ) : null}
                  </td>
                  <td>{boundText(claim)}</td>
                  <td>{one.figure?.n ?? '·'}</td>
                  <td className="words">{verdictText(claim, one)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </ScrollTable>
    </details>
  );
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
