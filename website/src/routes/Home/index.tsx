// The landing page: what PlumbKV is, how it compares, how to start. Every figure is from a stored run.
import Link from '@docusaurus/Link';
import {PageMetadata} from '@docusaurus/theme-common';
import type {ReactNode} from 'react';
import type {FrontData} from '../../../plugins/benchmarks/overview/data';
import RowChart from '../../charts/RowChart';
import CopyBlock from '../../components/CopyBlock';
import type {MatrixRow} from '../../lib/matrix';
import styles from './styles.module.css';

const START = [
  'git clone https://github.com/plumbkv/plumbkv && cd plumbkv',
  'cargo build --release -p plumbkv-server',
  'target/release/plumbkv serve --memory-limit 64mib &',
  'target/release/plumbkv cli SET greeting hello',
];

export default function Home({front}: {front: FrontData}): ReactNode {
  return (
    <>
      <PageMetadata description="PlumbKV: an in-memory cache with a hard memory cap and a durable LSM store in Rust, as a Redis-protocol server and as a crate." />
      <main className="page">
        <header className={styles.hero}>
          <div>
            <h1 className={styles.title}>A key-value store in Rust, with benchmarks you can check</h1>
            <p className="lead">
              PlumbKV is an in-memory cache whose process stays under its memory cap, and a durable LSM store. It runs as a server for Redis clients or
              inside your program as a crate.
            </p>
            <p className={styles.links}>
              <Link to="/docs/getting-started/">Getting started</Link>
              <Link to="/benchmarks/">Benchmarks</Link>
              <Link to="/benchmarks/claims/">Claims</Link>
            </p>
          </div>
          <div>
            <h2 className={styles.startTitle}>Start a server</h2>
            <CopyBlock label="Commands that build and start a server" lines={START} />
            <p className="fine">
              Linux, Rust 1.95 or newer. <code>--data DIR</code> in place of the cap makes it durable, and redis-cli works as well. No image and no crate is
              published yet.
            </p>
          </div>
        </header>

        <Figures front={front} />

        <div className={styles.columns}>
          <section>
            <h2>What it is</h2>
            <ul>
              <li>
                <strong>An in-memory cache.</strong> The cap covers keys, values, hash tables and client buffers, and is checked before each write. Eviction
                by LRU, LFU or S3-FIFO; expiry.
              </li>
              <li>
                <strong>A durable store.</strong> An LSM tree with a write-ahead log, group commit, snapshots and ordered scans. Acknowledged writes
                survive SIGKILL; a power cut loses at most what the sync mode allows.
              </li>
              <li>
                <strong>A server and a crate.</strong> <code>plumbkv serve</code> speaks RESP2 and RESP3; the crate <code>plumbkv</code> has no sockets and
                no async runtime.
              </li>
              <li>
                <strong>bench-runner.</strong> Measures servers and embedded engines side by side, natively and in containers. It checks every reply and
                keeps whole histograms.
              </li>
            </ul>
          </section>
          <section>
            <h2>What it is not</h2>
            <ul>
              <li>Clustered or replicated.</li>
              <li>Encrypted on disk. Clients and monitoring may connect with TLS.</li>
              <li>All of Redis: values are strings. There are no lists, hashes, sets or streams; there are transactions and Lua scripts.</li>
              {front.threads === undefined ? null : (
                <li>
                  Measured on large machines or across a network: every figure is from {front.threads === 1 ? 'one CPU' : `at most ${front.threads} CPUs`}{' '}
                  and loopback.
                </li>
              )}
            </ul>
          </section>
        </div>

        <h2>Measure it yourself</h2>
        <CopyBlock
          label="Commands that measure here and show the pages"
          lines={['make bench   # measures the server beside Redis; says first how long it takes', 'make serve   # shows these pages with your figures']}
        />
        <p>
          On Debian or Ubuntu <code>make bench</code> asks before it installs what is missing. Embedded engines take longer: <code>make bench-all</code>.
        </p>
      </main>
    </>
  );
}

function Figures({front: {server, store, loss, tally}}: {front: FrontData}): ReactNode {
  if (!server && !store) return null;
  const all = tally.better + tally.worse + tally.undecided;
  return (
    <>
      <h2>How it compares</h2>
      <p>
        Of {all} comparisons with rivals in the newest stored runs, PlumbKV is better in {tally.better} and worse in {tally.worse}; {tally.undecided} are
        undecided. <Link to="/benchmarks/">All of them</Link>
      </p>
      <div className={styles.charts}>
        {server ? <Headline id="server" title="The server" row={server} /> : null}
        {store ? <Headline id="store" title="The durable store" row={store} /> : null}
        {loss ? <Headline id="loss" title="Where PlumbKV loses most" row={loss} /> : null}
      </div>
      <p className="fine">
        Each dot is a trial, the bar their median. The factor beside a rival says how many times better PlumbKV is, where the interval of the ratio decides.
      </p>
    </>
  );
}

function Headline({id, title, row}: {id: string; title: string; row: MatrixRow}): ReactNode {
  const {version, machine, href} = row.origin;
  return (
    <figure className={styles.figure}>
      <figcaption>
        <h3>{title}</h3>
        {row.point}
      </figcaption>
      <RowChart id={id} row={row} />
      <p className="fine">
        <Link to={href}>Version {version}</Link>, {machine}, {row.cells[0]?.measurement.n} trials
      </p>
    </figure>
  );
}
