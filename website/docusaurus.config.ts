// Configuration of the site: its address, its plugins, the bars at the top and the foot of each page.
import type {Config, PluginModule} from '@docusaurus/types';
import type * as Theme from '@docusaurus/theme-classic';
import type {UserThemeConfig} from '@docusaurus/theme-common';
import type {Options as SitemapOptions} from '@docusaurus/plugin-sitemap';
import type {PluginOptions as SearchOptions} from '@easyops-cn/docusaurus-search-local';
import benchmarks from './plugins/benchmarks';
import docs, {options as docsOptions} from './plugins/docs';
import {frontMatter} from './plugins/docs/front-matter';
import fonts from './plugins/fonts';

const repository = 'https://github.com/plumbkv/plumbkv';
// Where the site is published. Documents name it in links that also work on GitHub.
const published = 'https://plumbkv.github.io/plumbkv/';

// The index holds every document, and of the benchmarks the overviews and the newest page of each scenario, by
// title and description: their tables would make it ten times as large.
const search: Partial<SearchOptions> = {
  indexBlog: false,
  indexPages: true,
  docsRouteBasePath: ['docs', 'benchmarks/method'],
  ignoreFiles: [/^benchmarks\/\d/, /^benchmarks\/local/, /^benchmarks\/(compare|trends\/.+)$/],
  ignoreCssSelectors: ['.page > :not(h1):not(header)', 'main svg', 'main pre'],
  searchBarShortcutHint: false,
};

const config: Config = {
  title: 'PlumbKV',
  tagline: 'A key-value store whose every published number can be checked',
  favicon: 'img/logo.svg',
  // A deployment below a folder (project pages) says so by environment; a laptop serves from the root.
  url: process.env.PLUMBKV_SITE_URL ?? 'https://plumbkv.github.io',
  baseUrl: process.env.PLUMBKV_BASE_URL ?? '/',
  trailingSlash: true,
  onBrokenLinks: 'throw',
  onBrokenAnchors: 'throw',
  onDuplicateRoutes: 'throw',
  markdown: {
    // .mdx is ours and may hold components; .md is plain text in which a brace is a brace.
    format: 'detect',
    parseFrontMatter: frontMatter,
    hooks: {onBrokenMarkdownLinks: 'throw', onBrokenMarkdownImages: 'throw'},
  },
  i18n: {defaultLocale: 'en', locales: ['en']},
  future: {v4: true, faster: true},
  customFields: {repository},
  plugins: [
    [docs as PluginModule, docsOptions(repository, published)],
    benchmarks as PluginModule,
    fonts,
    // A run's own pages repeat those of its version.
    ['@docusaurus/plugin-sitemap', {lastmod: null, changefreq: null, priority: null, ignorePatterns: ['**/run/**', '**/search/']} satisfies SitemapOptions],
  ],
  themes: [
    ['@docusaurus/theme-classic', {customCss: ['tokens', 'theme', 'search', 'pages', 'tables', 'charts'].map((name) => `./src/css/${name}.css`)} satisfies Theme.Options],
    ['@easyops-cn/docusaurus-search-local', search],
  ],
  themeConfig: {
    image: 'img/social.png',
    colorMode: {defaultMode: 'light', respectPrefersColorScheme: true},
    navbar: {
      title: 'PlumbKV',
      logo: {alt: '', src: 'img/logo.svg', width: 20, height: 32},
      items: [
        // One item is active at a time: the claims have their own, and the method is documentation.
        {to: '/benchmarks/', label: 'Benchmarks', position: 'left', activeBaseRegex: '/benchmarks/(?!claims/|method/)'},
        {to: '/benchmarks/claims/', label: 'Claims', position: 'left'},
        {to: '/docs/', label: 'Documentation', position: 'left', activeBaseRegex: '/docs/|/benchmarks/method/'},
        {type: 'search', position: 'right'},
        {href: repository, label: 'Source', position: 'right'},
      ],
    },
    footer: {
      links: [
        {label: 'Benchmarks', to: '/benchmarks/'},
        {label: 'Claims', to: '/benchmarks/claims/'},
        {label: 'The gate’s errors', to: '/benchmarks/gate/'},
        {label: 'Documentation', to: '/docs/'},
        {label: 'Reading the numbers', to: '/docs/reading-the-numbers/'},
        {label: 'Methodology', to: '/benchmarks/method/'},
        {label: 'Changelog', to: '/docs/changelog/'},
        {label: 'Source', href: repository},
      ],
      copyright: 'PlumbKV is licensed under MIT or Apache-2.0, at your choice. No measured figure on these pages is typed by hand.',
    },
    // Formulas and commands on the paper of the page, in both colour schemes; nothing in them is a language worth colours.
    prism: {theme: {plain: {color: 'var(--plumb-ink)', backgroundColor: 'var(--plumb-sheet)'}, styles: []}},
    docs: {sidebar: {hideable: false}},
  } satisfies UserThemeConfig,
};

export default config;
