import { ERRORS } from '../../schemas/errors.ts';
import type { PublicRoute } from '../middleware/public-routes.ts';
import { exampleTabs } from './docs-examples.ts';
import { guideLinks } from './docs-guides.ts';
import { html, htmlPage, inlineCode, servePage, slug } from './docs-html.ts';
import {
  type DocsSource,
  type Entry,
  type Operation,
  operations,
  type Parameter,
  schemasOf,
  successOf,
} from './docs-operations.ts';
import { alwaysMark, fieldTables, type JsonSchema, requiredMark, schemaLimits } from './docs-schema-tables.ts';
import { searchForm } from './docs-search.ts';

/** Longer examples are cut, characters. */
const LONGEST_EXAMPLE = 2400;
/** Texts of the page of each variant. Links are relative to the page, because a proxy may serve it below a path. */
const PAGES = {
  current: {
    path: '/docs',
    guides: 'docs/',
    links: [
      ['v1/openapi.json', 'OpenAPI 3.1'],
      ['viewer', 'Map'],
      ['docs/receive-events', 'Receiving events'],
      ['docs/legacy', 'Earlier variant'],
    ],
    lead: 'Where hail is falling now, where it fell on any day, and what lies in its way: answered straight from published radar files. Sizes are radar estimates, not ground measurements.',
    facts: currentFacts,
    error:
      'Every error is an object of <code>error</code>, <code>message</code> and <code>request_id</code>. Rely on the code; the message may change.',
  },
  earlier: {
    path: '/docs/legacy',
    guides: '',
    links: [
      ['../legacy/v1/openapi.json', 'OpenAPI 3.1'],
      ['../viewer', 'Map'],
      ['receive-events', 'Receiving events'],
      ['../docs', 'Current variant'],
    ],
    lead: 'The earlier variant of the interface: the same data, rules and prices as the current one, in its earlier shape. Sizes are radar estimates, not ground measurements.',
    facts: earlierFacts,
    error:
      'Every error is an object of <code>error {code, message}</code> and <code>meta {request_id, timestamp}</code>. Rely on the code; the message may change.',
  },
} as const;
type Variant = keyof typeof PAGES;

/** The page loads its script, searches and tries calls: all from this service. */
const POLICY = { 'script-src': "'self'", 'connect-src': "'self'", 'form-action': "'self'" };

/** GET /docs, and /docs/legacy of the earlier variant: the reference as one page without external resources. */
export function docsPage(source: DocsSource, variant: Variant = 'current'): PublicRoute {
  return servePage(PAGES[variant].path, renderDocs(source, variant), POLICY);
}

/** The page as HTML. */
function renderDocs(source: DocsSource, variant: Variant = 'current'): string {
  const { links, guides, lead, facts, error } = PAGES[variant];
  const entries = operations(source);
  const groups = [...Map.groupBy(entries, ({ operation }) => operation.tags?.[0] ?? 'Other')];
  const root = source.servers?.[0]?.url ?? '';
  const schemas = schemasOf(source);
  return htmlPage({
    title: `${source.info.title} documentation`,
    head: `<script type="module" src="${guides}assets/docs.js"></script>`,
    nav: `<nav aria-label="Endpoints">
<a class="brand" href="#top">${html(source.info.title)}</a>
<p class="version">${[`Version ${html(source.info.version)}`, ...links.map(([to, text]) => `<a${to.endsWith('.json') ? ' id="description"' : ''} href="${to}">${text}</a>`)].join(' · ')}</p>
${searchForm('', `${guides}search`)}
<a class="to-list" href="#all-endpoints">All endpoints and guides</a>
<div class="list" id="all-endpoints">
${groups.map(([group, members]) => navGroup(group, members)).join('\n')}
<h2>Reference</h2>
<ul><li><a class="plain" href="#errors">Errors</a></li></ul>
${guideLinks(guides)}
</div>
</nav>`,
    main: `<h1>Hail from public radar, by the call</h1>
<p class="lead">${lead}</p>
${facts(root)}
${groups.map(([group, members]) => `<h2 id="${slug(group)}">${html(group)}</h2>\n${members.map((entry) => operationArticle(entry, root, schemas)).join('\n')}`).join('\n')}
<h2 id="errors">Errors</h2>
<p>${error}</p>
${errorTable()}`,
  });
}

