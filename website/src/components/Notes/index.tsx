// What did the runner remark on this run? Its warnings, as a list under their own heading; nothing when there are none.
import type {ReactNode} from 'react';
import type {Run} from '../../generated/records';

export default function Notes({run}: {run: Run}): ReactNode {
  if (run.notes.length === 0) return null;
  return (
    <>
      <h2 id="notes">Notes</h2>
      <ul>
        {run.notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </>
  );
}
