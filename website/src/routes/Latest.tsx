// The address of the newest figures of a scenario. It leads on to the page that has them, also without scripts, so that what
// a reader copies from there is the address of a version and keeps showing what was read.
import Head from '@docusaurus/Head';
import Link from '@docusaurus/Link';
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import type {ReactNode} from 'react';
import type {MeasuredPage} from '../../plugins/benchmarks/latest';
import Page from '../components/Page';

export default function Latest({latest: {title, version, machine, href}}: {latest: MeasuredPage}): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  return (
    <Page
      title={`${title}: newest figures`}
      description={`${title}: the newest stored figures.`}
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: 'latest'}]}
    >
      <Head>
        <meta httpEquiv="refresh" content={`0; url=${withBaseUrl(href)}`} />
        <meta name="robots" content="noindex" />
        <link rel="canonical" href={withBaseUrl(href, {absolute: true})} />
      </Head>
      <p className="lead">
        The newest figures are those of version {version} on {machine}: <Link to={href}>{title}</Link>.
      </p>
    </Page>
  );
}
