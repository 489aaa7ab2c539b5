// The page of claims: what this project says of its speed and size, and whether the stored runs bear it out. Claims that fail
// stay in the list.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {ClaimsData} from '../../plugins/benchmarks/beyond';
import CopyBlock from '../components/CopyBlock';
import Page from '../components/Page';
import {GROUPS, groupOf, tally} from '../lib/claims';
import One from './claims/One';
import Summary from './claims/Summary';

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
          <p className="lead">{tally(claims)}</p>
          <p>
            Each is judged by the newest published version that measured it, machine by machine; one that fails is shown and not deleted.{' '}
            <Link to="/benchmarks/method/claims/">How a claim is judged</Link>. Whether a change makes PlumbKV slower is for the gate to say:{' '}
            <Link to="/benchmarks/gate/">how often it errs</Link>.
          </p>
          {GROUPS.map(({key, title, what}) => {
            const own = claims.filter((claim) => groupOf(claim) === key);
            return own.length === 0 ? null : (
              <section key={key}>
                <h2 id={key}>{title}</h2>
                <p>
                  {what}. {tally(own)}
                </p>
                <Summary claims={own} title={title} />
                {own.map((claim) => (
                  <One key={claim.key} claim={claim} evidence={evidence} />
                ))}
              </section>
            );
          })}
        </>
      )}
    </Page>
  );
}
