// The commands with which a reader makes these figures again.
import type {ReactNode} from 'react';
import type {Run} from '../../generated/records';
import {reproduceLines, startedBy} from '../../lib/reproduce';
import CopyBlock from '../CopyBlock';

interface Props {
  run: Run;
  /** Targets that the page shows; absent where it shows all of the run's. */
  taking?: ReadonlySet<string>;
}

export default function Reproduce({run, taking}: Props): ReactNode {
  return (
    <>
      <CopyBlock lines={reproduceLines(run, taking)} label="Commands that make this run again" />
      <p className="fine">
        This run was started by <code>{startedBy(run)}</code>. Another machine gives other figures: compare ratios within one run, not figures of two
        machines.
      </p>
    </>
  );
}
