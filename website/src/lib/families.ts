// Families of cells: what shares a table. Loads and reads have no columns in common, and neither have fills and traces.
import type {PageCell, PageScenario} from './record';

export interface Family {
  title: string;
  /** Loaded for the cells beside it: shown folded, behind the others. */
  folded: boolean;
  cells: PageCell[];
}

const EMBEDDED: Partial<Record<string, string>> = {
  load: 'Loads',
  open: 'Opening',
  open_killed: 'Opening',
  flush: 'Flush',
  compact: 'Compaction',
  write: 'Writes',
  sustained_write: 'Writes',
  overwrite: 'Overwrites',
  queue: 'Queue',
  delete_range: 'Deletion of a range',
  mixed: 'Reads and writes',
};

const MEMORY_CAP: Partial<Record<string, string>> = {
  fill: 'Filling the cap',
  overwrite: 'Overwrites',
  ttl_churn: 'Short lifetimes',
  trace: 'Reads of a trace',
  hostile: 'Everything at once',
  idle: 'Idle connections',
};

/** The families of some cells, in the order in which they come up, folded ones last. */
export function familiesOf(record: PageScenario, cells: PageCell[]): Family[] {
  const found = new Map<string, Family>();
  for (const cell of cells) {
    const {title, folded} = familyOf(record, cell);
    const family = found.get(title) ?? {title, folded, cells: []};
    family.cells.push(cell);
    found.set(title, family);
  }
  const all = [...found.values()];
  // Where nothing else was measured, nothing is folded.
  if (all.every(({folded}) => folded)) return all.map((family) => ({...family, folded: false}));
  // A scenario about loading begins with its loads, whatever else is measured on them.
  const isFirst = ({title}: Family) => title === 'Loads' && record.scenario.key.startsWith('load');
  return [...all.filter(isFirst), ...all.filter((one) => !one.folded && !isFirst(one)), ...all.filter(({folded}) => folded)];
}

function familyOf({scenario}: PageScenario, {axes}: PageCell): Omit<Family, 'cells'> {
  const {operation} = axes;
  if (scenario.kind === 'memory_cap') return {title: MEMORY_CAP[operation] ?? 'Other loads', folded: false};
  if (operation === 'peak') return {title: 'Closed-loop peak', folded: false};
  if (scenario.kind !== 'embedded') return {title: 'Requests', folded: false};
  if (operation === 'stock') return scenario.key.startsWith('load') ? {title: 'Loads', folded: false} : {title: 'Loads of the stored directories', folded: true};
  const isMix = operation.startsWith('ycsb');
  return {title: EMBEDDED[operation] ?? (isMix ? 'Reads and writes' : 'Reads'), folded: false};
}

