// Conditions of a measurement: machine, network, CPUs, loop, where the data is, versions and allocators of what was measured.
import type {Run, TargetRecord} from '../generated/records';
import {isDurable, isStock} from './durable';
import {word} from './format';
import {partsOf} from './parts';
import {keepsNothing, type PageScenario} from './record';

/** Targets that came to a figure, without those that answer a constant. */
export function measuredTargets(run: Run, record: PageScenario): TargetRecord[] {
  const shown = new Set(record.cells.filter((cell) => cell.status === 'ok').map((cell) => cell.target));
  return run.targets.filter(({key}) => shown.has(key) && !keepsNothing(run, key));
}

/** `Redis 7.0.15 (Debian, jemalloc-5.2.1)`: with the allocator where the title leaves it out. */
export function titleWithAllocator({title, allocator}: TargetRecord): string {
  return title.includes(allocator) || !allocator ? title : `${title} (${allocator})`;
}

/** Whether every target of a record runs inside a driver program: there is no server, and no load generator. */
export function isInProcess(run: Run, record: PageScenario): boolean {
  const targets = measuredTargets(run, record);
  return targets.length > 0 ? targets.every(({transport}) => transport === 'in_process') : record.scenario.kind === 'embedded';
}

/** How the load reached what was measured: `closed loop over loopback`, `calls inside the process`. */
export function loadWords(run: Run, record: PageScenario): string {
  if (isInProcess(run, record)) return 'calls inside the process';
  if (record.scenario.kind === 'startup') return 'first request over loopback';
  const {closed, open} = partsOf(record, run);
  const loops = [closed.some(({status}) => status === 'ok') && 'closed', open.some(({status}) => status === 'ok') && 'open'].filter(Boolean);
  return `${loops.join(' and ') || 'closed'} loop over loopback`;
}

/** Which CPUs took part: `server on CPU 0, load generator on CPU 1`; of an engine in a process, `reads on one CPU, writes on all`. */
export function cpuWords({environment, ...run}: Run, record: PageScenario): string {
  if (isInProcess({environment, ...run}, record)) {
    const cells = record.cells.filter((cell) => cell.status === 'ok' && !isStock(cell));
    const [one, all] = [cells.some(({placement}) => placement === 'apart'), cells.some(({placement}) => placement === 'unpinned')];
    return one && all ? 'some cells on one CPU, others on all' : one ? 'on one CPU' : 'on all CPUs';
  }
  return environment.server_cpus && environment.generator_cpus
    ? `server on CPU ${environment.server_cpus}, load generator on CPU ${environment.generator_cpus}`
    : 'server and load generator not pinned';
}

/** Where the data is while it is read. */
export function dataWords(run: Run, record: PageScenario): string {
  const durable = measuredTargets(run, record).some(({durability}) => durability === 'durable');
  if (!durable) return 'all data in memory';
  const limited = isDurable(record) ? record.cells.filter((cell) => !isStock(cell)).map(({axes}) => axes.memory_limit_bytes !== undefined) : [];
  if (limited.length > 0 && limited.every(Boolean)) return 'data larger than the memory limit, on the device';
  return limited.some(Boolean) ? 'data in the page cache, under a memory limit on the device' : 'data in memory or in the page cache';
}

/** `PlumbKV EPYC machine (stored machine, two CPUs, kvm)`. */
export function machineWords({machine}: Run): string {
  const cpus = `${word(machine.threads)} ${machine.threads === 1 ? 'CPU' : 'CPUs'}`;
  return `${machine.title || machine.cpu_model} (${machine.class} machine, ${cpus}${machine.virtualisation === 'none' ? '' : `, ${machine.virtualisation}`})`;
}

/** All of it in one sentence. */
export function regime(run: Run, record: PageScenario): string {
  const versions = measuredTargets(run, record).map(titleWithAllocator);
  return `Regime: ${loadWords(run, record)} on ${machineWords(run)}; ${[cpuWords(run, record), dataWords(run, record), ...versions].join('; ')}.`;
}
