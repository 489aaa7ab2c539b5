// Verdicts of a scenario: a table per metric that it is about, ours to each rival at every point.
import type {ReactNode} from 'react';
import VerdictTable from '../../components/VerdictTable';
import type {Run} from '../../generated/records';
import type {ShortLabels} from '../../lib/labels';
import type {PageScenario} from '../../lib/record';
import {LEAST_TRIALS} from '../../lib/verdict';
import {verdictTables} from '../../lib/verdicttable';

export default function Verdicts({record, run, labels}: {record: PageScenario; run: Run; labels: ShortLabels}): ReactNode {
  const tables = verdictTables(record, run, labels);
  if (tables.length === 0) return null;
  return (
    <>
      <h2 id="verdicts">Against each rival</h2>
      {tables.map((table) => (
        <VerdictTable key={table.title} table={table} />
      ))}
      <p className="fine">
        Median of the ratios of trials of the same round, below it their interval. A word is said where the interval leaves 1 out; with fewer than {LEAST_TRIALS}{' '}
        trials the small figures are a range, and nothing is said.{labels.shared ? ` At every point: ${labels.shared}.` : ''}
      </p>
    </>
  );
}
