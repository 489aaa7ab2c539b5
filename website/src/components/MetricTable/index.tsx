// A table that explains columns of the benchmark pages, in the words of the metric registry.
import type {ReactNode} from 'react';
import registry from '../../generated/metrics.json';
import WideTable from '../WideTable';

interface Props {
  /** Metric by head of its column. */
  columns: Record<string, string>;
}

const ABOUT = new Map(registry.map(({name, about}) => [name, about]));

export default function MetricTable({columns}: Props): ReactNode {
  return (
    <WideTable>
      <thead>
        <tr>
          <th>column</th>
          <th>what it is</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(columns).map(([head, metric]) => (
          <tr key={head}>
            <td>{head}</td>
            <td>{aboutOf(metric)}</td>
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}

function aboutOf(metric: string): string {
  const about = ABOUT.get(metric);
  if (about === undefined) throw new Error(`a document explains the metric ${metric}, which the registry does not have`);
  return about;
}
