// The sidebar of the documents: the sections of the catalogue, all open.
import type {SidebarsConfig} from '@docusaurus/plugin-content-docs';
import {CATALOGUE} from './plugins/docs/catalogue';

const sidebars: SidebarsConfig = {
  docs: CATALOGUE.map(({label, entries}) => ({
    type: 'category' as const,
    label,
    collapsible: false,
    items: entries.map((entry) => ({type: 'doc' as const, id: entry.file.replace(/\.mdx?$/, ''), label: entry.label})),
  })),
};

export default sidebars;
