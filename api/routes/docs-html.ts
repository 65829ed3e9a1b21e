import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { serveDocument } from '../http/document.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';

const STYLE = readFileSync(new URL('./docs.css', import.meta.url), 'utf8');
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Serves a page of the documentation. Its policy allows no script and no external resource. */
export function servePage(path: string, page: string): PublicRoute {
  const policy = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return { path, handler: serveDocument('text/html; charset=utf-8', page, { 'Content-Security-Policy': policy }) };
}

/** HTML of a page: navigation and text. */
export function htmlPage({ title, nav, main }: Readonly<Record<'title' | 'nav' | 'main', string>>): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title>
<style>${STYLE}</style>
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
