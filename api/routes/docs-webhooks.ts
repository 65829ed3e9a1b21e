import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { serveDocument } from '../http/document.ts';
import { JSON_TYPE } from '../http/reply.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';
import { CURRENT_EVENTS, DELIVERY_HEADERS, type DescribedEvent, deliverySchema } from '../openapi-webhooks.ts';
import {
  BUSY,
  GIVE_UP_AFTER,
  LONGEST_WAIT_MS,
  RETRIES_MAX,
  retryWait,
  WARN_AFTER,
  WINDOW_MS,
} from '../rules/webhook-retry.ts';
import { EARLIER_DESCRIPTION, EARLIER_WAITS_MS } from '../variants.ts';
import { ATTEMPTS_KEPT } from '../webhooks/attempts.ts';
import { ATTEMPT_MS, CONNECT_MS } from '../webhooks/client.ts';
import { TOLERANCE_S } from '../webhooks/signature.ts';
import { html, htmlPage, inlineCode, servePage, slug } from './docs-html.ts';
import { exampleText } from './docs-reference.ts';
import { fieldTables, type JsonSchema } from './docs-schema-tables.ts';

const PATH = '/docs/webhooks';
const VECTORS_PATH = `${PATH}/vectors.json`;

const fileOfProject = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const VECTORS = fileOfProject('data/reference/webhook-vectors.json');
/** Programs that verify a signature, by language. */
const CHECKS = [
  ['TypeScript', 'data/examples/verify-webhook.ts'],
  ['Python', 'data/examples/verify-webhook.py'],
  ['Shell', 'data/examples/verify-webhook.sh'],
] as const;

const Vector = z.object({
  secrets: z.array(z.string()).min(1),
  body: z.string(),
  headers: z.record(z.string(), z.string()),
});
const Vectors = z.object({ vectors: z.array(Vector).min(1) });

/** GET /docs/webhooks: the guide for receivers of events, and its test vectors as a file. */
export const webhookDocs: readonly PublicRoute[] = [
  servePage(PATH, renderWebhookDocs()),
  { path: VECTORS_PATH, handler: serveDocument(JSON_TYPE, VECTORS) },
];

/** The page as HTML; its figures are the constants of the service. */
function renderWebhookDocs(): string {
  const sections = [
    ['Who is sent what', receivers()],
    ['A delivery', delivery()],
    ['Checking the signature', signature()],
    ['A test vector', vector()],
    ['Repeats', repeats()],
    ['Duplicates and order', order()],
    ['Giving up', givingUp()],
    ['Events', events('current', CURRENT_EVENTS)],
    ['Events of the earlier variant', earlierEvents()],
  ] as const;
  const entries = sections.map(([title]) => `<li><a class="plain" href="#${slug(title)}">${title}</a></li>`);
  return htmlPage({
    title: 'hail: receiving events',
    nav: `<nav aria-label="Sections">
<a class="brand" href="#top">hail</a>
<p class="version"><a href="../docs">Endpoints</a> · <a href="../v1/openapi.json">OpenAPI 3.1</a></p>
<h2>Receiving events</h2>
<ul>${entries.join('')}</ul>
</nav>`,
    main: `<h1>Receiving events</h1>
<p class="lead">Hail that a subscription or an area asks for is sent to your server as a signed POST request. This is all that the server has to know; the same events are under <code>webhooks</code> of the <a href="../v1/openapi.json">OpenAPI description</a>.</p>
${sections.map(([title, text]) => `<h2 id="${slug(title)}">${title}</h2>\n${text}`).join('\n')}`,
  });
}

function receivers(): string {
  return paragraphs(
    'A **webhook** of a business (`POST /v1/webhooks`) is sent the events that it names. An alert **subscription** (`POST /v1/alerts/subscribe`) has an address and a secret of its own: it is sent its own alerts, and no other event.',
    'An address is https on the public internet. Private addresses, redirects and names that lead to private addresses are refused, when it is set and again with every attempt. Its secret, `whsec_…`, is shown once.',
    'While no scans come, nothing is sent: no alert is raised and none is resolved. If silence must not mean safety, watch `data_timestamp`, or `components.ingest.stale` of `/v1/health`.',
  );
}

function delivery(): string {
  return `${paragraphs(
    'The body is JSON, UTF-8: `id`, `schema_version`, `event`, `created_at` and `data`. New fields and new words may come at any time; what would break a receiver raises `schema_version`.',
    `Answer with any status from 200 to 299 within ${ATTEMPT_MS / 1000} seconds (${CONNECT_MS / 1000} of them to connect). The body of the answer does not matter. Every other status, a redirect too, and no answer in time is a failure. Do slow work after the answer.`,
  )}
${tableOf(
  ['Header', 'Meaning'],
  Object.entries(DELIVERY_HEADERS).map(([name, meaning]) => [`\`${name}\``, meaning]),
)}`;
}

function signature(): string {
  return `${paragraphs(
    'Check the signature over the bytes as they came, before any JSON parser has seen them. There are two schemes, on every delivery; one is enough.',
    `**\`X-Service-Signature\`** is \`t=<unix seconds>,v1=<hex>\`: the HMAC-SHA256 of \`<t>.<body>\`, with the whole secret, \`whsec_\` included, as the key. Compare in constant time, and refuse a \`t\` that is more than ${TOLERANCE_S} seconds off. After a secret was rotated the old one signs too for a while: there are several \`v1=\` then, and one that matches is enough.`,
    '**`webhook-signature`** follows [Standard Webhooks](https://www.standardwebhooks.com): its libraries take the secret as it is.',
  )}
