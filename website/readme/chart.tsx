// The chart of the README: two rows of the matrix side by side, as an SVG that needs no style sheet and no font.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {renderToStaticMarkup} from 'react-dom/server';
import {WIDTH} from '../src/charts/frame';
import RowChart from '../src/charts/RowChart';
import type {MatrixRow} from '../src/lib/matrix';

export type Scheme = 'light' | 'dark';

export interface Panel {
  title: string;
  row: MatrixRow;
}

const GAP = 40;
/** Room for a label that reaches beyond its panel, and for half a digit before it. */
const MARGIN = 24;
const HEAD = 44;

/** One file per colour scheme: an image in a README does not see the page's style. */
export function chart(panels: Panel[], scheme: Scheme): string {
  const charts = panels.map(({title, row}, index) => ({title, row, svg: renderToStaticMarkup(<RowChart id={`panel-${index}`} row={row} />)}));
  const height = Math.max(...charts.map(({svg}) => heightOf(svg))) + HEAD;
  const width = panels.length * WIDTH + (panels.length - 1) * GAP + 2 * MARGIN;
  const body = charts.map(({title, row, svg}, index) => {
    const x = index * (WIDTH + GAP);
    const texts = `<text class="title" x="${x}" y="16">${escaped(title)}</text><text x="${x}" y="34">${escaped(row.point)}</text>`;
    return `${texts}\n${svg.replace('<svg ', `<svg x="${x}" y="${HEAD}" overflow="visible" `)}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-MARGIN / 2} 0 ${width} ${height}" width="${width}" height="${height}">
<style>${style(scheme)}</style>
${body.join('\n')}
</svg>
`;
}

function heightOf(svg: string): number {
  return Number(/viewBox="0 0 \d+ ([\d.]+)"/.exec(svg)?.[1] ?? 0);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** The site's colours, from its tokens. */
function style(scheme: Scheme): string {
  const css = readFileSync(path.join(__dirname, '..', 'src', 'css', 'tokens.css'), 'utf8');
  const block = css.slice(css.indexOf(scheme === 'dark' ? ":root[data-theme='dark'] {" : ':root {'));
  const colours = new Map([...block.slice(0, block.indexOf('}')).matchAll(/--plumb-([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]));
  const colour = (name: string) => colours.get(name) ?? '#808080';
  const looks = [...colours].filter(([name]) => /^(ours|rival.*)$/.test(name ?? ''));
  return [
    `text{font:12px system-ui,'Segoe UI',Roboto,'Liberation Sans',sans-serif;fill:${colour('quiet')}}`,
    `.title{font-size:15px;font-weight:600;fill:${colour('ink')}}`,
    `.grid{stroke:${colour('hair')}}.baseline,.tick{stroke:${colour('rule')}}`,
    `.trials,.trials-inside{fill:none;stroke-width:4.5;stroke-linecap:round}.bar-label{fill:${colour('ink')}}.direct{font-weight:600}.note{font-weight:400}`,
    ...looks.map(([name, value]) => `.${name} :is(.bar,.marker){fill:${value}}.${name} .trials{stroke:${value}}.direct.${name}{fill:${value}}`),
    `.series .trials-inside{stroke-width:2.5;stroke:${colour('paper')}}`,
  ].join('');
}
