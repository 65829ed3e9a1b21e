import { readFileSync } from 'node:fs';
import { Marked } from 'marked';
import MiniSearch from 'minisearch';
import known from '../../data/reference/webhook-vectors.json' with { type: 'json' };
import { ERROR_ADVICE, ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { JSON_TYPE } from '../http/reply.ts';
import { EARLIER_DESCRIPTION } from '../legacy/variants.ts';
import { RETRIES_MAX, retryWait } from '../rules/webhook-retry.ts';
import type { describeApi } from '../server/openapi.ts';
import { CURRENT_EVENTS, type DescribedEvent, TEXTS } from '../server/openapi-webhooks.ts';
import { type PublicRoute, serveDocument } from '../server/public.ts';
import type { Middleware } from '../server/state.ts';
import { parseQuery } from '../server/validate.ts';

/** Names of the guides in reading order, by group of the navigation. */
const GROUPS = [
  ['Start here', ['quickstart', 'follow-a-storm', 'verify-a-date', 'receive-events']],
  ['Every call', ['credits-and-pages', 'errors']],
  ['Maps and files', ['tiles', 'exports', 'files', 'catalogues']],
  ['Know the data', ['limits', 'words']],
  ['Versions', ['changes', 'earlier-variant']],
  ['Run the service', ['operate', 'monitor', 'grow']],
] as const;
export const GUIDES = GROUPS.flatMap(([, names]) => [...names]);

/** Address in the examples of the guides; a page shows that of its own service. */
export const EXAMPLE_URL = 'http://127.0.0.1:8080/v1';
/** Names of code blocks by the language of their fence. */
const LANGUAGES: Readonly<Record<string, string>> = { sh: 'shell', ts: 'TypeScript', js: 'JavaScript', json: 'answer' };
const VECTORS_FILE = '../../data/reference/webhook-vectors.json';

const BASE_POLICY =
  "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
export const GUIDE_POLICY = `${BASE_POLICY}; style-src 'self'`;
/** Scalar writes style sheets into its page; it asks this service alone. */
const REFERENCE_POLICY = `${BASE_POLICY}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'`;

const FILES = {
  'docs.css': new URL('./docs.css', import.meta.url),
  'docs.js': new URL('./docs.js', import.meta.url),
  'link.js': new URL('./link.js', import.meta.url),
  'reference.js': new URL('./reference.js', import.meta.url),
  'scalar.js': new URL('../../data/reference/scalar-1.76.0.js', import.meta.url),
} as const;

/** Body of the page that puts the key of a link into the browser. It waits for a tap: what only looks at the page uses no link up. */
const LINK_BODY = readFileSync(new URL('./link.html', import.meta.url), 'utf8');
const PAGE = readFileSync(new URL('./page.html', import.meta.url), 'utf8');

/** The parts of the OpenAPI document that guides show. */
type Description = Pick<ReturnType<typeof describeApi>, 'servers' | 'paths'>;

type Guide = Readonly<Record<'name' | 'title' | 'text', string>>;

/** Routes of the documentation: the reference, the guides with index and search, and the files that pages load. */
export function docsRoutes(description: Description): readonly PublicRoute[] {
  const calls = callsOf(description);
  const facts = factsOf(calls);
  const address = description.servers?.[0]?.url ?? '';
  const guides = GUIDES.map((name): Guide => {
    const text = readFileSync(new URL(`./${name}.md`, import.meta.url), 'utf8')
      .replaceAll(EXAMPLE_URL, `${address}/v1`)
      .replaceAll(/<!-- facts: ([a-z-]+) -->/g, (unknown, fact: string) => facts[fact] ?? unknown);
    return { name, text, title: /^# (.+)/.exec(text)?.[1] ?? name };
  });
  return [
    referencePage('/docs', '/v1/openapi.json'),
    ...guides.map((guide) => servePage(`/docs/${guide.name}`, guide.title, guideBody(guide, guides))),
    servePage('/docs/guides', 'Guides', withNavigation(guides, indexOf(guides))),
    searchRoute(guides, calls),
    servePage('/link', 'Key', LINK_BODY, `${GUIDE_POLICY}; connect-src 'self'`),
    ...Object.entries(FILES).map(([name, from]) => ({
      path: `/docs/${name}`,
      handler: serveDocument(`text/${name.endsWith('css') ? 'css' : 'javascript'}; charset=utf-8`, readFileSync(from)),
    })),
    { path: '/docs/webhooks/vectors.json', handler: serveDocument(JSON_TYPE, VECTORS) },
    pageRoute('/docs/webhooks', (ctx) => ctx.redirect('receive-events')), // the description names it
  ];
}

/** The reference of a variant: Scalar over its description. */
export function referencePage(path: string, description: string): PublicRoute {
  const root = rootFrom(path);
  const body = `<div id="reference" data-root="${root}" data-description="${root}${description.slice(1)}"></div>
<noscript><p>The reference needs a script; the <a href="${root}${description.slice(1)}">description</a> does not.</p></noscript>
<script type="module" src="${root}docs/reference.js"></script>`;
  return servePage(path, 'Reference', body, REFERENCE_POLICY);
}

/** Operations of the document by method and path. */
function callsOf({ paths = {} }: Description): ReadonlyMap<string, Call> {
  return new Map(
    Object.entries(paths as Readonly<Record<string, Readonly<Record<string, Call>>>>).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, call]) => [`${method.toUpperCase()} ${path}`, call] as const),
    ),
  );
}

