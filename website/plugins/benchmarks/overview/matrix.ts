// The matrix: for each question the newest stored figures of ours and of every rival, with factors from one run each. Pure.
//
// Of one series (0.5.0, 0.5.1 …) a run whose medians have an interval comes before a newer one without: a patch version
// is measured at length only where its code changed. Between series the newer one comes first, whatever its trials.
import type {Measurement, Ratio} from '../../../src/generated/records';
import {type Factor, type MatrixCell, type MatrixColumn, type MatrixRow, type MatrixTable, type Origin, type TableKey} from '../../../src/lib/matrix';
import {generatorAtCeiling, measurement, type PageCell, type PageScenario, shortTitle, targetOf, trialValues} from '../../../src/lib/record';
import {LEAST_TRIALS} from '../../../src/lib/verdict';
import type {LoadedRun} from '../load';
import {answers, preference, type Question, QUESTIONS} from './questions';

/** A stored run, as far as the matrix reads it. */
export type Source = Pick<LoadedRun, 'version' | 'machineKey' | 'run' | 'scenarios'>;

/** Our program in each table; only rivals of its class are compared with it. */
const SUBJECT: Record<TableKey, string> = {server: 'plumbkv', store: 'plumbkv-embedded'};

/** Columns in the order of the names that readers look for; others follow in the order of their keys. */
const COLUMN_ORDER = ['plumbkv', 'plumbkv-embedded', 'redis-server', 'valkey', 'memcached', 'rocksdb', 'fjall', 'redb', 'lmdb', 'sqlite'];

/** One point of one run that answers a question. */
interface Candidate {
  source: Source;
  record: PageScenario;
  label: string;
  metric: string;
  ours: PageCell;
  rivals: PageCell[];
  /** Rivals without a figure here, though they were measured. */
  failed: string[];
  /** Parts of the order in which candidates are taken, the most important first; larger is better. */
  rank: number[];
}

/** All tables of the matrix. `sources` in the order of their versions, oldest first; rows without a figure of ours are left out. */
export function matrix(sources: Source[], questions: Question[] = QUESTIONS): MatrixTable[] {
  const rows = questions.flatMap((question) => rowOf(question, sources) ?? []);
  const tables = (['server', 'store'] as const).map((key) => {
    const own = rows.filter(({table}) => table === key);
    return {key, rows: own, columns: columnsOf(own)};
  });
  return tables.filter((table) => table.rows.length > 0);
}

function rowOf(question: Question, sources: Source[]): MatrixRow | undefined {
  const versions = [...new Set(sources.map(({version}) => version))];
  const candidates = sources.flatMap((source) => candidatesOf(question, source, versions));
  candidates.sort((a, b) => compareRanks(b.rank, a.rank));
  const [first] = candidates;
  if (!first) return undefined;
  const same = candidates.filter(({label}) => label === first.label);
  const origin = originOf(first);
  const cells = [cellOf(first, first.ours)];
  for (const candidate of same) {
    for (const rival of candidate.rivals) {
      if (cells.some(({target}) => target === rival.target)) continue;
      cells.push({...cellOf(candidate, rival), ...(candidate === first ? {} : {origin: originOf(candidate)})});
    }
  }
  return {
    key: question.key,
    table: question.table,
    title: question.title,
    point: first.label,
    origin,
    cells,
    failed: [...new Set(same.flatMap(({failed}) => failed))].filter((key) => cells.every(({target}) => target !== key)),
  };
}

function candidatesOf(question: Question, source: Source, versions: string[]): Candidate[] {
  return source.scenarios
    .filter(({scenario}) => question.scenarios.includes(scenario.key))
    .flatMap((record) => {
      const points = new Map<string, PageCell[]>();
      for (const cell of record.cells) {
        if (cell.status !== 'skipped' && answers(question, cell)) points.set(cell.label, [...(points.get(cell.label) ?? []), cell]);
      }
      return [...points].flatMap(([label, cells]) => candidateOf(question, source, versions, record, label, cells) ?? []);
    });
}

