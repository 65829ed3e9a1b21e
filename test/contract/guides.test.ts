import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { REPLAY_WINDOW_MS } from '../../api/billing/idempotency.ts';
import { docsRoutes, EXAMPLE_URL, GUIDES } from '../../api/docs/pages.ts';
import { RATE_WINDOW_S } from '../../api/http/call-limits.ts';
import { CURSOR_MS } from '../../api/records/own-rows.ts';
import { ENDPOINTS } from '../../api/routes/index.ts';
import {
  BUSY,
  GIVE_UP_AFTER,
  LONGEST_WAIT_MS,
  RETRIES_MAX,
  WARN_AFTER,
  WINDOW_MS,
} from '../../api/rules/webhook-retry.ts';
import { GUEST_RATE_PER_MINUTE } from '../../api/server/admit.ts';
import { describeApi, operationId } from '../../api/server/openapi.ts';
import { ATTEMPTS_KEPT } from '../../api/webhooks/attempts.ts';
import { ATTEMPT_MS, CONNECT_MS } from '../../api/webhooks/client.ts';
import { EARLIER_WAITS_MS } from '../../api/webhooks/formats.ts';
import { signatureHeaders, TOLERANCE_S } from '../../api/webhooks/signature.ts';
import { ERROR_ADVICE, ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { EXPORT_KEPT_DAYS } from '../../schemas/resources/export-job.ts';
import { LOOKBACK_MIN } from '../../schemas/resources/hail-cell.ts';
import { REPORT_KEPT_DAYS, SIGNED_URL_SECONDS } from '../../schemas/resources/report-job.ts';
import { VERIFICATION_DAYS_MAX } from '../../schemas/resources/verification.ts';
import { EARLIER_EVENT_TYPES, EVENT_TYPES } from '../../schemas/webhook-events.ts';
import { codeBlocks, PROJECT, readDocument } from '../support/data/markdown.ts';
import { now_s, QUESTIONS, STANDARD_QUESTIONS, vectors } from '../support/data/webhook-vectors.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const BASE_URL = 'https://hail.example.com/v1';
const source = describeApi(ENDPOINTS, BASE_URL);
const guide = (name: string) => readDocument(`api/docs/${name}.md`);
/** Text without the line breaks of its source. */
const flowing = (name: string) => guide(name).replaceAll(/\s+/g, ' ');

let service: RunningService;
test.before(async () => {
  service = await startService({
    endpoints: [],
    public_routes: () => docsRoutes(source),
  });
});
test.after.always('no page failed', async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
});
const fetchPage = (path: string) => service.call(path, { key: null });
const pageOf = async (path: string) => (await fetchPage(path)).text();

test('the navigation names every file of api/docs once', (t) => {
  const files = readdirSync(`${PROJECT}api/docs`).filter((name) => name.endsWith('.md'));
  t.deepEqual(GUIDES.map((name) => `${name}.md`).sort(), files.sort());
});

const operations = new Set(ENDPOINTS.map((endpoint) => `#${operationId(endpoint)}`));

for (const path of [...GUIDES, 'guides', 'search?q=hail'])
  test(`every link of the page /docs/${path} inside the service leads to a page and a place on it`, async (t) => {
    const page = await pageOf(`/docs/${path}`);
    t.false(page.includes('<!-- facts'));
    const links = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'));
    const inside = new Set(links.filter((link) => !link.startsWith('https:')));
    t.true(inside.size > 10);
    for (const link of inside) {
      const { pathname, hash } = new URL(link, `http://service/docs/${path}`);
      if (pathname === '/viewer') continue;
      if (pathname === '/docs' && hash !== '') {
        t.true(operations.has(hash) || hash === '#getOpenapiJson' || /Archive|File/.test(hash), link);
        continue;
      }
      const reply = await fetchPage(pathname);
      t.is(reply.status, 200, link);
      if (hash !== '') t.true((await reply.text()).includes(`id="${hash.slice(1)}"`), link);
    }
  });

test('the examples of a page have the address of its own service', async (t) => {
  for (const name of GUIDES) {
    const page = await pageOf(`/docs/${name}`);
    t.false(page.includes(EXAMPLE_URL), name);
    if (guide(name).includes('export HAIL_URL=')) t.true(page.includes(`export HAIL_URL=${BASE_URL}\n`), name);
  }
});

test('guides and reference load from their own service alone', async (t) => {
  for (const path of ['/docs', '/docs/quickstart', '/docs/search?q=hail']) {
    const policy = (await fetchPage(path)).headers.get('Content-Security-Policy') ?? '';
    t.regex(
      policy,
      /^default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'/,
    );
    t.is(policy.includes('unsafe'), path === '/docs', path);
    t.false(/https?:|\*/.test(policy), path);
  }
});

