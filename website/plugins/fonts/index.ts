// How do the faces reach the reader before the first paint? Under fixed names that the page's head can preload, so
// that `font-display: optional` has them in time and nothing shifts.
import {copyFile, mkdir} from 'node:fs/promises';
import path from 'node:path';
import type {LoadContext, Plugin} from '@docusaurus/types';

const FACES = [
  {family: 'Source Serif 4', package: 'source-serif-4', file: 'source-serif-4-latin-wght-normal.woff2'},
  {family: 'Source Sans 3', package: 'source-sans-3', file: 'source-sans-3-latin-wght-normal.woff2'},
];

export default function fonts(context: LoadContext): Plugin {
  const href = (file: string) => `${context.baseUrl}fonts/${file}`;
  return {
    name: 'plumbkv-fonts',

    injectHtmlTags() {
      const rules = FACES.map(
        ({family, file}) =>
          `@font-face{font-family:'${family}';font-style:normal;font-weight:200 900;font-display:optional;src:url('${href(file)}') format('woff2')}`,
      );
      return {
        headTags: [
          ...FACES.map(({file}) => ({
            tagName: 'link',
            attributes: {rel: 'preload', href: href(file), as: 'font', type: 'font/woff2', crossorigin: 'anonymous'},
          })),
          {tagName: 'style', innerHTML: rules.join('')},
        ],
      };
    },

    async postBuild({outDir}) {
      const folder = path.join(outDir, 'fonts');
      await mkdir(folder, {recursive: true});
      for (const face of FACES) {
        const home = path.join(context.siteDir, 'node_modules', '@fontsource-variable', face.package);
        await copyFile(path.join(home, 'files', face.file), path.join(folder, face.file));
        await copyFile(path.join(home, 'LICENSE'), path.join(folder, `${face.package}-LICENSE.txt`));
      }
    },
  };
}
