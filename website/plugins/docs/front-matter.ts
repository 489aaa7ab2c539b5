// Front matter of a document: address and description come from the catalogue, so plain files of the
// repository need none.
import path from 'node:path';
import type {ParseFrontMatter} from '@docusaurus/types';
import {entryOf} from './catalogue';

const ROOT = path.resolve(__dirname, '..', '..', '..');

export const frontMatter: ParseFrontMatter = async (params) => {
  const parsed = await params.defaultParseFrontMatter(params);
  const entry = entryOf(path.relative(ROOT, params.filePath).replaceAll(path.sep, '/'));
  if (!entry) return parsed;
  const {slug, description} = entry;
  return {...parsed, frontMatter: {...parsed.frontMatter, slug, ...(description ? {description} : {})}};
};
