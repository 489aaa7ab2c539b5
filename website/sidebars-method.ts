// In which order do the runner's documents stand? Method first, then whatever else the folder holds.
import {readdirSync} from 'node:fs';
import path from 'node:path';
import type {SidebarsConfig} from '@docusaurus/plugin-content-docs';

const FIRST = ['methodology', 'scenarios', 'statistics', 'bias', 'claims', 'guarding', 'machines', 'glossary'];
const found = readdirSync(path.join(__dirname, '..', 'bench-runner', 'docs'))
  .filter((file) => file.endsWith('.md'))
  .map((file) => file.slice(0, -3))
  .sort();

const sidebars: SidebarsConfig = {
  method: [...FIRST.filter((id) => found.includes(id)), ...found.filter((id) => !FIRST.includes(id))],
};

export default sidebars;
