// The claims of one group: statement, state, the figure that is nearest to failing, and the bound.
import type {ReactNode} from 'react';
import ScrollTable from '../../components/ScrollTable';
import type {Claim} from '../../generated/records';
import {boundText, closest, figureText, judgedMachines, stateWords} from '../../lib/claims';

export default function Summary({claims, title}: {claims: Claim[]; title: string}): ReactNode {
  return (
    <ScrollTable label={`Claims of the group ${title} and their verdicts`}>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">Claim</th>
            <th scope="col">Verdict</th>
            <th scope="col">Closest figure</th>
            <th scope="col">Bound</th>
          </tr>
        </thead>
        <tbody>
          {claims.map((claim) => (
            <tr key={claim.key}>
              <th scope="row" className="statement">
                <a href={`#${claim.key}`}>{claim.statement}</a>
              </th>
              <td className="words">
                <strong>{stateWords(claim)}</strong>
              </td>
              <td>{closestText(claim)}</td>
              <td>{boundText(claim)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollTable>
  );
}

function closestText(claim: Claim): ReactNode {
  const found = closest(claim, judgedMachines(claim).flatMap(({evidence}) => evidence))?.figure;
  if (!found) return '–';
  const {value, low, high} = figureText(claim, found);
  return (
    <>
      {value}
      {found.n > 1 && low !== high ? (
        <span className="range">
          {low}–{high}
        </span>
      ) : null}
    </>
  );
}
