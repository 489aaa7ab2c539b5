// Tables of open loops: every rate with what was offered, achieved and skipped; and, at one rate for all, a grid per question.
import type {Run} from '../generated/records';
import {lookOf, rowLabel} from './figures';
import {count, figure, percent, type Figure} from './format';
import {achieved, loadLabel, offered, type RateGroup, undone} from './openloop';
import {isOpenLoop} from './parts';
import {generatorAtCeiling, measurement, type PageCell, type PageScenario, points} from './record';
import type {Column, Row, Table} from './tables';
import {scaleOfAll, type Scale} from './units';

const TIMES = [
  {metric: 'latency_ns_p50', head: 'p50'},
  {metric: 'latency_ns_p99', head: 'p99'},
  {metric: 'latency_ns_p999', head: 'p99.9'},
  {metric: 'server_cpu_ns_per_op', head: 'Server CPU per op'},
];

const alone = (value: string): Figure => ({value, low: '', high: ''});

/** Every rate of every server, and its knee. */
export function rateTable(groups: RateGroup[], run: Run): Table {
  const rated = groups.flatMap(({lines}) => lines.flatMap(({cells, knee}) => [...cells, ...(knee ? [knee] : [])]));
  const rates = scaleOfAll('1/s', rated.map(rateOf));
  const scales = TIMES.map(({metric}) => scaleOfAll('ns', rated.flatMap((cell) => measurement(cell, metric)?.median ?? [])));
  const late = scaleOfAll('ns', rated.map((cell) => undone(cell).sendDelayNsMax));
  const columns: Column[] = [
    {head: 'Offered', unit: rates.unit},
    {head: 'Achieved', unit: rates.unit},
    {head: 'Skipped', unit: ''},
    {head: 'Most in flight', unit: ''},
    {head: 'Generator late by', unit: late.unit},
    ...TIMES.map(({head}, index) => ({head, unit: scales[index]?.unit ?? ''})),
  ];
  const row = (label: string, cell: PageCell): Row => {
    const {due, skipped, inFlightMax, inFlightBound, sendDelayNsMax} = undone(cell);
    const [isOpen, got] = [due > 0, achieved(cell)];
    return {
      label,
      look: lookOf(cell, run),
      atCeiling: generatorAtCeiling(cell),
      figures: [
        rateFigure(cell, rates),
        got && alone(figure(got, rates).value),
        isOpen ? alone(skipped > 0 ? percent(skipped / due, 2) : 'none') : undefined,
        isOpen ? alone(`${count(inFlightMax)} of ${count(inFlightBound)}`) : undefined,
        isOpen ? alone(figure({median: sendDelayNsMax, low: sendDelayNsMax, high: sendDelayNsMax}, late).value) : undefined,
        ...TIMES.map(({metric}, index) => {
          const found = measurement(cell, metric);
          return found && figure(found, scales[index] ?? {unit: '', factor: 1});
        }),
      ],
    };
  };
  return {
    columns,
    groups: groups.flatMap(({label, lines}) =>
      lines.map(({cells, knee}) => ({
        label: `${label}: ${cells[0] ? rowLabel(cells[0], run) : ''}`,
        rows: [...cells.map((cell) => row(rateLabel(cell), cell)), ...(knee ? [row('Knee', knee)] : [])],
      })),
    ),
    spread: rated.some((cell) => cell.measurements.some(({spread}) => spread === 'interval')) ? 'interval' : 'range',
    trials: [Math.min(...rated.map(trialsOf)), Math.max(...rated.map(trialsOf))],
  };
}

/** Whether every load was offered at one rate only, so that a chart over rates would have one point. */
export function isAtOneRate(groups: RateGroup[]): boolean {
  return groups.length > 0 && groups.every(({lines}) => lines.every(({cells}) => cells.length < 2));
}

export interface Grid {
  metric: string;
  question: string;
  table: Table;
}

const QUESTIONS: {metric: string; question: string; unit: string; of: 'open' | 'closed'}[] = [
  {metric: 'server_cpu_ns_per_op', question: 'What does a request cost at the same rate? Server CPU per operation', unit: 'ns', of: 'open'},
  {metric: 'latency_ns_p50', question: 'How long does a request take at the same rate? p50 from the intended start', unit: 'ns', of: 'open'},
  {metric: 'latency_ns_p99', question: 'How late are the latest of a hundred? p99 from the intended start', unit: 'ns', of: 'open'},
  {metric: 'ops_per_second', question: 'How many requests does a closed loop get answered? Throughput', unit: '1/s', of: 'closed'},
];

/** One table per question: a row per load, a column per server. */
export function grids(record: PageScenario, run: Run): Grid[] {
  const ok = record.cells.filter(({status, axes}) => status === 'ok' && axes.client_program === undefined && axes.operation !== 'knee' && axes.operation !== 'peak');
  return QUESTIONS.flatMap(({metric, question, unit, of}): Grid[] => {
    const cells = points({...record, cells: ok.filter((cell) => isOpenLoop(cell) === (of === 'open') && measurement(cell, metric))}, run).flatMap(({cells: own}) => own);
    const servers = [...new Set(cells.map((cell) => rowLabel(cell, run)))];
    const loads = [...new Set(cells.map(loadLabel))];
    if (cells.length === 0 || loads.length < 2) return [];
    const scale = scaleOfAll(unit, cells.map((cell) => measurement(cell, metric)?.median ?? 0));
    const at = (load: string, server: string) => cells.find((cell) => loadLabel(cell) === load && rowLabel(cell, run) === server);
    const rows = loads.map(
      (load): Row => ({
        label: load,
        look: 'rival',
        atCeiling: false,
        figures: servers.map((server) => {
          const cell = at(load, server);
          const found = cell && measurement(cell, metric);
          return found && figure(found, scale);
        }),
      }),
    );
    const counts = cells.map((cell) => measurement(cell, metric)?.n ?? 0);
    const spread = cells.some((cell) => measurement(cell, metric)?.spread === 'interval') ? 'interval' : 'range';
    return [{metric, question, table: {columns: servers.map((head) => ({head, unit: scale.unit})), groups: [{label: '', rows}], spread, trials: [Math.min(...counts), Math.max(...counts)]}}];
  });
}

function rateOf(cell: PageCell): number {
  return measurement(cell, 'knee_per_second')?.median ?? offered(cell);
}

function rateFigure(cell: PageCell, scale: Scale): Figure {
  const knee = measurement(cell, 'knee_per_second');
  return knee ? figure(knee, scale) : alone(figure({median: offered(cell), low: offered(cell), high: offered(cell)}, scale).value);
}

function trialsOf(cell: PageCell): number {
  return Math.max(0, ...cell.measurements.map(({n}) => n));
}

function rateLabel({axes}: PageCell): string {
  const spaced = axes.arrival === 'fixed' ? 'evenly spaced' : axes.arrival === 'poisson' ? 'Poisson' : (axes.arrival ?? '');
  const rate =
    axes.rate_percent_of_slowest !== undefined
      ? `${axes.rate_percent_of_slowest} % of the slowest’s peak`
      : axes.rate_percent !== undefined
        ? `${axes.rate_percent} % of its peak`
        : axes.rate_per_second !== undefined
          ? `${count(axes.rate_per_second)} per second`
          : 'given rate';
  return [rate, spaced].filter(Boolean).join(', ');
}
