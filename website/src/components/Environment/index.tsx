// The environment of a run: machine, programs and containers; of a scenario also its processes.
import type {ReactNode} from 'react';
import type {Run, TargetRecord} from '../../generated/records';
import {diskSentence} from '../../lib/durable';
import {bytes, duration, short, time} from '../../lib/format';
import {MODE_LABELS, type PageProcess, type PageScenario} from '../../lib/record';
import {cpuWords, isInProcess} from '../../lib/regime';
import styles from './styles.module.css';

type Fact = [name: string, value: ReactNode];

interface Props {
  run: Run;
  /** The scenario of the page; a version's page has none. */
  record?: PageScenario;
}

export default function Environment({run, record}: Props): ReactNode {
  const processes = record?.processes ?? [];
  const isEngine = record !== undefined && isInProcess(run, record);
  return (
    <>
      <Facts facts={machineFacts(run, isEngine ? cpuWords(run, record) : undefined)} />
      <details className="fold">
        <summary>Programs that were measured</summary>
      {run.targets.map((target) => (
        <div key={target.key}>
          <p className={styles.name}>{target.title}</p>
          <Facts facts={targetFacts(target)} />
        </div>
      ))}
      </details>
      {processes.length > 0 ? (
        <details className="fold">
          <summary>Processes and containers, as the kernel told of them</summary>
          {processes.map((process) => (
            <div key={`${process.target}/${process.mode}`}>
              <p className={styles.name}>
                {run.targets.find(({key}) => key === process.target)?.title ?? process.target}, {MODE_LABELS[process.mode]}
              </p>
              <Facts facts={processFacts(process, isEngine)} />
            </div>
          ))}
        </details>
      ) : null}
    </>
  );
}

function Facts({facts}: {facts: Fact[]}): ReactNode {
  return (
    <dl className={styles.facts}>
      {facts
        .filter(([, value]) => value !== '' && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** `cpus`: said of engines in a process, where there is no server and no load generator. */
function machineFacts({machine, environment, ...run}: Run, cpus?: string): Fact[] {
  return [
    ['Run', `${run.id}, ${time(run.started_at)}, ${duration(run.elapsed_s)}`],
    ['State', run.state === 'interrupted' ? 'interrupted: some cells were never tried' : 'complete'],
    ['Source', `${run.source.commit ? short(run.source.commit) : 'outside a checkout'}${run.source.dirty ? ' with changes' : ''}, version ${run.source.version}`],
    ['Measured by', `${run.tool.name} ${run.tool.version}, seed ${run.seed}`],
    ['Machine', `${machine.title || 'not listed'} (${machine.class}), fingerprint ${machine.fingerprint}`],
    ['CPU', `${machine.cpu_model}, ${machine.cores} cores, ${machine.threads} threads, ${machine.architecture}`],
    ['Memory', `${machine.memory_gib} GiB, swap ${bytes(environment.swap_bytes)}`],
    ['Virtualisation', machine.virtualisation],
    ['System', `${environment.os}, Linux ${environment.kernel}`],
    ...(cpus === undefined
      ? ([
          ['CPUs of server', environment.server_cpus || 'not pinned'],
          ['CPUs of generator', environment.generator_cpus || 'not pinned'],
        ] as Fact[])
      : ([['CPUs of the engines', cpus]] as Fact[])),
    ['Governor, turbo, SMT', `${environment.governor}, ${environment.turbo}, ${environment.smt}`],
    ['Huge pages, ASLR', `${environment.transparent_hugepage}, ${environment.aslr}`],
    ['Control groups', `${environment.cgroup_version}: ${environment.cgroup_controllers.join(', ') || 'no controller usable'}`],
    ['Containers', environment.container_runtime ?? `none: ${environment.container_reason ?? 'no reason given'}`],
    ['Limits', `${environment.open_files_limit} open files, somaxconn ${environment.somaxconn}`],
    ['Disk', diskSentence(environment) ?? ''],
    ['Load at start', String(environment.load_average_start)],
    ['Tools', environment.tools.join(', ')],
    ['Mitigations', environment.mitigations.join('; ')],
  ];
}

function targetFacts(target: TargetRecord): Fact[] {
  const {build, image} = target;
  return [
    ['Here', target.available ? 'found' : `not found: ${target.reason ?? 'no reason given'}`],
    ['Version', target.version],
    ['Allocator', target.allocator],
    ['Class', `${target.transport.replace('_', ' ')}, ${target.durability}`],
    ['Command', <code key="command">{target.command.join(' ')}</code>],
    ['Settings', target.settings.map(({key, value, reason}) => `${key} ${value} (${reason})`).join('; ')],
    ['Program file', build ? `${build.file}, ${bytes(build.bytes)}, ${build.is_static ? 'static' : 'dynamic'}, SHA-256 ${short(build.sha256)}…` : ''],
    ['Built with', build ? [build.rustc, build.profile && `profile ${build.profile}`, build.target, build.rustflags].filter(Boolean).join(', ') : ''],
    ['Image', image ? `${image.reference}, ${bytes(image.bytes)}, ${short(image.digest)}…, program SHA-256 ${short(image.binary_sha256)}…, ${image.runtime}` : ''],
  ];
}

function processFacts({facts}: PageProcess, isEngine: boolean): Fact[] {
  const cgroup = Object.entries(facts.cgroup).map(([controller, path]) => `${controller}: ${path}`);
  return [
    ['Runtime', [facts.runtime, facts.oci_runtime].filter(Boolean).join(', ')],
    ['Image digest', facts.image_digest ? `${short(facts.image_digest)}…` : ''],
    ['Program SHA-256', `${short(facts.binary_sha256)}…`],
    ['CPU limit', facts.cpu_limit === undefined ? 'none' : `${facts.cpu_limit} CPU`],
    ['Memory limit', facts.memory_limit_bytes === undefined ? 'none' : bytes(facts.memory_limit_bytes)],
    ['Limits read from', facts.limit_files.join(', ')],
    ['Control group', cgroup.join(', ')],
    ['CPUs allowed', isEngine ? facts.cpus_allowed : `server ${facts.cpus_allowed}, generator ${facts.generator_cpus}`],
    ['CPU time from', facts.cpu_time_source],
  ];
}