${CHECKS.map(([language, path]) => `<details><summary>${language}</summary><pre tabindex="0"><code>${html(fileOfProject(path))}</code></pre></details>`).join('\n')}`;
}

function vector(): string {
  const [first] = Vectors.parse(JSON.parse(VECTORS)).vectors;
  if (first === undefined) return '';
  const { secrets, body, headers } = first;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `<p>This delivery is genuine. <a href="webhooks/vectors.json">All vectors</a>, with two secrets in force and with forged signatures, are a file.</p>
<h3>Secret</h3>
<pre tabindex="0"><code>${html(secrets.join('\n'))}</code></pre>
<h3>Headers and body</h3>
<pre tabindex="0"><code>${html([...lines, '', body].join('\n'))}</code></pre>`;
}

function repeats(): string {
  const waits = Array.from({ length: RETRIES_MAX }, (_, k) =>
    retryWait({ attempt: k + 1, status_code: null, retry_after_ms: null, since_first_ms: 0 }),
  );
  const rows = waits.map((wait_ms, k) => [`${k + 2}`, `${seconds(wait_ms ?? 0)} after attempt ${k + 1} has ended`]);
  return `${paragraphs(
    `A failed delivery is repeated up to ${RETRIES_MAX} times, with the same bytes and the same id, and a new timestamp and signature.`,
    `An answer of ${BUSY.join(' or ')} with \`Retry-After\` (seconds or a date) makes the wait longer, up to ${LONGEST_WAIT_MS / 60_000} minutes; nothing is repeated later than ${minutes(WINDOW_MS)} after the first attempt. A restart of the service keeps the schedule.`,
    `A receiver that was made in the earlier variant is sent a failed delivery again after ${EARLIER_WAITS_MS.map(seconds).join(', ')}.`,
  )}
${tableOf(['Attempt', 'When'], rows)}
${paragraphs(`The last ${ATTEMPTS_KEPT} attempts of a webhook are at \`GET /v1/webhooks/{id}/deliveries\`. \`POST /v1/webhooks/{id}/deliveries/{deliveryId}/redeliver\` sends one again, once, under a new id; \`POST /v1/webhooks/{id}/test\` sends a made-up event with \`"test": true\` in its data.`)}`;
}

function order(): string {
  return paragraphs(
    'A delivery may come twice: when your answer was lost, the event is repeated. The `id` of the body, `X-Service-Delivery-Id` and `webhook-id` are one and the same, and stay the same. Keep the ids of an hour; answer 200 to one that you have seen, and do nothing.',
    'Two receivers of one event get different ids. `alert_id` tells what belongs together.',
    '`alert.resolved` is sent after its `alert.created` was taken, or given up. Otherwise there is no order.',
  );
}

function givingUp(): string {
  return paragraphs(
    `${GIVE_UP_AFTER} events in a row whose first attempt fails end the deliveries: the webhook is \`disabled\`, a subscription \`paused\`. One success starts the count again. The other webhooks of the business are sent \`webhook.disabled\`; its admins and managers get a mail, and one before, after ${WARN_AFTER} failures.`,
    'What waits then is dropped, and nothing is kept for later. `PUT /v1/webhooks/{id}` (or `PATCH /v1/alerts/{id}`) with `{"status": "active"}` starts again; what was missed is sent once the operator of the service recovers it.',
  );
}

function events(variant: string, described: readonly DescribedEvent[]): string {
  return described.map((event) => eventArticle(event, variant)).join('\n');
}

function earlierEvents(): string {
  return `${paragraphs('Receivers that were made in the earlier variant get these instead: the same headers and signatures around a body of `event`, `timestamp` and `data`.')}
${events('earlier', EARLIER_DESCRIPTION.events)}`;
}

function eventArticle(event: DescribedEvent, variant: string): string {
  const { type, when, example } = event;
  return `<article id="${slug(`${variant} ${type}`)}">
<h3><code>${html(type)}</code></h3>
<p>${inlineCode(when.charAt(0).toUpperCase() + when.slice(1))}.</p>
<pre tabindex="0"><code>${html(exampleText(example))}</code></pre>
<details><summary>Fields</summary>${fieldTables(deliverySchema(event) as JsonSchema, {}, () => '')}</details>
</article>`;
}

function seconds(ms: number): string {
  if (ms >= 300_000) return minutes(ms);
  return ms === 1_000 ? '1 second' : `${ms / 1000} seconds`;
}

function minutes(ms: number): string {
  return ms === 3_600_000 ? 'an hour' : `${ms / 60_000} minutes`;
}

/** Paragraphs with code, bold text and links in Markdown. */
function paragraphs(...texts: readonly string[]): string {
  const marked = (text: string) =>
    inlineCode(text)
      .replaceAll(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
      .replaceAll(/\[([^\]]+)\]\((https:[^)]+)\)/g, '<a href="$2">$1</a>');
  return texts.map((text) => `<p>${marked(text)}</p>`).join('\n');
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]) => row.map((cell) => `<td>${inlineCode(cell)}</td>`).join('');
  return `<div class="scroll" tabindex="0"><table><thead><tr>${head.map((cell) => `<th>${cell}</th>`).join('')}</tr></thead><tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('')}</tbody></table></div>`;
}
