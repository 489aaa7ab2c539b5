// Which site is this, and of which parts is it built?
import type {Config, PluginModule} from '@docusaurus/types';
import type * as Theme from '@docusaurus/theme-classic';
import type {UserThemeConfig} from '@docusaurus/theme-common';
import benchmarks from './plugins/benchmarks';
import fonts from './plugins/fonts';
import {methodFrontMatter, repositoryLinks} from './plugins/method';

const repository = 'https://github.com/plumbkv/plumbkv';

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
    parseFrontMatter: methodFrontMatter,
    hooks: {onBrokenMarkdownLinks: 'throw', onBrokenMarkdownImages: 'throw'},
  },
  i18n: {defaultLocale: 'en', locales: ['en']},
  future: {v4: true, faster: true},
  customFields: {repository},
  plugins: [
    ['@docusaurus/plugin-content-docs', {routeBasePath: 'docs', sidebarPath: './sidebars.ts', breadcrumbs: false}],
    [
      '@docusaurus/plugin-content-docs',
      {
        id: 'method',
        path: '../bench-runner/docs',
        routeBasePath: 'benchmarks/method',
        sidebarPath: './sidebars-method.ts',
        breadcrumbs: false,
        beforeDefaultRemarkPlugins: [[repositoryLinks, {repository}]],
      },
    ],
    benchmarks as PluginModule,
    fonts,
  ],
  themes: [['@docusaurus/theme-classic', {customCss: ['tokens', 'theme', 'pages', 'tables', 'charts'].map((name) => `./src/css/${name}.css`)} satisfies Theme.Options]],
  themeConfig: {
    colorMode: {defaultMode: 'light', respectPrefersColorScheme: true},
    navbar: {
      title: 'PlumbKV',
      logo: {alt: '', src: 'img/logo.svg', width: 20, height: 32},
      items: [
        // One item is active at a time: the claims and the method have their own.
        {to: '/benchmarks/', label: 'Benchmarks', position: 'left', activeBaseRegex: '/benchmarks/(?!claims/|method/)'},
        {to: '/benchmarks/claims/', label: 'Claims', position: 'left'},
        {to: '/benchmarks/method/', label: 'Method', position: 'left'},
        {to: '/docs/getting-started/', label: 'Getting started', position: 'left'},
        {to: '/docs/reading-the-numbers/', label: 'Reading the numbers', position: 'left'},
        {href: repository, label: 'Source', position: 'right'},
      ],
    },
    footer: {
      links: [
        {label: 'Benchmarks', to: '/benchmarks/'},
        {label: 'Getting started', to: '/docs/getting-started/'},
        {label: 'Reading the numbers', to: '/docs/reading-the-numbers/'},
        {label: 'What is measured', to: '/docs/what-is-measured/'},
        {label: 'How it is measured', to: '/docs/how-it-is-measured/'},
        {label: 'Method', to: '/benchmarks/method/'},
        {label: 'Claims', to: '/benchmarks/claims/'},
        {label: 'The gate’s errors', to: '/benchmarks/gate/'},
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
