// Elements of Markdown on the site: those of Docusaurus, with tables that scroll in a frame of their own.
import MDXComponents from '@theme-original/MDXComponents';
import type {ComponentProps, ReactNode} from 'react';
import WideTable from '../../components/WideTable';

/** A head without words heads nothing. */
function Head({children, ...props}: ComponentProps<'th'>): ReactNode {
  return children ? <th {...props}>{children}</th> : <td {...props} />;
}

export default {...MDXComponents, table: WideTable, th: Head};
