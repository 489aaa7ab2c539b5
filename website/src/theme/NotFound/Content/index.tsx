// What does a reader find where there is no page?
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';

export default function NotFoundContent(): ReactNode {
  return (
    <main className="page">
      <h1>There is no such page</h1>
      <p className="lead">
        Pages of a run never move or vanish; a page of a version exists only where that version was measured on that machine.
      </p>
      <ul>
        <li>
          <Link to="/benchmarks/">All versions and machines</Link>
        </li>
        <li>
          <Link to="/docs/getting-started/">Getting started</Link>
        </li>
        <li>
          <Link to="/">The front page</Link>
        </li>
      </ul>
    </main>
  );
}
