// A link whose page is not fetched ahead of the click: for tables that link to dozens of pages with data.
import useBaseUrl from '@docusaurus/useBaseUrl';
import useBrokenLinks from '@docusaurus/useBrokenLinks';
import type {ReactNode} from 'react';

interface Props {
  to: string;
  title?: string;
  children: ReactNode;
}

export default function QuietLink({to, title, children}: Props): ReactNode {
  const href = useBaseUrl(to);
  useBrokenLinks().collectLink(href);
  return (
    <a href={href} title={title}>
      {children}
    </a>
  );
}
