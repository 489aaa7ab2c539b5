// Elements of Markdown on the site: those of Docusaurus, with tables that scroll in a frame of their own.
import MDXComponents from '@theme-original/MDXComponents';
import WideTable from '../../components/WideTable';

export default {...MDXComponents, table: WideTable};