function candidateOf(
  question: Question,
  source: Source,
  versions: string[],
  record: PageScenario,
  label: string,
  cells: PageCell[],
): Candidate | undefined {
  const subject = targetOf(source.run, SUBJECT[question.table]);
  const own = cells.find(({target, status}) => target === subject?.key && status === 'ok');
  if (!subject || !own) return undefined;
  const inClass = cells.filter(({target}) => {
    const {role, transport, durability} = targetOf(source.run, target) ?? {};
    return role === 'rival' && transport === subject.transport && durability === subject.durability;
  });
  const {metric} = question;
  const measured = measurement(own, metric);
  if (!measured) return undefined;
  const rivals = inClass.filter((cell) => cell.status === 'ok' && measurement(cell, metric));
  const failed = inClass.filter(({status}) => status !== 'ok').map(({target}) => target);
  const hasInterval = measured.n >= LEAST_TRIALS;
  const lastOfSeries = versions.findLastIndex((version) => seriesOf(version) === seriesOf(source.version));
  const rank = [
    lastOfSeries,
    Number(hasInterval),
    preference(question, own.axes),
    versions.indexOf(source.version),
    rivals.length,
    own.axes.keys ?? 0,
    own.axes.value_bytes ?? 0,
    Date.parse(source.run.started_at),
  ];
  return {source, record, label, metric, ours: own, rivals, failed, rank};
}

/** `0.5` of 0.5.1; any other name is a series of its own. */
function seriesOf(version: string): string {
  return /^(\d+\.\d+)\.\d/.exec(version)?.[1] ?? version;
}

function compareRanks(a: number[], b: number[]): number {
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? 0;
    if (value !== other) return value - other;
  }
  return 0;
}

function cellOf({source, record, metric, ours}: Candidate, cell: PageCell): MatrixCell {
  const measured = measurement(cell, metric);
  if (!measured) throw new Error(`${cell.key} has no ${metric}`);
  const factor = cell === ours ? undefined : factorOf(record, metric, ours, cell, measured);
  return {
    target: cell.target,
    title: shortTitle(targetOf(source.run, cell.target), cell.target),
    measurement: measured,
    trials: trialValues(cell, metric),
    ...(factor ? {factor} : {}),
  };
}

function factorOf(record: PageScenario, metric: string, ours: PageCell, theirs: PageCell, {n, direction}: Measurement): Factor | undefined {
  const found = record.ratios.find(
    (ratio) =>
      ratio.kind === 'rival' &&
      ratio.metric === metric &&
      ratio.operation === undefined &&
      ratio.numerator === ours.key &&
      ratio.denominator === theirs.key,
  );
  if (!found) return undefined;
  const trials = Math.min(found.n, n, measurement(ours, metric)?.n ?? 0);
  const factor = {...turned(found, direction), spread: found.spread, n: trials};
  if (metric !== 'ops_per_second' || ![ours, theirs].some(generatorAtCeiling)) return factor;
  // A server that kept the load generator busy all the time could have answered more.
  return generatorAtCeiling(theirs) ? undefined : {...factor, isLowerBound: true};
}

/** A ratio of ours to theirs, turned so that above 1 ours is better. */
function turned({median, low, high}: Ratio, direction: Measurement['direction']): {median: number; low: number; high: number} {
  return direction === 'lower' ? {median: 1 / median, low: 1 / high, high: 1 / low} : {median, low, high};
}

function originOf({source: {version, machineKey, run}, record}: Candidate): Origin {
  return {
    version,
    machineKey,
    machine: run.machine.title || machineKey,
    href: `/benchmarks/${version}/${machineKey}/${record.scenario.key}/`,
  };
}

function columnsOf(rows: MatrixRow[]): MatrixColumn[] {
  const titles = new Map<string, string>();
  for (const {cells} of rows) for (const {target, title} of cells) titles.set(target, withoutVersion(title));
  const place = (target: string) => (COLUMN_ORDER.includes(target) ? COLUMN_ORDER.indexOf(target) : COLUMN_ORDER.length);
  return [...titles]
    .map(([target, title]) => ({target, title}))
    .sort((a, b) => place(a.target) - place(b.target) || a.target.localeCompare(b.target));
}

/** `Redis` of `Redis 7.0.15`: a column holds rows of different runs. */
function withoutVersion(title: string): string {
  return title.replace(/\s+v?\d[\w.+-]*$/, '') || title;
}
