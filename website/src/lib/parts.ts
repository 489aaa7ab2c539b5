// Which cells of a record stand in which part of its page? Closed loops, open loops, cells of somebody else's load
// generator, and servers that were not found here are told apart; classes of servers never share a table.
import type {Axes, Run, TargetRecord} from '../generated/records';
import {type PageCell, type PageScenario, targetOf} from './record';

export interface Parts {
  /** By our own generator, each client waiting for its reply; and whatever has no generator at all. */
  closed: PageCell[];
  /** Requests start when they are due. */
  open: PageCell[];
  /** The same load by a program that nobody here wrote. */
  foreign: PageCell[];
  /** Servers that the scenario asks for and that were not found here. */
  absent: {target: TargetRecord; reason: string}[];
}

export function partsOf(record: PageScenario, run: Run): Parts {
  const parts: Parts = {closed: [], open: [], foreign: [], absent: []};
  for (const cell of record.cells) {
    const target = targetOf(run, cell.target);
    if (target && !target.available) {
      if (!parts.absent.some((entry) => entry.target === target)) {
        parts.absent.push({target, reason: target.reason ?? cell.reason ?? 'no reason given'});
      }
    } else if (cell.axes.client_program !== undefined) parts.foreign.push(cell);
    else if (isOpenLoop(cell)) parts.open.push(cell);
    else parts.closed.push(cell);
  }
  return parts;
}

export function isOpenLoop(cell: PageCell): boolean {
  return cell.axes.operation === 'knee' || cell.axes.arrival !== undefined || cell.trials.some((trial) => trial.open_loop !== undefined);
}

/** The record with some of its cells. */
export function withCells(record: PageScenario, cells: PageCell[]): PageScenario {
  return {...record, cells};
}

export interface ServerClass {
  /** `Over a socket, volatile`. */
  name: string;
  cells: PageCell[];
}

const TRANSPORTS: Record<string, string> = {socket: 'Over a socket', in_process: 'In process'};

/** Cells by class of their server; one that answers a constant joins the first class of its transport. */
export function classesOf(cells: PageCell[], run: Run): ServerClass[] {
  const classes = new Map<string, ServerClass>();
  const constant: PageCell[] = [];
  for (const cell of cells) {
    const target = targetOf(run, cell.target);
    if (target && (target.role === 'floor' || target.role === 'ceiling')) {
      constant.push(cell);
      continue;
    }
    const transport = target?.transport ?? 'socket';
    const name = `${TRANSPORTS[transport] ?? transport}, ${target?.durability ?? 'volatile'}`;
    const found = classes.get(name) ?? {name, cells: []};
    found.cells.push(cell);
    classes.set(name, found);
  }
  const first = [...classes.values()].find(({name}) => name.startsWith('Over a socket'));
  if (first) first.cells.push(...constant);
  else if (constant.length > 0) classes.set('floor', {name: 'Floor and ceiling', cells: constant});
  return [...classes.values()];
}

/** What `figures` makes of each class of servers, told apart by the class's name where there are several. */
export function byClass<T>(record: PageScenario, run: Run, figures: (own: PageScenario, named: (label: string) => string) => T[]): T[] {
  const classes = classesOf(record.cells, run);
  return classes.flatMap(({name, cells}) =>
    figures(withCells(record, cells), (label) => (classes.length > 1 ? `${label}, ${name.charAt(0).toLowerCase()}${name.slice(1)}` : label)),
  );
}

/** A cell's axes as text, without those that are named: equal for cells that differ in nothing else. */
export function axesWithout(axes: Axes, ...names: (keyof Axes)[]): string {
  return JSON.stringify(
    Object.entries(axes)
      .filter(([name, value]) => value !== undefined && !names.includes(name as keyof Axes))
      .sort(([a], [b]) => a.localeCompare(b)),
  );
}
