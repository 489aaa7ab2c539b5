// Commands that make a run again, completed where an older runner left some out, without folders of the machine that measured.
import type {Run, TargetRecord} from '../generated/records';

export const REPOSITORY = 'https://github.com/plumbkv/plumbkv';

/** These two take long to compile, so `make drivers` leaves them out. */
const RIVALS = ['plumbkv-driver-rocksdb', 'plumbkv-driver-lmdb'];

/** Lines to type from nothing; `taking` names the targets that matter, all of the run's where it is absent. */
export function reproduceLines(run: Run, taking?: ReadonlySet<string>): string[] {
  const stored = (run.reproduce.length > 0 ? run.reproduce : [run.command]).map(withoutFolders);
  // Since 0.5.1 the runner writes all of them; of a server that was already running there is nothing to build.
  if (!stored[0]?.startsWith('git checkout ')) return stored;
  const part = run.targets.filter(({key, available}) => available && (taking === undefined || taking.has(key)));
  const beside = part.filter(({role}) => role === 'rival').map(({title}) => title);
  const hasComponents = / --criterion[ =]/.test(run.command);
  return [
    `git clone ${REPOSITORY} && cd ${REPOSITORY.split('/').at(-1) ?? ''}`,
    ...stored.flatMap((line) => {
      if (line.startsWith('# ') && line.includes(' was version ')) return [];
      if (line === 'make setup build') {
        return [line, ...drivers(part), ...(hasComponents ? ['make components'] : []), ...(beside.length > 0 ? [`# measured beside: ${beside.join('; ')}`] : [])];
      }
      return [hasComponents && line.includes('bench-runner run') ? `${line} --criterion target/criterion` : line];
    }),
  ];
}

/** The command that a run was started by, without folders. */
export function startedBy(run: Run): string {
  return withoutFolders(run.command);
}

function drivers(part: TargetRecord[]): string[] {
  const files = part.map(({build}) => build?.file ?? '');
  if (files.some((file) => RIVALS.includes(file))) return ['make rivals'];
  // PostgreSQL is asked by a driver program as well.
  return files.some((file) => file.startsWith('plumbkv-driver-')) || part.some(({key}) => key === 'postgresql') ? ['make drivers'] : [];
}

/** `--server-binary /opt/a/plumbkv` → `--server-binary plumbkv`; addresses of servers stay. */
function withoutFolders(line: string): string {
  return line.replace(/(^|[\s=])\/(?:[^\s/]+\/)*([^\s/]+)/g, '$1$2');
}
