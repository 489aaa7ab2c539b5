// The catalogue of documents: which Markdown files of the repository are pages, at which address, in which order.
//
// Each file stays where it is and is read in place; the sidebar, the addresses and the links between
// documents follow from this table.
import {readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';

/** A page made from a file. */
export interface Entry {
  /** From the root of the repository. */
  file: string;
  /** Address below the site's base. */
  slug: string;
  /** In the sidebar. */
  label: string;
  /** For search engines; a guide has its own in its front matter. */
  description?: string;
}

/** Folder of the generated pages of commands, one for each command. */
const COMMAND_FOLDER = 'engine/server/docs/commands';

/** The list of commands, whose place in the sidebar the pages of commands are below. */
export const COMMAND_LIST = 'engine/server/docs/commands.md';

/** A heading of the sidebar and the pages below it. */
export interface Section {
  label: string;
  entries: Entry[];
}

const entry = (file: string, slug: string, label: string, description?: string): Entry => ({file, slug, label, ...(description ? {description} : {})});
const guide = (name: string, label: string): Entry => entry(`website/docs/${name}.mdx`, `/docs/${name === 'index' ? '' : `${name}/`}`, label);
const server = (name: string, label: string, description: string, slug = name): Entry => entry(`engine/server/docs/${name}.md`, `/docs/${slug}/`, label, description);
const store = (name: string, label: string, description: string, slug = name): Entry => entry(`engine/store/docs/${name}.md`, `/docs/${slug}/`, label, description);
const method = (name: string, label: string, description: string): Entry => entry(`bench-runner/docs/${name}.md`, `/benchmarks/method/${name}/`, label, description);

export const CATALOGUE: Section[] = [
  {
    label: 'Start',
    entries: [
      guide('index', 'What PlumbKV is'),
      guide('getting-started', 'Install and quick start'),
      guide('cache', 'Run a cache'),
      guide('embed', 'Embed the store in Rust'),
      guide('durable-server', 'Run a durable server'),
      guide('tools', 'Tools for a data directory'),
      entry('docker/README.md', '/docs/docker/', 'Docker and podman', 'Build the image of the server, run it with a password and a volume, and scrape its metrics.'),
    ],
  },
  {
    label: 'Reference',
    entries: [
      entry('engine/server/README.md', '/docs/server/', 'Server', 'The plumbkv server: settings, limits, what the memory cap covers, keys in a directory, tools, and differences from Redis.'),
      server('commands', 'Commands', 'Every command that the server implements, with arity, flags, complexity and summary, generated from its command table.'),
      server('redis', 'Differences from Redis', 'What differs from Redis 7.0, command by command, in one table: limits, the memory cap, persistence, replies.'),
      server('settings', 'Settings', 'Every setting of the server as flag, environment variable and key of the file, with its default, and the parameters of CONFIG.'),
      server('users', 'Users', 'Users of the server as in Redis 7.0: passwords, rules about commands and keys, when they are checked, limits, and differences from Redis.'),
      server('clients', 'Clients and applications', 'Client libraries and applications for Redis that work with the server unchanged, by language, and what is tested of each.'),
      server('command-line', 'Command line', 'The client and the tools of the program plumbkv, each with its flags and their defaults.'),
      server('metrics', 'Metrics', 'Every metric of /metrics with type, unit, labels and meaning, generated from a scrape.'),
      server('observing', 'INFO, HTTP and log', 'Watch a server over HTTP, with INFO and in its log: addresses, fields and formats.'),
      entry('engine/store/README.md', '/docs/store/', 'Store (Rust crate)', 'The Rust crate plumbkv: an embeddable key-value store, in memory under a cap or durable in a directory.'),
      store('guide/keys', 'Choosing keys', 'How to lay out keys for ranges, several families, queues and sequential loads in the durable store.', 'keys'),
      store('guide/sizing', 'Sizing', 'How much memory, disk, descriptors and threads a durable store needs, and which limits follow from the memory budget.', 'sizing'),
      store('guide/backup', 'Backup and restore', 'Checkpoints as backups, how to restore one, and why a copy of an open directory is no backup.', 'backup'),
      store('guide/errors', 'Errors', 'What each error of the durable store says about the call, and what to do: full disk, damaged files, undecided writes.', 'errors'),
      store('guide/differences', 'Differences from other stores', 'PlumbKV beside RocksDB, fjall and redb for their users: what is different and what is missing.', 'differences'),
      store('durability', 'Durability', 'What an acknowledged write survives in each sync mode: a crash of the process and a power cut; and how that is tested.'),
      store('file-format', 'File format', 'The files of a durable store byte by byte: log, tables, filters, manifest.'),
      store('eviction', 'Eviction', 'Eviction policies of the memory store: sampled LRU, LFU, S3-FIFO, random and TTL, with measured hit ratios.'),
      store('memory-layout', 'Memory layout', 'The memory layout of the memory store: slots, entries, segments, and what counts against the cap.'),
    ],
  },
  {
    label: 'How it works',
    entries: [
      store('design', 'Memory store', 'How the memory store works: shards, hash tables, the cap, locks, SCAN and expiry.', 'memory-store'),
      store('lsm', 'Durable store', 'How the durable store works: group commit, memtable, compaction, block cache, snapshots, ingest, and measured design choices.', 'durable-store'),
      server('reactor', 'Event loop', 'How the event loop of the server works on epoll and io_uring, what a request costs, and how requests that wait for the disk are handled.', 'event-loop'),
    ],
  },
  {
    label: 'Benchmarks',
    entries: [
      guide('what-is-measured', 'What is measured'),
      guide('how-it-is-measured', 'How it is measured'),
      guide('reading-the-numbers', 'Reading the numbers'),
      entry('bench-runner/docs/methodology.md', '/benchmarks/method/', 'Methodology', 'What a figure of the benchmarks is: trials, estimators, order, loads, checks, CPU time, containers and embedded engines.'),
      method('scenario-list', 'List of scenarios', 'Every scenario of the benchmarks by group: what it stresses, on which targets, and what its figures do not say.'),
      method('scenarios', 'Scenario files', 'The format of a scenario file: loads, embedded engines, ratios, targets.'),
      method('metrics', 'Metrics', 'Every metric that the benchmarks store: name, unit, direction and meaning.'),
      method('statistics', 'Statistics', 'The formulas behind a figure: intervals of the median, paired ratios, the rule of the gate, change points, with sources and limits.'),
      method('claims', 'Claims', 'How a claim is written down, judged by stored runs, and kept when it fails.'),
      method('bias', 'Bias', 'What could favor PlumbKV or mislead in the benchmarks, and what is done about it.'),
      method('honesty', 'Honesty', 'Kinds of lying and sick servers, how the benchmarks detect each, and the test that covers the check.'),
      entry('docker/targets/README.md', '/benchmarks/method/rivals/', 'Rival servers', 'Where each rival server of the benchmarks comes from, and how it is configured.'),
      entry('bench-runner/drivers/README.md', '/benchmarks/method/drivers/', 'Embedded engines', 'How embedded engines are measured: drivers, settings of each engine with reasons, and what an acknowledged write survives.'),
      method('guarding', 'Guarding a pull request', 'Compare a pull request with its base on one machine, in this repository or in your own.'),
      method('machines', 'Enrolling a machine', 'Prepare, name and calibrate a machine so that its results can be kept and compared.'),
      method('command-line', 'bench-runner', 'Every sub-command of bench-runner with its flags, examples and exit codes.'),
      method('database', 'Database of results', 'The SQLite database of results: views, tables, and questions to ask.'),
      method('glossary', 'Glossary', 'The terms of the benchmarks: trial, cell, interval, knee, floor, ceiling, and others.'),
    ],
  },
  {label: 'Changes', entries: [entry('CHANGELOG.md', '/docs/changelog/', 'Changelog', 'What changed in each version of PlumbKV.')]},
];

/** Root of the repository. */
const ROOT = path.resolve(__dirname, '..', '..', '..');

/** The page of each command, in alphabetical order. */
export const COMMANDS: Entry[] = readdirSync(path.join(ROOT, COMMAND_FOLDER))
  .filter((name) => name.endsWith('.md'))
  .sort()
  .map((name) => {
    const file = `${COMMAND_FOLDER}/${name}`;
    const [, command = ''] = /^# (.+)$/m.exec(readFileSync(path.join(ROOT, file), 'utf8')) ?? [];
    const slug = name.replace(/\.md$/, '').replaceAll('_', '-');
    return entry(file, `/docs/commands/${slug}/`, command, `The command ${command}: arguments, examples, key permissions, and differences from Redis 7.0.`);
  });

export const ENTRIES: Entry[] = [...CATALOGUE.flatMap(({entries}) => entries), ...COMMANDS];

const BY_FILE = new Map(ENTRIES.map((one) => [one.file, one]));

/** The page that a file of the repository is, if it is one. */
export function entryOf(file: string): Entry | undefined {
  return BY_FILE.get(file);
}