function navGroup(group: string, members: readonly Entry[]): string {
  const items = members.map(
    ({ method, path, id }) =>
      `<li><a href="#${id}">${methodBadge(method)}<span class="path">${breakable(path.replace(/^.*\/v1\//, ''))}</span></a></li>`,
  );
  return `<h2>${html(group)}</h2>\n<ul>${items.join('')}</ul>`;
}

function currentFacts(root: string): string {
  const cards = [
    [
      'One key',
      `Send <code>Authorization: Bearer hs_live_…</code> with every call to <code>${html(root)}/v1</code>. Test keys open <code>/v1/health</code> only.`,
    ],
    [
      'Credits',
      'Each call names its price. A 304 costs what the 200 would; refusals, failures and replays cost nothing. <code>X-Credits-Charged</code> says what a call cost, and <code>GET /v1/usage</code> shows every credit immediately.',
    ],
    [
      'Rate',
      '60 requests in any 60 seconds unless your plan says otherwise. Every answer carries <code>X-RateLimit-Remaining</code>; a 429 gives the wait in <code>Retry-After</code>.',
    ],
    [
      'Conditional requests',
      'Market data carry an <code>ETag</code> and the time of their scan. Send the tag as <code>If-None-Match</code> and an unchanged answer is an empty 304. <code>HEAD</code> answers as <code>GET</code> does, without the body and for the same price.',
    ],
    [
      'Safe repeats',
      'Where an endpoint accepts <code>Idempotency-Key</code>, a repetition within 24 hours returns the first answer and changes nothing.',
    ],
    [
      'Validation',
      'Values out of range and unknown names are refused. The message begins with the parameter, or with the JSON pointer of the field. Lists of values in answers that end in <code>…</code> may grow: expect new values.',
    ],
  ];
  return factCards(cards);
}

function earlierFacts(root: string): string {
  return factCards([
    [
      'One key',
      `Send <code>Authorization: Bearer …</code> with every call to <code>${html(root)}/legacy/v1</code>. A key that was made for this variant gets it under <code>${html(root)}/v1</code> too; every other key gets the current one there.`,
    ],
    [
      'Simulated answers',
      'A key that begins with <code>test_</code> gets simulated answers, free, up to 600 a minute. They depend only on place and UTC day, carry <code>X-Data-Source: simulated</code>, and contain no observed data.',
    ],
    [
      'Answer format',
      'A success is <code>{data, meta {request_id, timestamp}}</code>; longitudes are called <code>lng</code>.',
    ],
    [
      'Credits',
      'Each call costs what the current endpoint costs that serves it. Refusals, failures and replays cost nothing.',
    ],
    [
      'Safe repeats',
      'Where an endpoint accepts <code>Idempotency-Key</code>, a repetition within 24 hours returns the first answer as it was, its <code>meta</code> included, and changes nothing.',
    ],
    [
      'End of life',
      'Once the end of this variant is scheduled, every answer carries <code>Deprecation</code> and <code>Sunset</code>.',
    ],
  ]);
}

function factCards(cards: readonly (readonly string[])[]): string {
  return `<div class="facts">${cards.map(([title, text]) => `<section><h2>${title}</h2><p>${text}</p></section>`).join('')}</div>`;
}

