import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { serveDocument } from '../http/document.ts';
import type { Headers } from '../http/reply.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';

const STYLE = readFileSync(new URL('./docs.css', import.meta.url), 'utf8');
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Sources that a page may use in addition to its own style, by directive. */
export type PagePolicy = Readonly<Record<string, string>>;

/** Serves a page of the documentation. Its policy allows no script and no external resource unless `more` says otherwise. */
export function servePage(path: string, page: string, more: PagePolicy = {}): PublicRoute {
  return { path, handler: serveDocument('text/html; charset=utf-8', page, pagePolicy(more)) };
}

/** The policy of a page, as its header. */
export function pagePolicy({ 'style-src': styles = '', ...more }: PagePolicy = {}): Headers {
  const directives = {
    'default-src': "'none'",
    'style-src': `'sha256-${STYLE_HASH}' ${styles}`.trim(),
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
    ...more,
  };
  const policy = Object.entries(directives).map(([directive, sources]) => `${directive} ${sources}`);
  return { 'Content-Security-Policy': policy.join('; ') };
}

/** Parts of a page as HTML, except its title, which is text. */
interface PageParts {
  readonly title: string;
  readonly nav: string;
  readonly main: string;
  /** Further elements of its head. */
  readonly head?: string;
}

/** HTML of a page: navigation and text. */
export function htmlPage({ title, nav, main, head = '' }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title>
<style>${STYLE}</style>
${head}
</head>
<body>
<div class="page">
${nav}
<main id="top">
${main}
</main>
</div>
</body>
</html>
`;
}

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

/** A table of HTML cells that scrolls where the page is narrow. */
export function factTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[], tag: string) => row.map((cell) => `<${tag}>${cell}</${tag}>`).join('');
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
  return `<div class="scroll" tabindex="0"><table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body}</tbody></table></div>`;
}
