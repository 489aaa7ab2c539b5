// With which commands does a reader make these figures again?
import type {ReactNode} from 'react';
import type {Run} from '../../generated/records';
import CopyBlock from '../CopyBlock';

export default function Reproduce({run}: {run: Run}): ReactNode {
  return (
    <>
      <CopyBlock lines={run.reproduce.length > 0 ? run.reproduce : [run.command]} label="Commands that make this run again" />
      <p className="fine">
        This run was started by <code>{run.command}</code>. Another machine gives other figures: compare ratios within one run, not figures of two machines.
      </p>
    </>
  );
}
