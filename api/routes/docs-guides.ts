import { readFileSync } from 'node:fs';
import { Marked } from 'marked';
import { serveDocument } from '../http/document.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';
import { type Fragments, guideFragments, type Priced } from './docs-fragments.ts';
import { html, htmlPage, inlineCode, servePage, slug } from './docs-html.ts';
import { type DocsSource, operationSections } from './docs-operations.ts';
import { guideSearch, searchForm } from './docs-search.ts';

/** Names of the guides in `api/docs/`, in reading order, by group of the navigation. */
const GROUPS = [
  ['Start here', ['quickstart', 'follow-a-storm', 'verify-a-date', 'receive-events']],
  ['Every call', ['credits-and-pages', 'errors']],
  ['Maps and files', ['tiles', 'exports', 'files', 'catalogues']],
  ['Know the data', ['limits', 'words']],
  ['Versions', ['changes', 'earlier-variant']],
  ['Run the service', ['operate', 'grow', 'monitor']],
] as const;
export const GUIDES = GROUPS.flatMap(([, names]) => [...names]);

/** Address that the examples of the guides use; a page shows that of its own service. */
export const EXAMPLE_URL = 'http://127.0.0.1:8080/v1';
/** The guides read their facts, prices among them, from the OpenAPI document. */
export type GuideSource = Priced & Omit<DocsSource, 'info'>;

/** Labels of code blocks by the language of their fence. */
const LANGUAGES: Readonly<Record<string, string>> = {
  sh: 'Shell',
  ts: 'TypeScript',
  js: 'JavaScript',
  python: 'Python',
  sql: 'SQL',
  json: 'Answer',
  html: 'HTML',
  yaml: 'YAML',
};

const STYLE = readFileSync(new URL('./docs-guides.css', import.meta.url), 'utf8');

/** A guide before its facts are filled in. */
interface Guide {
  readonly name: string;
  readonly title: string;
  /** First paragraph, as HTML. */
  readonly summary: string;
  readonly text: string;
}

const guides: readonly Guide[] = GUIDES.map((name) => {
  const text = readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8');
  const [, title = name, first = ''] = /^# (.+)\n\n([\s\S]*?)\n\n/.exec(text) ?? [];
  return {
    name,
    text,
    title,
    summary: new Marked({ renderer: { link: linkTo } }).parseInline(first, { async: false }),
  };
});
const guideOf = (name: string) => guides.find((guide) => guide.name === name) as Guide;

/** Routes of the guides: a page for each, their index, their search, and the style that they share. */
export function docsGuides(source: GuideSource): readonly PublicRoute[] {
  const fragments = guideFragments(source);
  const address = source.servers?.[0]?.url ?? EXAMPLE_URL.replace(/\/v1$/, '');
  const rendered = guides.map((guide) => ({
    ...guide,
    main: renderMarkdown(guide.text.replaceAll(EXAMPLE_URL, `${address}/v1`), fragments),
  }));
  return [
    serveGuide('/docs/guides', guidePage('Guides', '', indexOfGuides())),
    ...rendered.map(({ name, title, main }) =>
      serveGuide(`/docs/${name}`, guidePage(title, name, `${withContents(main)}${neighbours(name)}`)),
    ),
    guideSearch(
      rendered,
      (title, words, main) => guidePage(title, '', main, words),
      GUIDE_POLICY,
      operationSections(source),
    ),
    { path: '/docs/guides.css', handler: serveDocument('text/css; charset=utf-8', STYLE) },
  ];
}

/** Links to the guides, for the navigation of a page; `base` leads from that page to the folder of the guides. */
export function guideLinks(base: string): string {
  const items = guides.map(({ name, title }) => `<li><a class="plain" href="${base}${name}">${html(title)}</a></li>`);
  return `<h2>Guides</h2>\n<ul>${items.join('')}</ul>`;
}

/** What the pages of the guides may load: their style, script and search, from this service alone. */
const GUIDE_POLICY = {
  'style-src': "'self'",
  'script-src': "'self'",
  'connect-src': "'self'",
  'form-action': "'self'",
};

function serveGuide(path: string, page: string): PublicRoute {
  return servePage(path, page, GUIDE_POLICY);
}