/** Relative address of the root of the service from a page: a proxy may serve it below a path. */
function rootFrom(path: string): string {
  return '../'.repeat(path.split('/').length - 2);
}

function servePage(path: string, title: string, body: string, policy = GUIDE_POLICY): PublicRoute {
  return pageRoute(path, serveDocument(HTML, page(path, title, body), { 'Content-Security-Policy': policy }));
}

/** A page at its path; with a slash at the end it leads there, because its addresses are relative. */
function pageRoute(path: string, serve: Middleware): PublicRoute {
  const bare = `..${path.slice(path.lastIndexOf('/'))}`;
  return {
    path,
    handler: (ctx, next) => (ctx.path.endsWith('/') ? ctx.redirect(bare + ctx.search) : serve(ctx, next)),
  };
}
const HTML = 'text/html; charset=utf-8';

/** A page of the documentation, or the start page, around its body. */
export function page(path: string, title: string, body: string, words = ''): string {
  const values: Readonly<Record<string, string>> = {
    root: rootFrom(path),
    title: html(title),
    body,
    words: html(words),
  };
  return PAGE.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] as string);
}

function withNavigation(guides: readonly Guide[], main: string, current = '', contents = ''): string {
  const item = ({ name, title }: Guide) =>
    `<li><a href="${name}"${name === current ? ' aria-current="page"' : ''}>${html(title)}</a></li>`;
  const groups = GROUPS.map(([group, names]) => {
    const members = guides.filter(({ name }) => (names as readonly string[]).includes(name));
    return `<h2>${group}</h2>\n<ul>${members.map(item).join('')}</ul>`;
  });
  return `<div class="page">
<main>
${main}</main>
<nav aria-label="Guides">${groups.join('\n')}</nav>
${contents}</div>`;
}