test('the search finds sections by words, their beginnings and with a typing error, and calls', async (t) => {
  const found = async (words: string) => {
    const page = await pageOf(`/docs/search?q=${encodeURIComponent(words)}`);
    return [...page.matchAll(/<li><a href="([^"]+)">[^<]*<\/a> <span>/g)].map(([, link]) => link);
  };
  t.is((await found('check signature'))[0], 'receive-events#check-the-signature');
  t.is((await found('geopand'))[0]?.split('#')[0], 'files');
  t.true((await found('idempotncy')).includes('credits-and-pages#repeats'));
  t.true((await found('range_not_satisfiable')).includes('errors#the-codes'));
  t.true((await found('nowcast')).includes('../docs#getHailNowcast'));
  t.deepEqual(await found('xylophone'), []);
});

test('the search shows what was typed as text, says when nothing is found, and asks for words when there are none', async (t) => {
  const page = await pageOf(`/docs/search?q=${encodeURIComponent('<b onclick=x>"zzqq')}`);
  t.true(page.includes('Nothing contains “&lt;b onclick=x&gt;&quot;zzqq”'));
  t.true(page.includes('value="&lt;b onclick=x&gt;&quot;zzqq"'));
  t.true((await pageOf('/docs/search')).includes('Type words'));
  t.false((await pageOf(`/docs/search?q=${'hail '.repeat(500)}`)).includes('hail '.repeat(30)));
  t.is((await fetchPage('/docs/search?q=%FF')).status, 400);
});

test('the catalogue of errors has every code with its status, its meaning and what to do', async (t) => {
  const page = (await pageOf('/docs/errors')).replaceAll(/<\/?code>/g, '`');
  for (const [code, { status, meaning }] of Object.entries(ERRORS)) {
    t.true(page.includes(`<h3 id="${code}">\`${code}\`</h3>\n<p>Status ${status}. `), code);
    t.true(page.includes(meaning.slice(1)), code);
    t.true(page.includes(`<strong>What to do.</strong> ${ERROR_ADVICE[code as ErrorCode]}`), code);
  }
});

test('the price list has every call with a key', async (t) => {
  const page = (await pageOf('/docs/credits-and-pages')).replaceAll('\n', '');
  for (const endpoint of ENDPOINTS) {
    const { method, path } = endpoint;
    t.true(page.includes(`<a href="../docs#${operationId(endpoint)}"><code>${method} ${path}</code></a>`), path);
  }
  for (const row of [
    '/v1/hail/swaths</code></a></td><td>30</td>',
    '/v1/hail/history</code></a></td><td>15 to 80, by its parameters</td>',
    '/v1/hail/current/batch</code></a></td><td>8 for each location</td>',
    '/v1/usage</code></a></td><td>free</td>',
    '/v1/portfolio/impacts</code></a></td><td><code>limit</code>, <code>cursor</code></td><td>50</td><td>500</td>',
    '<code>operations_limit</code>, <code>operations_cursor</code></td><td>20</td><td>100</td>',
  ])
    t.true(page.includes(row), row);
});

