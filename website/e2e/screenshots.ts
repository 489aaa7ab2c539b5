// How do the pages look? Writes them as pictures, at two widths and in both colour schemes: `npm run screenshots -- DIR`.
import {mkdirSync} from 'node:fs';
import path from 'node:path';
import {chromium} from '@playwright/test';
import {LAUNCH} from './chromium';
import {builtVersions} from './results';
import {serveBuild} from './serve';

const WIDTHS = [390, 1440];
const SCHEMES = ['light', 'dark'] as const;

async function main(dir: string): Promise<void> {
  mkdirSync(dir, {recursive: true});
  const pages = new Map([
    ['landing', '/'],
    ['benchmarks', '/benchmarks/'],
    ['reading', '/docs/reading-the-numbers/'],
    ['not-found', '/nowhere/'],
  ]);
  const built = builtVersions()[0];
  if (built) {
    pages.set('version', built.href);
    for (const {scenario} of built.scenarios) pages.set(scenario.key, `${built.href}${scenario.key}/`);
    if (built.run.components.length > 0) pages.set('components', `${built.href}components/`);
  }
  const site = await serveBuild();
  const browser = await chromium.launch(LAUNCH);
  try {
    for (const width of WIDTHS) {
      for (const colorScheme of SCHEMES) {
        const context = await browser.newContext({viewport: {width, height: 900}, colorScheme});
        const page = await context.newPage();
        for (const [name, href] of pages) {
          await page.goto(site.url + href, {waitUntil: 'networkidle'});
          const file = path.join(dir, `${name}-${width}-${colorScheme}.png`);
          await page.screenshot({path: file, fullPage: true});
          process.stdout.write(`${file}\n`);
        }
        await context.close();
      }
    }
  } finally {
    await browser.close();
    await site.stop();
  }
}

const dir = process.argv[2];
if (dir) {
  void main(path.resolve(dir));
} else {
  process.stderr.write('screenshots: name a folder to write to: npm run screenshots -- DIR\n');
  process.exitCode = 64;
}
