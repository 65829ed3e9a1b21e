import MiniSearch from 'minisearch';
import { parseQuery } from '../http/query.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';
import { html, type PagePolicy, pagePolicy } from './docs-html.ts';

/** Longest search, characters; the rest is ignored. */
const LONGEST_SEARCH = 100;
const MOST_RESULTS = 12;
/** Characters of a result's text around the first word that was found. */
const EXCERPT = 180;

/** A section of a guide, as it is searched. */
interface Section {
  readonly id: string;
  readonly guide: string;
  readonly heading: string;
  readonly text: string;
}

/** A guide as HTML. */
interface RenderedGuide {
  readonly name: string;
  readonly title: string;
  readonly main: string;
}

/** GET /docs/search?q=…: sections of the guides, and further ones, that contain the words, best first, as a page that needs no script. */
export function guideSearch(
  guides: readonly RenderedGuide[],
  pageOf: (title: string, words: string, main: string) => string,
  policy: PagePolicy,
  further: readonly Section[] = [],
): PublicRoute {
  const sections = new Map([...guides.flatMap(sectionsOf), ...further].map((section) => [section.id, section]));
  const index = new MiniSearch<Section>({
    fields: ['guide', 'heading', 'text'],
    searchOptions: { boost: { guide: 2, heading: 3 }, prefix: true, fuzzy: 0.2, combineWith: 'AND' },
  });
  index.addAll([...sections.values()]);
  return {
    path: '/docs/search',
    handler: (ctx) => {
      const { q = '' } = parseQuery(ctx.state.search);
      const words = [q].flat().join(' ').slice(0, LONGEST_SEARCH).trim();
      const found = index.search(words).flatMap(({ id, terms }) => {
        const section = sections.get(String(id));
        return section === undefined ? [] : [resultItem(section, terms)];
      });
      ctx.status = 200;
      ctx.set({ 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache', ...pagePolicy(policy) });
      ctx.body = pageOf('Search', words, resultsMain(words, found.slice(0, MOST_RESULTS)));
    },
  };
}

/** The search field of a page; `action` leads from the page to the search. */
export function searchForm(words: string, action = 'search'): string {
  return `<form class="search" action="${action}" role="search"><label for="q">Search the documentation</label>
<input id="q" name="q" type="search" maxlength="${LONGEST_SEARCH}" autocomplete="off" placeholder="Search the documentation" value="${html(words)}">
<div id="found" aria-live="polite"></div></form>`;
}

function resultsMain(words: string, items: readonly string[]): string {
  if (words === '') return '<h1>Search</h1>\n<p class="lead">Type one or more words into the search field.</p>';
  const list =
    items.length === 0
      ? `<p class="lead" id="results">Nothing contains “${html(words)}”. The <a href="../docs">reference</a> lists every endpoint and field.</p>`
      : `<ol class="results" id="results">${items.join('')}</ol>`;
  return `<h1>Pages with “${html(words)}”</h1>\n${list}`;
}

function resultItem({ id, guide, heading, text }: Section, terms: readonly string[]): string {
  return `<li><a href="${id}"><span>${html(guide)}</span>${html(heading)}</a><p>${html(excerpt(text, terms))}</p></li>`;
}

/** The text around the first term that it contains. */
function excerpt(text: string, terms: readonly string[]): string {
  const places = terms.map((term) => text.toLowerCase().indexOf(term)).filter((at) => at !== -1);
  const first = places.length === 0 ? 0 : Math.min(...places);
  const start = first < EXCERPT / 2 ? 0 : text.lastIndexOf(' ', first - EXCERPT / 3) + 1;
  const end = start + EXCERPT < text.length ? text.lastIndexOf(' ', start + EXCERPT) : text.length;
  return `${start === 0 ? '' : '… '}${text.slice(start, end)}${end === text.length ? '' : ' …'}`;
}

/** Sections of a guide by its headings of the second level; what comes before the first belongs to the guide itself. */
function sectionsOf({ name, title, main }: RenderedGuide): Section[] {
  return main.split(/(?=<h2 id=")/).map((part) => {
    const [, anchor, heading = ''] = /^<h2 id="([^"]+)">([\s\S]*?)<\/h2>/.exec(part) ?? [];
    return {
      id: anchor === undefined ? name : `${name}#${anchor}`,
      guide: title,
      heading: anchor === undefined ? title : plainText(heading),
      text: plainText(part.replace(/^<h[12][\s\S]*?<\/h[12]>/, '')),
    };
  });
}

/** Text of HTML that we made. */
function plainText(markup: string): string {
  return markup
    .replaceAll(/<\/?(?:a|code|strong|em|span)\b[^>]*>/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/&(lt|gt|quot|amp|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" };
