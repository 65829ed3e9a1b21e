import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { serveDocument } from '../http/document.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';

const STYLE = readFileSync(new URL('./docs.css', import.meta.url), 'utf8');
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Folder of the scripts of the pages, from the root of the service. */
export const ASSETS_PATH = 'docs/assets/';

/** Serves a page of the documentation. Its policy allows the scripts of the service, calls to it, and nothing external. */
export function servePage(path: string, page: string): PublicRoute {
  const policy = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return { path, handler: serveDocument('text/html; charset=utf-8', page, { 'Content-Security-Policy': policy }) };
}

interface PageParts {
  readonly title: string;
  readonly nav: string;
  readonly main: string;
  /** Way from the page to the root of the service; pages are below `/docs/` when left out. */
  readonly root?: string;
}

/** HTML of a page: search, navigation and text. */
export function htmlPage({ title, nav, main, root = '../' }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title>
<style>${STYLE}</style>
<script type="module" src="${root}${ASSETS_PATH}docs.js"></script>
</head>
<body>
<div class="page">
<div class="side">
${SEARCH}
${nav}
</div>
<main id="top">
${main}
</main>
</div>
</body>
</html>
`;
}

/** The search field; it stays hidden without a script. */
const SEARCH = `<search id="search" hidden>
<label class="unseen" for="search-text">Search the documentation</label>
<input id="search-text" type="search" placeholder="Search  /" autocomplete="off" spellcheck="false" aria-controls="search-results">
<p id="search-note" role="status"></p>
<ul id="search-results"></ul>
</search>`;

/** A text as the id of a heading. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** Text escaped for HTML. */
export function html(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Text escaped for HTML, with `code` as an element. */
export function inlineCode(text: string): string {
  return html(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
