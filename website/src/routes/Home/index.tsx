// What is PlumbKV, what is it not, and what do its stored runs say? Every figure here is quoted from a stored run.
import Link from '@docusaurus/Link';
import Layout from '@theme/Layout';
import type {ReactNode} from 'react';
import PlumbChart, {type PlumbRow} from '../../charts/PlumbChart';
import type {Look} from '../../charts/frame';
import CopyBlock from '../../components/CopyBlock';
import Result, {useBenchmarks} from '../../components/Result';
import ScrollTable from '../../components/ScrollTable';
import {figure, scaleFor, withUnit} from '../../lib/format';
import type {Quote, QuoteName} from '../../lib/quotes';
import styles from './styles.module.css';

export default function Home(): ReactNode {
  return (
    <Layout description="PlumbKV: a Rust key-value store that speaks the Redis protocol, and the bench-runner that measures it against its rivals in the open.">
      <main className="page">
        <header className={styles.hero}>
          <div>
            <h1 className={styles.title}>A key-value store whose every published number can be checked</h1>
            <p className="lead">
              A plumb line shows what is true. PlumbKV is a memory store in Rust that speaks the Redis protocol, a bench-runner that measures it beside
              its rivals on one machine in one run, and these pages, made from the stored results and nothing else.
            </p>
            <p className={styles.links}>
              <Link to="/benchmarks/">Benchmarks</Link>
              <Link to="/docs/getting-started/">Getting started</Link>
              <Link to="/docs/reading-the-numbers/">Reading the numbers</Link>
            </p>
          </div>
          <HeroChart />
        </header>

        <div className={styles.columns}>
          <section>
            <h2>What it is</h2>
            <ul>
              <li>
                <strong>An engine</strong>: a sharded memory store with a cap on accounted bytes that is checked before each write, sampled eviction,
                expiry, and refusal of what cannot fit.
              </li>
              <li>
                <strong>A server</strong>: <code>plumbkv serve</code> speaks RESP2 and RESP3 to any Redis client, with pipelining and Redis’s error
                texts.
              </li>
              <li>
                <strong>A bench-runner</strong>: each trial a fresh process, every reply checked, whole histograms kept, natively and in a container.
              </li>
            </ul>
          </section>
          <section>
            <h2>What it is not, in this version</h2>
            <ul>
              <li>Durable: everything is in memory and gone with the process.</li>
              <li>Clustered, replicated, or encrypted on the wire.</li>
              <li>More than strings with expiry: no lists, hashes, sets or streams.</li>
              <li>Measured across a network, on many cores, or with data larger than memory.</li>
            </ul>
          </section>
        </div>

        <h2>From the stored runs</h2>
        <Figures />

        <h2>Check it yourself</h2>
        <p>Two commands on Linux with Rust and Node.js; on Debian or Ubuntu they install the rest, and ask before using root.</p>
        <CopyBlock
          label="Commands that measure here and show the pages"
          lines={['git clone https://github.com/plumbkv/plumbkv && cd plumbkv', 'make bench   # measures here and builds these pages from it', 'make serve   # shows them']}
        />
      </main>
    </Layout>
  );
}

const HERO: {name: QuoteName; label: string; look: Look}[] = [
  {name: 'single-set-native', label: 'PlumbKV', look: 'ours'},
  {name: 'single-set-container', label: 'PlumbKV in a container, host network', look: 'ours-host'},
  {name: 'single-set-redis', label: 'Redis', look: 'rival'},
];

function HeroChart(): ReactNode {
  const {quotes} = useBenchmarks();
  const found = HERO.flatMap(({name, label, look}) => {
    const quote = quotes[name];
    return quote ? [{quote, label: look === 'rival' ? quote.target.replace(/\s*\(.*$/, '') : label, look}] : [];
  });
  const first = found[0]?.quote;
  if (!first || first.target === undefined) return <p className="fine">No run is stored in this checkout yet: nothing is measured.</p>;
  const scale = scaleFor(first.measurement.unit, Math.max(...found.map(({quote}) => quote.measurement.median)));
  const rows: PlumbRow[] = found.map(({quote, label, look}) => ({
    label,
    look,
    median: quote.measurement.median * scale.factor,
    trials: quote.trials.map((value) => value * scale.factor),
    text: withUnit(figure(quote.measurement, scale).value, scale.unit),
  }));
  return (
    <figure className={styles.figure}>
      <figcaption>
        {first.label}: every trial a dot, the median a stroke.
      </figcaption>
      <PlumbChart
        id="hero"
        title={`${first.label}: operations per second, each trial`}
        desc={`${rows.map((row) => `${row.label} ${row.text}`).join(', ')}. The plumb line hangs at PlumbKV’s median.`}
        rows={rows}
        unit={scale.unit}
      />
      <p className="fine">
        <Provenance quote={first} />
      </p>
    </figure>
  );
}

function Provenance({quote}: {quote: Quote}): ReactNode {
  return (
    <>
      Version {quote.version}, {quote.machine}, {quote.profile} run of {quote.measurement.n} trials
      {quote.profile === 'full' ? '' : ', no verdict'}. <Link to={quote.href}>Its page</Link>
    </>
  );
}

const ROWS: {what: string; names: [QuoteName, QuoteName]}[] = [
  {what: 'SET 64 B, one client: operations per second', names: ['single-set-native', 'single-set-redis']},
  {what: 'GET 64 B, 50 clients: operations per second', names: ['many-get-native', 'many-get-redis']},
  {what: 'GET 64 B, 50 clients: server CPU per operation', names: ['many-get-cpu', 'many-get-cpu-redis']},
];

function Figures(): ReactNode {
  const {quotes} = useBenchmarks();
  const rival = quotes['single-set-redis']?.target ?? quotes['many-get-redis']?.target ?? 'Redis';
  const any = quotes['single-set-native'] ?? quotes['many-get-native'];
  return (
    <>
      <ScrollTable label="Figures quoted from the stored runs">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">PlumbKV, native</th>
              <th scope="col">{rival}, native</th>
            </tr>
          </thead>
          <tbody>
            {ROWS.map(({what, names}) => (
              <tr key={what}>
                <th scope="row">{what}</th>
                {names.map((name) => (
                  <td key={name}>
                    <Result name={name} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
      <p className="fine">
        Closed loop over loopback, all data in memory. The load generator’s own ceiling for the GET is <Result name="many-get-ceiling" />: near it,
        operations per second say more of the generator than of the server, and server CPU per operation is the figure to compare.{' '}
        {any ? <Provenance quote={any} /> : null}
      </p>
    </>
  );
}
