// The picture that other sites show beside a link to this one (og:image): `npm run social-image` draws it
// from the logo and the site's typefaces into static/img/social.png.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {chromium} from '@playwright/test';
import {LAUNCH} from '../e2e/chromium';

const SITE = path.resolve(__dirname, '..');
const [WIDTH, HEIGHT] = [1200, 630];

function dataUrl(type: string, file: string): string {
  return `data:${type};base64,${readFileSync(path.join(SITE, file)).toString('base64')}`;
}

const face = dataUrl('font/woff2', 'node_modules/@fontsource-variable/source-serif-4/files/source-serif-4-latin-wght-normal.woff2');
const logo = dataUrl('image/svg+xml', 'static/img/logo.svg');

const PAGE = `<!doctype html>
<style>
  @font-face { font-family: Serif; src: url('${face}'); font-weight: 200 900; }
  body { margin: 0; width: ${WIDTH}px; height: ${HEIGHT}px; display: flex; align-items: center; gap: 70px;
    padding: 0 100px; box-sizing: border-box; background: #faf8f3; color: #1d1b18; font-family: Serif; }
  img { height: 330px; }
  h1 { margin: 0 0 24px; font-size: 120px; font-weight: 600; line-height: 1; }
  p { margin: 0; font-size: 46px; line-height: 1.3; color: #5f594f; }
</style>
<img src="${logo}" alt="">
<div><h1>PlumbKV</h1><p>A key-value store in Rust.<br>Every published number can be checked.</p></div>`;

async function main(): Promise<void> {
  const browser = await chromium.launch(LAUNCH);
  try {
    const page = await browser.newPage({viewport: {width: WIDTH, height: HEIGHT}});
    await page.setContent(PAGE);
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({path: path.join(SITE, 'static', 'img', 'social.png')});
  } finally {
    await browser.close();
  }
}

void main();
