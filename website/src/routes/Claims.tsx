// What does this project claim of its speed, and do the stored runs bear it out? Claims that fail stay in the list.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {ClaimsData} from '../../plugins/benchmarks/beyond';
import CopyBlock from '../components/CopyBlock';
import Page from '../components/Page';
import ScrollTable from '../components/ScrollTable';
import type {Claim, ClaimOnMachine, ClaimVerdict} from '../generated/records';
import {figure, fixed, ratio, scaleFor, word} from '../lib/format';
import {METRIC_WORDS} from '../lib/metrics';

const WORDS: Record<ClaimVerdict, string> = {holds: 'holds', fails: 'fails', not_measured: 'not measured'};
const ORDER: ClaimVerdict[] = ['holds', 'fails', 'not_measured'];

export default function Claims({claims: {claims, evidence}}: {claims: ClaimsData}): ReactNode {
  return (
    <Page
      title="What is claimed, and whether it holds"
      description="Every claim that this project makes of its speed and size, judged by the stored runs."
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: 'claims'}]}
    >
      {claims === undefined || claims.length === 0 ? (
        <>
          <p className="lead">No claim has been judged in this checkout.</p>
          <CopyBlock lines={['bench-runner claims --write']} label="Command that judges the claims by the stored runs" />
        </>
      ) : (
        <>
          <p className="lead">
            {tally(claims)} Each is judged by the newest published runs, machine by machine; one that fails is shown and not deleted.{' '}
            <Link to="/benchmarks/method/claims/">How a claim is judged</Link>. Whether a change makes PlumbKV slower is for the gate to say: <Link to="/benchmarks/gate/">how often it errs</Link>.
          </p>
          <Table claims={claims} />
          {claims.map((claim) => (
            <One key={claim.key} claim={claim} evidence={evidence} />
          ))}
        </>
      )}
    </Page>
  );
}

/** `Of ten claims six hold, none fails, four are not measured.` */
export function tally(claims: Pick<Claim, 'verdict'>[]): string {
  const told = ORDER.map((verdict) => {
    const many = claims.filter((claim) => claim.verdict === verdict).length;
    const one = {holds: 'holds', fails: 'fails', not_measured: 'is not measured'}[verdict];
    const more = {holds: 'hold', fails: 'fail', not_measured: 'are not measured'}[verdict];
    return many === 0 ? `none ${one}` : `${word(many)} ${many === 1 ? one : more}`;
  });
  return `Of ${word(claims.length)} ${claims.length === 1 ? 'claim' : 'claims'} ${told.join(', ')}.`;
}

function Table({claims}: {claims: Claim[]}): ReactNode {
  return (
    <ScrollTable label="Claims and their verdicts">
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">Claim</th>
            <th scope="col">Verdict</th>
            <th scope="col">Bound</th>
          </tr>
        </thead>
        <tbody>
          {claims.map((claim) => (
            <tr key={claim.key}>
              <th scope="row" className="statement">
                <a href={`#${claim.key}`}>{claim.statement}</a>
              </th>
              <td>
                <strong>{WORDS[claim.verdict]}</strong>
              </td>
              <td>{bound(claim)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollTable>
  );
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function One({claim, evidence}: {claim: Claim; evidence: Record<string, string>}): ReactNode {
  return (
    <section>
      <h2 id={claim.key}>{claim.statement}</h2>
      <p>
        <strong>{WORDS[claim.verdict]}</strong>: {claim.reason}
      </p>
      <p className="fine">
        {sentenceCase(METRIC_WORDS[claim.metric] ?? claim.metric.replaceAll('_', ' '))} of {claim.numerator.target}
        {claim.denominator ? ` to that of ${claim.denominator.target}` : ''}
        {claim.minus ? `, less that of ${claim.minus.numerator.target}` : ''} in {claim.scenario}, {bound(claim)}
        {claim.or ? `, or ${claim.comparison === '<=' ? 'at most' : 'at least'} ${claim.or.bound}× that of ${claim.or.denominator.target}` : ''};{' '}
        {claim.every_trial ? 'every trial must meet it' : `the far end of the interval may miss it by ${fixed(claim.slack_percent, 0)} ${claim.minus ? 'points' : '%'}`}. Judged from version {claim.since} on. Said in {claim.said_in.join(', ')}.
      </p>
      {claim.remark ? <p>{claim.remark}</p> : null}
      {/* On one machine the reason above is that machine's, and a paragraph without evidence would repeat it. */}
      {claim.machines.filter((machine) => claim.machines.length > 1 || machine.evidence.length > 0).map((machine) => (
        <Machine key={machine.machine_key} claim={claim} machine={machine} evidence={evidence} />
      ))}
      {claim.verdict === 'not_measured' ? (
        <p className="fine">
          To measure it: <code>{claim.measure}</code>
        </p>
      ) : null}
    </section>
  );
}

function Machine({claim, machine, evidence}: {claim: Claim; machine: ClaimOnMachine; evidence: Record<string, string>}): ReactNode {
  const {run} = machine;
  const href = run && evidence[`${machine.machine_key}/${run.id}/${claim.scenario}`];
  return (
    <>
      <p>
        {machine.machine_title}: {WORDS[machine.verdict]}, {machine.reason}.
        {run ? (
          <>
            {' '}
            Evidence: {href ? <Link to={href}>run {run.id}</Link> : `run ${run.id}`} of version {run.version}, {run.profile}; {run.targets.join(', ')}.
          </>
        ) : null}
      </p>
      {machine.evidence.length > 0 ? (
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
              {machine.evidence.map(({numerator, label, figure: found, verdict, reason}) => {
                const text = found && (claim.minus ? points(found) : claim.denominator ? ratio(found) : figure(found, scaleFor(unitOf(claim.metric), found.median)));
                return (
                  <tr key={numerator}>
                    <th scope="row">{label}</th>
                    <td>
                      {text ? text.value : '·'}
                      {text && found && found.n > 1 ? (
                        <span className="range">
                          {text.low}–{text.high}
                        </span>
                      ) : null}
                    </td>
                    <td>{bound(claim)}</td>
                    <td>{found?.n ?? '·'}</td>
                    <td className="words">
                      {WORDS[verdict]}: {reason}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </ScrollTable>
      ) : null}
    </>
  );
}

/** A difference of ratios or shares, in points. */
function points({median, low, high}: {median: number; low: number; high: number}): {value: string; low: string; high: string} {
  const shown = (value: number) => `${fixed(value * 100, 1)} points`;
  return {value: shown(median), low: shown(low), high: shown(high)};
}

function bound({comparison, bound: value, denominator, metric, minus}: Claim): string {
  const sign = comparison === '<=' ? 'at most' : 'at least';
  if (minus) return `${sign} ${fixed(value * 100, 0)} points`;
  if (denominator) return `${sign} ${value}×`;
  const scale = scaleFor(unitOf(metric), value);
  const scaled = value * scale.factor;
  return `${sign} ${fixed(scaled, Number.isInteger(scaled) ? 0 : 2)}${scale.unit ? ` ${scale.unit}` : ''}`;
}

// A name carries its unit.
function unitOf(metric: string): string {
  if (metric.endsWith('_per_second')) return '1/s';
  if (/(?:^|_)ns(?:_|$)/.test(metric)) return 'ns';
  if (/(?:^|_)bytes(?:_|$)/.test(metric)) return 'bytes';
  return /(?:^|_)ms(?:_|$)/.test(metric) ? 'ms' : 'count';
}
