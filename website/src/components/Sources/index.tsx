// The runs that a page is made of, with the way to the page of each, which never changes.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {SourceLink} from '../../../plugins/benchmarks/routes';
import {time, word} from '../../lib/format';

export default function Sources({links}: {links: SourceLink[]}): ReactNode {
  const [only] = links;
  if (!only) return null;
  if (links.length === 1) {
    return (
      <p className="fine">
        From the {only.profile} run of {time(only.startedAt)}; <Link to={only.href}>the page of this run</Link> never changes.
      </p>
    );
  }
  return (
    <p className="fine">
      Merged from {word(links.length)} runs:{' '}
      {links.map(({id, href, profile, startedAt, cells}, index) => (
        <span key={id}>
          {index > 0 ? ', ' : ''}
          <Link to={href}>
            {profile} run of {time(startedAt)}
          </Link>{' '}
          ({cells === 1 ? 'one cell' : `${word(cells)} cells`})
        </span>
      ))}
      . For each cell the longest profile counts, and of those the newest run. Ratios and verdicts compare cells of one run only.
    </p>
  );
}