function guidePage(title: string, current: string, main: string, words = ''): string {
  return htmlPage({
    title: current === '' ? `hail: ${title.toLowerCase()}` : `${title} · hail`,
    head: '<link rel="stylesheet" href="guides.css">\n<script type="module" src="assets/docs.js"></script>',
    nav: `<nav aria-label="Guides">
<a class="brand" href="../docs">hail</a>
<p class="version"><a href="guides">Guides</a> · <a href="../docs">Reference</a> · <a href="../viewer">Map</a></p>
${searchForm(words)}
<a class="to-list" href="#all-guides">All guides</a>
<div class="list" id="all-guides">
${GROUPS.map(([group, names]) => `<h2>${group}</h2>\n<ul>${names.map((name) => navItem(guideOf(name), current)).join('')}</ul>`).join('\n')}
</div>
</nav>`,
    main,
  });
}

function navItem({ name, title }: Guide, current: string): string {
  const mark = name === current ? ' aria-current="page"' : '';
  return `<li><a class="plain" href="${name}"${mark}>${html(title)}</a></li>`;
}

function indexOfGuides(): string {
  const groups = GROUPS.map(([group, names]) => {
    const cards = names.map((name) => {
      const { title, summary } = guideOf(name);
      return `<section><h3><a href="${name}">${html(title)}</a></h3><p>${summary}</p></section>`;
    });
    return `<h2>${group}</h2>\n<div class="facts">${cards.join('')}</div>`;
  });
  return `<h1>Guides</h1>
<p class="lead">Each guide starts from nothing and ends with something that works. The <a href="../docs">reference</a> has every endpoint, parameter and field.</p>
${groups.join('\n')}`;
}

/** A page with links to its sections below its first paragraph, where it has several. */
function withContents(main: string): string {
  const sections = [...main.matchAll(/<h2 id="([^"]+)">([\s\S]*?)<\/h2>/g)];
  if (sections.length < 3) return main;
  const items = sections.map(
    ([, id, title = '']) => `<li><a href="#${id}">${title.replaceAll(/<\/?a[^>]*>/g, '')}</a></li>`,
  );
  const list = `<details class="contents"><summary>On this page</summary><ul>${items.join('')}</ul></details>`;
  return main.replace('</p>', `</p>\n${list}`);
}

/** Links to the guides before and after one. */
function neighbours(name: string): string {
  const at = guides.findIndex((guide) => guide.name === name);
  const to = (guide: Guide | undefined, rel: string, word: string) =>
    guide === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${guide.name}"><span>${word}</span>${html(guide.title)}</a>`;
  return `<footer class="neighbours">${to(guides[at - 1], 'prev', 'Previous')}${to(guides[at + 1], 'next', 'Next')}</footer>`;
}

/** Markdown as HTML; a comment `<!-- facts: name -->` on its own line becomes the facts of that name. */
function renderMarkdown(text: string, fragments: Fragments): string {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: heading }) {
        return `<h${depth} id="${slug(heading)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code: ({ text: code, lang = '' }) =>
        `<figure class="code"><figcaption>${LANGUAGES[lang] ?? 'Text'}</figcaption><pre tabindex="0"><code>${html(code)}</code></pre></figure>\n`,
      table({ header, rows }) {
        const cells = (row: typeof header, tag: string) =>
          row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('');
        const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
        return `<div class="scroll" tabindex="0"><table><thead><tr>${cells(header, 'th')}</tr></thead><tbody>${body}</tbody></table></div>\n`;
      },
      link: linkTo,
      html: ({ text: comment }) => fragmentOf(comment, fragments),
    },
  });
  return marked.parse(text, { async: false });
}

/** Addresses of files of the repository that the service has, too. */
const SERVED_FILES: Readonly<Record<string, string>> = {
  '../../data/reference/webhook-vectors.json': 'webhooks/vectors.json',
};

/** A link as HTML; one to the Markdown file of a guide leads to its page. */
function linkTo({ href, text }: { readonly href: string; readonly text: string }): string {
  const address = SERVED_FILES[href] ?? href.replace(/^([a-z-]+)\.md(?=#|$)/, '$1');
  return `<a href="${html(address)}">${inlineCode(text)}</a>`;
}

function fragmentOf(comment: string, fragments: Fragments): string {
  const name = /^<!-- facts: ([a-z-]+) -->\s*$/.exec(comment)?.[1] ?? '';
  const fragment = fragments[name];
  if (fragment === undefined)
    throw new Error(`guide has '${comment.trim()}', expected one of ${Object.keys(fragments).join(', ')}`);
  return `${fragment()}\n`;
}