test('the guide for receivers has every event, header, wait and a test vector; its earlier address leads there', async (t) => {
  const page = await pageOf('/docs/receive-events');
  for (const type of [...EVENT_TYPES, ...EARLIER_EVENT_TYPES]) t.true(page.includes(`<code>${type}</code></h3>`), type);
  const sent = signatureHeaders({ id: 'evt_1', event: 'x', body: '{}' }, [], 0);
  for (const name of Object.keys(sent)) t.true(page.includes(`<td><code>${name}</code></td>`), name);
  for (const [attempt, wait] of [10, 20, 40, 80, 160].entries())
    t.true(page.includes(`<td>${wait} seconds after attempt ${attempt + 1} has ended</td>`), String(wait));
  const [first] = vectors;
  for (const header of ['X-Service-Signature', 'webhook-signature'])
    t.true(page.includes(`${header}: ${first?.headers[header]}`), header);
  t.is(await pageOf('/docs/webhooks/vectors.json'), readDocument('data/reference/webhook-vectors.json'));
  const earlier = await service.call('/docs/webhooks', { key: null, redirect: 'manual' });
  t.is(earlier.headers.get('Location'), 'receive-events');
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Sentences of the guides whose figures are constants of the service. */
const FACTS: readonly (readonly [guide: string, sentence: string])[] = [
  [
    'receive-events',
    `within ${ATTEMPT_MS / 1000} seconds; the connection must be made within ${CONNECT_MS / 1000} of them`,
  ],
  ['receive-events', `more than ${TOLERANCE_S} seconds off`],
  ['receive-events', `repeated up to ${RETRIES_MAX} times`],
  [
    'receive-events',
    `An answer of ${BUSY.join(' or ')} with \`Retry-After\` (seconds or a date) makes the wait longer, up to ${LONGEST_WAIT_MS / MINUTE_MS} minutes`,
  ],
  ['receive-events', `later than ${WINDOW_MS === HOUR_MS ? 'an hour' : '?'} after the first attempt`],
  ['receive-events', `the last ${ATTEMPTS_KEPT} attempts of a webhook`],
  ['receive-events', `first attempts of ${GIVE_UP_AFTER} events in a row fail`],
  ['receive-events', `An earlier mail comes after ${WARN_AFTER} failures`],
  [
    'receive-events',
    `after ${EARLIER_WAITS_MS[0] / 1000} second, ${EARLIER_WAITS_MS[1] / 1000} seconds and ${EARLIER_WAITS_MS[2] / MINUTE_MS} minutes`,
  ],
  ['credits-and-pages', `${SELF_HOSTED.rate_per_minute} requests in ${RATE_WINDOW_S} seconds`],
  ['credits-and-pages', `each address may make ${GUEST_RATE_PER_MINUTE} in ${RATE_WINDOW_S} seconds`],
  ['credits-and-pages', `again within ${REPLAY_WINDOW_MS / HOUR_MS} hours`],
  ['credits-and-pages', `continue a walk within ${CURSOR_MS === HOUR_MS ? 'an hour' : '?'}`],
  ['verify-a-date', `up to ${VERIFICATION_DAYS_MAX} days`],
  ['quickstart', `in the last ${LOOKBACK_MIN} minutes`],
  ['verify-a-date', `without a key for ${SIGNED_URL_SECONDS / 60} minutes`],
  ['verify-a-date', `deleted after ${REPORT_KEPT_DAYS} days`],
  ['exports', `valid for ${SIGNED_URL_SECONDS / 60} minutes`],
  ['exports', `Reports are kept for ${REPORT_KEPT_DAYS} days, exports for ${EXPORT_KEPT_DAYS}`],
];
for (const [name, sentence] of FACTS)
  test(`${name} says '${sentence}', as the service does`, (t) => t.true(flowing(name).includes(sentence)));

/** Code of a guide that begins with a comment which names its file. */
function sample(language: string, file: string, name = 'receive-events'): string {
  const code = codeBlocks(guide(name), language).find((block) => block.split('\n')[0]?.includes(file));
  if (code === undefined) throw new Error(`no ${language} block of ${name} names ${file}`);
  return code;
}

function folderWith(t: ExecutionContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'hail-guide-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Skipped, with its reason in the title, where a program is not there to be run. */
function testWhere(program: string, title: string, body: (t: ExecutionContext) => void): void {
  const isThere = spawnSync(program, ['--version']).error === undefined;
  (isThere ? test : test.skip)(`${title} (needs ${program})`, body);
}

test('the TypeScript of the guide accepts every published vector by either signature, and no forged one', async (t) => {
  const folder = folderWith(t, { 'verify-webhook.ts': sample('ts', 'verify-webhook.ts') });
  const { verify, verifyStandard } = await import(pathToFileURL(join(folder, 'verify-webhook.ts')).href);
  for (const { what, body, signature, secret, now_s: at_s, ours } of QUESTIONS)
    t.is(verify(body, signature, secret, at_s), ours, what);
  for (const { what, body, id, timestamp, signature, secret, now_s: at_s, ours } of STANDARD_QUESTIONS)
    t.is(verifyStandard(body, [id, timestamp, signature], secret, at_s), ours, what);
});

testWhere(
  'python3',
  'the Python of the guide accepts every published vector by either signature, and no forged one',
  (t) => {
    const folder = folderWith(t, {
      'verify_webhook.py': sample('python', 'verify_webhook.py'),
      'questions.json': JSON.stringify([QUESTIONS, STANDARD_QUESTIONS]),
    });
    const ask = [
      'import json; from verify_webhook import verify, verify_standard',
      "own, standard = json.load(open('questions.json', encoding='utf-8'))",
      "print(json.dumps([[verify(q['body'].encode(), q['signature'], q['secret'], q['now_s']) for q in own],",
      "  [verify_standard(q['body'].encode(), q['id'], q['timestamp'], q['signature'], q['secret'], q['now_s']) for q in standard]]))",
    ].join('\n');
    const { stdout, stderr } = spawnSync('python3', ['-B', '-c', ask], { cwd: folder, encoding: 'utf8' });
    t.is(stderr, '');
    t.deepEqual(
      JSON.parse(stdout),
      [QUESTIONS, STANDARD_QUESTIONS].map((questions) => questions.map(({ ours }) => ours)),
    );
  },
);

testWhere(
  'openssl',
  'the shell of the guide accepts every published vector by either signature, and no forged one of that time',
  (t) => {
    const folder = folderWith(t, {
      'own.sh': sample('sh', 'verify-webhook.sh'),
      'standard.sh': sample('sh', 'verify-standard.sh'),
    });
    const run = (body: string, ...args: string[]) => {
      writeFileSync(join(folder, 'body'), body);
      return spawnSync('sh', args, { cwd: folder }).status === 0;
    };
    for (const { what, body, signature, secret, ours } of QUESTIONS.filter((each) => each.now_s === now_s))
      t.is(run(body, 'own.sh', 'body', signature, secret), ours, what);
    for (const { what, body, id, timestamp, signature, secret, ours } of STANDARD_QUESTIONS.filter(
      (each) => each.now_s === now_s,
    ))
      t.is(run(body, 'standard.sh', 'body', id, timestamp, signature, secret), ours, what);
  },
);
