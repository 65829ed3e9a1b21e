import { readFileSync } from 'node:fs';
import { Marked } from 'marked';
import type { PublicRoute } from '../middleware/public-routes.ts';
import { html, htmlPage, servePage, slug } from './docs-html.ts';

/** Names of the guides in `api/docs/`, in the order of the navigation. */
export const GUIDES = ['receive-events', 'exports', 'files', 'operate', 'limits', 'words', 'earlier-variant'] as const;

const guides = GUIDES.map((name) => {
  const text = readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8');
  return { name, text, title: /^# (.+)$/m.exec(text)?.[1] ?? name };
});

/** GET /docs/<name>: the guides of `api/docs/`, rendered when the service starts. */
export const docsGuides: readonly PublicRoute[] = guides.map(({ name, text, title }) =>
  servePage(`/docs/${name}`, renderGuide(title, text)),
);

/** Links to the guides, for the navigation of a page; `base` leads from that page to the folder of the guides. */
export function guideLinks(base: string): string {
  const items = guides.map(({ name, title }) => `<li><a class="plain" href="${base}${name}">${html(title)}</a></li>`);
  return `<h2>Guides</h2>\n<ul>${items.join('')}</ul>`;
}

function renderGuide(title: string, text: string): string {
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: heading }) {
        return `<h${depth} id="${slug(heading)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code: ({ text: code }) => `<pre tabindex="0"><code>${html(code)}</code></pre>\n`,
    },
  });
  return htmlPage({
    title: `hail: ${title.toLowerCase()}`,
    nav: `<nav aria-label="Guides">
<a class="brand" href="../docs">hail</a>
<p class="version"><a href="../docs">Endpoints</a> · <a href="webhooks">Events</a> · <a href="../viewer">Map</a></p>
${guideLinks('')}
</nav>`,
    main: marked.parse(text, { async: false }),
  });
}
