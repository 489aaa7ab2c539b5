// A document: the route component of every page that is made from stored results. Its content is rendered once, when the
// site is built, and stays HTML in the browser; only the frame around it (navigation, colour scheme, footer) and the
// islands within it (`island.tsx`) are alive. `@document/content` is a different module in each bundle
// (`plugins/benchmarks/bundles.ts`), so that neither records nor the components of the pages reach the browser's scripts.
import Content, {type DocumentProps} from '@document/content';
import Layout from '@theme/Layout';
import type {ReactNode} from 'react';

export default function Document(props: DocumentProps): ReactNode {
  return (
    <Layout>
      <Content {...props} />
    </Layout>
  );
}