function operationArticle(
  { method, path, operation, id }: Entry,
  root: string,
  schemas: Readonly<Record<string, JsonSchema>>,
): string {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in !== 'header');
  const { status, type, reply } = successOf(operation);
  const body = operation.requestBody?.content?.['application/json'];
  const fields = reply?.schema ? fieldTables(reply.schema, schemas, alwaysMark) : '';
  const call = {
    method,
    url: `${root}${path}`,
    query: (operation.parameters ?? [])
      .filter((parameter) => parameter.in === 'query' && (parameter.example !== undefined || parameter.required))
      .map(({ name, example }) => [name, String(example ?? '')] as const),
    body: body?.example,
    needs_key: operation.security?.length !== 0,
    answer: type.includes('json') ? 'json' : type.startsWith('text/') ? 'text' : 'bytes',
  } as const;
  return `<article id="${id}">
<div class="about">
<h3>${html(operation.summary ?? '')}</h3>
<p class="address">${methodBadge(method)}<span class="path">${breakable(path)}</span></p>
${chips(operation)}
<p>${inlineCode(operation.description ?? '')}</p>
${parameters.length === 0 ? '' : `<h4>Parameters</h4>\n${parameterTable(parameters)}`}
${body?.schema ? `<h4>Body</h4>\n${fieldTables(body.schema, schemas, requiredMark)}` : ''}
${priceTable(operation)}
</div>
<div class="samples">
<h4>Example</h4>
${exampleTabs(id, call)}
<button class="try" type="button" data-operation="${id}" hidden>Try it</button>
${reply?.example === undefined ? '' : `<h4>Answer ${html(status)}</h4>\n<pre class="answer" tabindex="0"><code>${html(exampleText(reply.example))}</code></pre>`}
</div>
${fields === '' ? '' : `<details class="fields"><summary>Fields of the answer</summary>${fields}</details>`}
</article>`;
}

function chips(operation: Operation): string {
  const scope = operation['x-scope'];
  const takes = (name: string) => (operation.parameters ?? []).some((parameter) => parameter.name === name);
  const items = [
    `<li class="price">${priceText(operation)}</li>`,
    operation.security?.length === 0 ? '<li>no key</li>' : '',
    scope ? `<li>scope <code>${html(scope)}</code></li>` : '',
    operation['x-feature'] ? `<li>needs ${html(operation['x-feature'])}</li>` : '',
    operation['x-test-key'] && operation.security?.length !== 0 ? '<li>live or test key</li>' : '',
    takes('If-None-Match') ? '<li>ETag</li>' : '',
    takes('Idempotency-Key') ? '<li>Idempotency-Key</li>' : '',
  ];
  return `<ul class="chips">${items.join('')}</ul>`;
}

/** `2 credits`; `2 credits, up to 5` where the query decides; `1 credit per point` where a call has several. */
function priceText(operation: Operation): string {
  const { 'x-credits': credits = 0, 'x-credits-per': per = 'call', 'x-prices': prices = [] } = operation;
  const unit = (amount: number) => `${amount} ${amount === 1 ? 'credit' : 'credits'}`;
  if (per !== 'call') return `${unit(credits)} per ${html(per)}`;
  const most = Math.max(credits, ...prices.map((price) => price.credits));
  if (most === 0) return 'free';
  return most === credits ? unit(credits) : `${unit(credits)}, up to ${most}`;
}

/** Prices by query, where the query decides. */
function priceTable({ 'x-prices': prices = [] }: Operation): string {
  if (prices.length === 0) return '';
  const rows = prices.map(
    ({ when, credits }) =>
      `<tr><td><code>${html(when.replaceAll('&', ' '))}</code></td><td>${credits || 'free'}</td></tr>`,
  );
  return `<details><summary>Prices in credits</summary><table><tbody>${rows.join('')}</tbody></table></details>`;
}

function parameterTable(parameters: readonly Parameter[]): string {
  const rows = parameters.map(
    ({ name, required, description, schema }) =>
      `<tr><td><code>${html(name)}</code>${requiredMark(required)}</td><td class="limits">${html(schemaLimits(schema))}</td><td>${inlineCode(description ?? schema.description ?? '')}</td></tr>`,
  );
  return `<div class="scroll" tabindex="0"><table><thead><tr><th>Name</th><th>Values</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

/** A value as indented JSON, cut after `LONGEST_EXAMPLE`. */
export function exampleText(example: unknown): string {
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
  return text.length > LONGEST_EXAMPLE ? `${text.slice(0, LONGEST_EXAMPLE)}\n…` : text;
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, meaning }]) =>
      `<tr><td><code>${code}</code></td><td>${status}</td><td>${html(meaning.charAt(0).toUpperCase() + meaning.slice(1))}.</td></tr>`,
  );
  return `<article><div class="scroll" tabindex="0"><table><thead><tr><th>Code</th><th>Status</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div></article>`;
}

function methodBadge(method: string): string {
  return `<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** A path as HTML with line breaks allowed after its slashes. */
function breakable(path: string): string {
  return html(path).replaceAll('/', '/<wbr>');
}
