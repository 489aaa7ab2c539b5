// Scenarios that a version did not measure, and where each was measured last before it, by group.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {MeasuredGroup} from '../../../plugins/benchmarks/latest';

export default function MeasuredBefore({groups, version}: {groups: MeasuredGroup[]; version: string}): ReactNode {
  if (groups.length === 0) return null;
  return (
    <section>
      <h2 id="measured-before">Measured before or elsewhere</h2>
      <p>
        {version === 'local' ? 'The local runs' : `Version ${version}`} did not measure these here. Each is listed with the newest version that did, up to this
        one.
      </p>
      <dl className="findings">
        {groups.map(({title, pages}) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>
              <ul>
                {pages.map(({key, title: scenario, version: measuredIn, machineKey, profile, href}) => (
                  <li key={key}>
                    <Link to={href}>{scenario}</Link>: {measuredIn} on {machineKey}, {profile} run
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
