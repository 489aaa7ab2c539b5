// The sidebar of the documents: the sections of the catalogue, all open, and the pages of commands, closed below their list.
import type {SidebarsConfig} from '@docusaurus/plugin-content-docs';
import {CATALOGUE, COMMANDS, COMMAND_LIST, type Entry} from './plugins/docs/catalogue';

const id = (file: string): string => file.replace(/\.mdx?$/, '');
const page = (entry: Entry) => ({type: 'doc' as const, id: id(entry.file), label: entry.label});

const sidebars: SidebarsConfig = {
  docs: CATALOGUE.map(({label, entries}) => ({
    type: 'category' as const,
    label,
    collapsible: false,
    items: entries.map((entry) => {
      if (entry.file !== COMMAND_LIST) return page(entry);
      return {type: 'category' as const, label: entry.label, link: {type: 'doc' as const, id: id(entry.file)}, collapsed: true, items: COMMANDS.map(page)};
    }),
  })),
};

export default sidebars;
