// In which order do the guides stand?
import type {SidebarsConfig} from '@docusaurus/plugin-content-docs';

const sidebars: SidebarsConfig = {
  guides: ['getting-started', 'reading-the-numbers', 'what-is-measured', 'how-it-is-measured'],
};

export default sidebars;
