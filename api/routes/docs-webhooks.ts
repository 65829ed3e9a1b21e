import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { serveDocument } from '../http/document.ts';
import { JSON_TYPE } from '../http/reply.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';
import { CURRENT_EVENTS, DELIVERY_HEADERS, type DescribedEvent, deliverySchema } from '../openapi-webhooks.ts';
import { RETRIES_MAX, retryWait } from '../rules/webhook-retry.ts';
import { EARLIER_DESCRIPTION } from '../variants.ts';
import { factTable, html, inlineCode, slug } from './docs-html.ts';
import { fieldTables, type JsonSchema } from './docs-schema-tables.ts';

const VECTORS = readFileSync(new URL('../../data/reference/webhook-vectors.json', import.meta.url), 'utf8');

const Vector = z.object({
  secrets: z.array(z.string()).min(1),
  body: z.string(),
  headers: z.record(z.string(), z.string()),
});
const Vectors = z.object({ vectors: z.array(Vector).min(1) });

/** GET /docs/webhooks, the earlier address of the guide for receivers, and GET /docs/webhooks/vectors.json, its test vectors. */
export const webhookDocs: readonly PublicRoute[] = [
  {
    path: '/docs/webhooks',
    handler: (ctx) => {
      ctx.body = null; // an empty string would set a Content-Type
      ctx.status = 301;
      ctx.set({ Location: 'receive-events', 'Cache-Control': 'public, max-age=60', 'Content-Length': '0' });
    },
  },
  { path: '/docs/webhooks/vectors.json', handler: serveDocument(JSON_TYPE, VECTORS) },
];

/** Facts of deliveries for the guide for receivers. */
export const webhookFragments = {
  'delivery-headers': () =>
    factTable(
      ['Header', 'Meaning'],
      Object.entries(DELIVERY_HEADERS).map(([name, meaning]) => [`<code>${name}</code>`, inlineCode(meaning)]),
    ),
  'retry-times': retryTimes,
  'test-vector': testVector,
  events: () => eventArticles('current', CURRENT_EVENTS),
  'earlier-events': () => eventArticles('earlier', EARLIER_DESCRIPTION.events),
} as const;

function retryTimes(): string {
  let since_first_ms = 0;
  const rows = Array.from({ length: RETRIES_MAX }, (_, k) => {
    const wait_ms = retryWait({ attempt: k + 1, status_code: null, retry_after_ms: null, since_first_ms }) ?? 0;
    since_first_ms += wait_ms;
    return [
      `${k + 2}`,
      `${wait_ms / 1000} seconds after attempt ${k + 1} has ended`,
      `${since_first_ms / 1000} seconds`,
    ];
  });
  return factTable(['Attempt', 'When', 'After the first, when attempts fail at once'], rows);
}

function testVector(): string {
  const [first] = Vectors.parse(JSON.parse(VECTORS)).vectors;
  if (first === undefined) return '';
  const { secrets, body, headers } = first;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `${figure('Secret', secrets.join('\n'))}\n${figure('Headers and body', [...lines, '', body].join('\n'))}`;
}

function eventArticles(variant: string, described: readonly DescribedEvent[]): string {
  return described.map((event) => eventArticle(event, variant)).join('\n');
}

function eventArticle(event: DescribedEvent, variant: string): string {
  const { type, when, example } = event;
  return `<article id="${slug(`${variant} ${type}`)}">
<h3><code>${html(type)}</code></h3>
<p>${inlineCode(when.charAt(0).toUpperCase() + when.slice(1))}.</p>
${figure('Body', JSON.stringify(example, null, 2))}
<details><summary>Fields</summary>${fieldTables(deliverySchema(event) as JsonSchema, {}, () => '')}</details>
</article>`;
}

function figure(caption: string, text: string): string {
  return `<figure class="code"><figcaption>${caption}</figcaption><pre tabindex="0"><code>${html(text)}</code></pre></figure>`;
}