/** The page of a guide with a list of its headings. */
function guideBody({ name, text }: Guide, guides: readonly Guide[]): string {
  const items = [...text.matchAll(/^## (.+)$/gm)].map(
    ([, heading = '']) => `<li><a href="#${slug(heading)}">${inline(heading)}</a></li>`,
  );
  const contents = `<nav aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>\n`;
  return withNavigation(guides, marked.parse(text, { async: false }), name, contents);
}

function indexOf(guides: readonly Guide[]): string {
  const items = guides.map(({ name, title, text }) => {
    const [, first = ''] = /^# .+\n\n([\s\S]*?)\n\n/.exec(text) ?? [];
    return `<h3><a href="${name}">${html(title)}</a></h3>\n<p>${inline(first)}</p>`;
  });
  return `<h1>Guides</h1>\n<p>Each starts from nothing and ends with something that works.</p>\n${items.join('\n')}\n`;
}

const marked = new Marked({
  walkTokens: (token) => {
    if (token.type !== 'link') return;
    token.href =
      token.href === VECTORS_FILE ? 'webhooks/vectors.json' : token.href.replace(/^([a-z-]+)\.md(?=#|$)/, '$1');
  },
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    code: ({ text, lang = '' }) =>
      `<figure><figcaption>${LANGUAGES[lang] ?? html(lang)}</figcaption><pre tabindex="0"><code>${html(text)}</code></pre></figure>\n`,
  },
});
const inline = (text: string) => marked.parseInline(text, { async: false });

/** One entry of the search: a section of a guide, or a call. `id` is its address from `/docs/`. */
type Section = Readonly<Record<'id' | 'guide' | 'heading' | 'text', string>>;
const LONGEST_SEARCH = 100;
const MOST_RESULTS = 12;

/** GET /docs/search?q=…: sections and calls that contain the words, best first. */
function searchRoute(guides: readonly Guide[], calls: ReadonlyMap<string, Call>): PublicRoute {
  const sections = new Map(
    [...guides.flatMap(sectionsOf), ...[...calls].map(callSection)].map((each) => [each.id, each]),
  );
  const index = new MiniSearch<Section>({
    fields: ['guide', 'heading', 'text'],
    searchOptions: { boost: { guide: 2, heading: 3 }, prefix: true, fuzzy: 0.2, combineWith: 'AND' },
  });
  index.addAll([...sections.values()]);
  return pageRoute('/docs/search', (ctx) => {
    const words = [parseQuery(ctx.state.search).q ?? ''].flat().join(' ').slice(0, LONGEST_SEARCH).trim();
    const found = index.search(words).slice(0, MOST_RESULTS);
    const items = found.map(({ id, terms }) => resultItem(sections.get(String(id)) as Section, terms));
    const nothing = words === '' ? 'Type words into the search field.' : `Nothing contains “${html(words)}”.`;
    const main = `<h1>Search</h1>\n${items.length === 0 ? `<p>${nothing}</p>` : `<ol class="results">${items.join('')}</ol>`}\n`;
    ctx.set({ 'Content-Type': HTML, 'Cache-Control': 'no-cache', 'Content-Security-Policy': GUIDE_POLICY });
    ctx.body = page('/docs/search', 'Search', withNavigation(guides, main), words);
  });
}

function sectionsOf({ name, title, text }: Guide): Section[] {
  return text.split(/^(?=## )/m).map((part) => {
    const [, heading] = /^## (.+)/.exec(part) ?? [];
    const id = heading === undefined ? name : `${name}#${slug(heading)}`;
    return { id, guide: title, heading: plain(heading ?? title), text: plain(part.replace(/^#+ .+/, '')) };
  });
}

function callSection([title, { operationId, summary, description, parameters = [] }]: [string, Call]): Section {
  const text = [description, ...parameters.map(({ name }) => name)].join(' ');
  return { id: `../docs#${operationId}`, guide: title, heading: summary, text };
}

/** A result with its text around the first word that was found. */
function resultItem({ id, guide, heading, text }: Section, terms: readonly string[]): string {
  const places = terms.map((term) => text.toLowerCase().indexOf(term)).filter((at) => at !== -1);
  const start = places.length === 0 ? 0 : text.lastIndexOf(' ', Math.max(0, Math.min(...places) - 60)) + 1;
  const excerpt = html(text.slice(start, start + 180));
  return `<li><a href="${id}">${html(heading)}</a> <span>${html(guide)}</span><p>${excerpt} …</p></li>`;
}

/** Words of Markdown. */
function plain(text: string): string {
  return text
    .replaceAll(/\]\([^)]*\)|^```.*$|^\| ---.*$|[`*|[\]#]/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** Text as HTML shows it. */
export function html(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** An operation of the OpenAPI document, as far as guides show it. */
interface Call {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly { readonly name: string; readonly schema: { default?: unknown; maximum?: number } }[];
  readonly security?: readonly unknown[];
  readonly 'x-credits': number;
  readonly 'x-credits-per': string;
  readonly 'x-prices'?: readonly { readonly credits: number }[];
}

const VECTORS = readFileSync(new URL('../../data/reference/webhook-vectors.json', import.meta.url), 'utf8');

/** Facts that the service states of itself, as Markdown, by the name under which a guide includes them. */
function factsOf(calls: ReadonlyMap<string, Call>): Readonly<Record<string, string>> {
  const keyed = [...calls].filter(([, { security }]) => security?.length !== 0);
  const link = (title: string) => `[\`${title}\`](../docs#${calls.get(title)?.operationId})`;
  return {
    errors: Object.entries(ERRORS)
      .toSorted(([, a], [, b]) => a.status - b.status)
      .map(
        ([code, { status, meaning }]) =>
          `### \`${code}\`\n\nStatus ${status}. ${sentence(meaning)} **What to do.** ${ERROR_ADVICE[code as ErrorCode]}`,
      )
      .join('\n\n'),
    prices: table(
      ['Call', 'Credits'],
      keyed.map(([title, call]) => [link(title), priceOf(call)]),
    ),
    'page-sizes': table(
      ['List', 'Parameters', 'Usual page', 'Largest page'],
      keyed.flatMap(([title, { parameters = [] }]) =>
        ['', 'operations_'].flatMap((prefix) => {
          const size = parameters.find(({ name }) => name === `${prefix}limit`)?.schema;
          if (size === undefined || !parameters.some(({ name }) => name === `${prefix}cursor`)) return [];
          const names = `\`${prefix}limit\`, \`${prefix}cursor\``;
          return [[link(title), names, `${size.default}`, `${size.maximum}`]];
        }),
      ),
    ),
    'delivery-headers': table(
      ['Header', 'Meaning'],
      Object.entries(TEXTS.delivery_headers).map(([name, meaning]) => [`\`${name}\``, meaning]),
    ),
    'retry-times': retryTimes(),
    'test-vector': testVector(),
    events: CURRENT_EVENTS.map(eventText).join('\n\n'),
    'earlier-events': EARLIER_DESCRIPTION.events.map(eventText).join('\n\n'),
  };
}

function priceOf({ 'x-credits': credits, 'x-credits-per': per, 'x-prices': prices = [] }: Call): string {
  const most = Math.max(credits, ...prices.map((price) => price.credits));
  if (per !== 'call') return `${credits} for each ${per}`;
  if (most === 0) return 'free';
  return most === credits ? `${credits}` : `${credits} to ${most}, by its parameters`;
}

function retryTimes(): string {
  let since_first_ms = 0;
  const rows = Array.from({ length: RETRIES_MAX }, (_, k) => {
    const wait_ms = retryWait({ attempt: k + 1, status_code: null, retry_after_ms: null, since_first_ms }) ?? 0;
    since_first_ms += wait_ms;
    const when = `${wait_ms / 1000} seconds after attempt ${k + 1} has ended`;
    return [`${k + 2}`, when, `${since_first_ms / 1000} seconds`];
  });
  return table(['Attempt', 'When', 'After the first, when attempts fail at once'], rows);
}

function testVector(): string {
  const [first] = known.vectors as [(typeof known.vectors)[number]];
  const lines = Object.entries(first.headers).map(([name, value]) => `${name}: ${value}`);
  return `${code('secret', first.secrets.join('\n'))}\n\n${code('headers and body', [...lines, '', first.body].join('\n'))}`;
}

function eventText({ type, when, example }: DescribedEvent): string {
  return `### \`${type}\`\n\n${sentence(when)}\n\n${code('body', JSON.stringify(example, null, 2))}`;
}

const code = (label: string, text: string) => `\`\`\`${label}\n${text}\n\`\`\``;
const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
