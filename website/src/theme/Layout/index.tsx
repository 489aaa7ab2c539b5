// The page of the search comes without a <main>: it gets one here. Every other page brings its own.
import {type ReactNode} from 'react';
import {useLocation} from '@docusaurus/router';
import useBaseUrl from '@docusaurus/useBaseUrl';
import Layout from '@theme-original/Layout';
import type {Props} from '@theme/Layout';

export default function LayoutWithMain({children, ...props}: Props): ReactNode {
  const isSearch = useLocation().pathname === useBaseUrl('/search/');
  return <Layout {...props}>{isSearch ? <main>{children}</main> : children}</Layout>;
}
