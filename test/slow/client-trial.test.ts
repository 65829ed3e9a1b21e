import { strict as assert } from 'node:assert';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { PROJECT, readDocument } from '../support/data/markdown.ts';
import { ingest, midnight, publishedRoot } from '../support/data/world.ts';
import { startReceiver } from '../support/service/receiver.ts';
import { startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';

// A client as an author outside would write it. Everything it knows of the service comes from /docs and from the OpenAPI document
// that /docs links to. It imports nothing of the project; a test checks that.

/** A request that the server of the author has received. */
interface ReceivedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** What the author has. */
interface Author {
  /** `http://…/docs`. */
  readonly docs_url: string;
  readonly key: string;
  /** Address of a server of the author's, and what it has received so far. */
  readonly hook_url: string;
  readonly received: readonly ReceivedRequest[];
}

interface Operation {
  readonly operationId?: string;
  readonly 'x-credits'?: number;
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required?: boolean }[];
}
interface OpenApi {
  readonly openapi: string;
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Parts of a call besides its operation. */
interface CallParts {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const POLL_MS = 500;
const PATIENCE_MS = 90_000;

/** The client, after it has read the documents. */
interface TrialClient {
  /** Calls an operation by its id; throws for an error, with its code and the advice of the page of errors. */
  readonly call: <Answer>(operationId: string, parts?: CallParts) => Promise<Answer>;
  /** Credits of the calls so far, by the prices of the OpenAPI document. */
  readonly expectedCredits: () => number;
  /** The code of the guide for receivers. */
  readonly signatures: SignatureChecks;
  readonly close: () => Promise<void>;
}

interface SignatureChecks {
  verify(body: string, signature: string, secret: string): boolean;
  verifyStandard(body: string, headers: readonly [string, string, string], secret: string): boolean;
}

/** Reads the documents and builds the client. */
async function openTrialClient({ docs_url, key }: Author): Promise<TrialClient> {
  const reference = await textOf(docs_url);
  const openapi = (await (await fetch(linkIn(reference, docs_url, /openapi\.json$/))).json()) as OpenApi;
  assert.match(openapi.openapi, /^3\.1/);
  const quickstart = await textOf(linkIn(reference, docs_url, /quickstart$/));
  const [server] = openapi.servers;
  assert.ok(server);
  assert.match(quickstart, new RegExp(`export HAIL_URL=${server.url}/v1\\b`));
  const errors_url = linkIn(reference, docs_url, /\/errors$/);
  const events_url = linkIn(reference, docs_url, /receive-events$/);
  const folder = await mkdtemp(join(tmpdir(), 'hail-trial-'));
  const signatures = await codeOf(await textOf(events_url), 'verify-webhook.ts', folder);

  const operations = new Map(
    Object.entries(openapi.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [operation.operationId, { path, method, operation }]),
    ),
  );
  let credits = 0;

  return {
    signatures,
    expectedCredits: () => credits,
    call: async <Answer>(operationId: string, { path = {}, query = {}, body, headers = {} }: CallParts = {}) => {
      const found = operations.get(operationId);
      assert.ok(found, `the document has no operation ${operationId}`);
      const { parameters = [] } = found.operation;
      for (const { name, in: place, required } of parameters)
        if (required && place !== 'header')
          assert.ok(name in (place === 'path' ? path : query), `${operationId} ${name}`);
      for (const name of Object.keys(query))
        assert.ok(
          parameters.some((parameter) => parameter.name === name),
          `${operationId} has no parameter ${name}`,
        );
      const filled = found.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
      const url = new URL(`${server.url}${filled}`);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
      const reply = await fetch(url, {
        method: found.method.toUpperCase(),
        headers: {
          Authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!reply.ok) {
        const { error, message } = (await reply.json()) as { readonly error: string; readonly message: string };
        throw new Error(`${error}: ${message}. ${await adviceOn(error, errors_url)}`);
      }
      if (reply.headers.get('Idempotent-Replay') === null) credits += found.operation['x-credits'] ?? 0;
      return (await reply.json()) as Answer;
    },
    close: () => rm(folder, { recursive: true }),
  };
}

/** What the page of errors says to do about a code. */
async function adviceOn(code: string, errors_url: string): Promise<string> {
  const [, advice] = new RegExp(`<article id="${code}">[\\s\\S]*?What to do\\.</strong> ([\\s\\S]*?)</p>`).exec(
    await textOf(errors_url),
  ) ?? [null, null];
  assert.ok(advice, `the page of errors has no ${code}`);
  return unescapeHtml(advice.replaceAll(/<[^>]+>/g, ''));
}

/** Address of the first link of a page that matches. */
function linkIn(page: string, page_url: string, pattern: RegExp): string {
  const link = [...page.matchAll(/href="([^"#]+)"/g)].map(([, href = '']) => href).find((href) => pattern.test(href));
  assert.ok(link, `${page_url} has no link ${pattern}`);
  return new URL(link, page_url).href;
}

async function textOf(url: string): Promise<string> {
  const reply = await fetch(url);
  assert.equal(reply.status, 200, url);
  return reply.text();
}

/** Copies the code block of a page that names a file, as the reader's copy button does, and loads it. */
async function codeOf(page: string, file: string, folder: string): Promise<SignatureChecks> {
  const blocks = [...page.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(([, code = '']) =>
    unescapeHtml(code),
  );
  const code = blocks.find((block) => block.split('\n')[0]?.includes(file));
  assert.ok(code, `the page has no code of ${file}`);
  await writeFile(join(folder, file), code);
  return import(pathToFileURL(join(folder, file)).href) as Promise<SignatureChecks>;
}

function unescapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };
  return text.replaceAll(/&(lt|gt|quot|amp);/g, (_, name: string) => entities[name] ?? '');
}

/** Polls until what is asked for is there. */
async function waitFor<Found>(
  what: string,
  find: () => Promise<Found | undefined> | Found | undefined,
): Promise<Found> {
  for (const end_ms = performance.now() + PATIENCE_MS; performance.now() < end_ms; await sleep(POLL_MS)) {
    const found = await find();
    if (found !== undefined) return found;
  }
  throw new Error(`${what} did not come within ${PATIENCE_MS / 1000} s`);
}

const CLIENT = 'test/support/service/trial-client.ts';
/** Scans that are published before the client comes; the others arrive while it waits for events. */
const SCANS_BEFORE = 10;
const SOMEWHERE = { lat: 35.2, lon: -97 };

interface Storm {
  readonly track_id: string;
  readonly lat: number;
  readonly lon: number;
  readonly scan_time: string;
  readonly hail: { readonly estimated_size_mm: number };
}
interface Job {
  readonly status: 'pending' | 'done' | 'failed';
}
interface Subscription {
  readonly id: string;
  readonly webhook_secret: string;
}
interface HailEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly subscription_id: string; readonly estimated_size_mm: number };
}

test('the client of the trial imports nothing of the project', (t) => {
  const imports = [...readDocument(CLIENT).matchAll(/from '([^']+)'/g)].map(([, name]) => name);
  t.true(imports.length > 3);
  t.true(
    imports.every((name) => name?.startsWith('node:')),
    PROJECT,
  );
});

test.serial(
  'from /docs and openapi.json alone a client follows a storm, verifies a date, downloads a report and an export, and receives a signed event',
  async (t) => {
    const scans = await midnight();
    const root = await publishedRoot(t, scans.slice(0, SCANS_BEFORE), { now_ms: WHOLE_NOW_MS });
    const receiver = await startReceiver(t);
    const service = await startServe(root, WHOLE_NOW_MS, 'error', {
      HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
    });
    t.teardown(() => service.end('SIGKILL'));
    const author = {
      docs_url: `${service.url}/docs`,
      key: service.keys?.live ?? '',
      hook_url: receiver.url,
      received: receiver.received,
    };
    const { call, signatures, expectedCredits, close } = await openTrialClient(author);
    t.teardown(close);

    // Follow a storm.
    const { cells } = await call<{ cells: Storm[] }>('getStorms', { query: { ...SOMEWHERE, radius_km: 150 } });
    const storm = cells.toSorted((a, b) => b.hail.estimated_size_mm - a.hail.estimated_size_mm)[0] as Storm;
    const track = await call<{ points: Storm[] }>('getStormsByTrackId', {
      path: { track_id: storm.track_id },
      query: { date: storm.scan_time.slice(0, 10) },
    });
    t.like(track.points.at(-1), { lat: storm.lat, lon: storm.lon, scan_time: storm.scan_time });
    const nowcast = await call<{ nowcast: { t15: { probability: number } } }>('getHailNowcast', {
      query: { lat: storm.lat, lon: storm.lon },
    });
    t.true(nowcast.nowcast.t15.probability > 0);

    // Verify a date of loss, and download the document.
    const question = { lat: storm.lat, lon: storm.lon, date_start: '2026-05-01', date_end: '2026-05-02' };
    const verdict = await call<{ verification_hash: string; event_count: number }>('postVerify', { body: question });
    t.true(verdict.event_count > 0);
    const order = { body: question, headers: { 'Idempotency-Key': 'claim-1' } };
    const ordered = await call<{ report_id: string }>('postVerifyReport', order);
    t.deepEqual(await call<{ report_id: string }>('postVerifyReport', order), ordered);
    type Report = Job & { readonly verification_hash: string; readonly pdf_url: string };
    const report = await waitFor('the report', async () => {
      const job = await call<Report>('getVerifyReportByReportId', { path: { reportId: ordered.report_id } });
      return job.status === 'pending' ? undefined : job;
    });
    t.like(report, { status: 'done', verification_hash: verdict.verification_hash });
    const pdf = Buffer.from(await (await fetch(report.pdf_url)).arrayBuffer());
    t.is(pdf.subarray(0, 5).toString(), '%PDF-');

    // Export raw rows.
    const asked = { dataset: 'detections', date_start: '2026-05-01', date_end: '2026-05-02', format: 'csv' };
    const { job_id } = await call<{ job_id: string }>('postExports', { body: asked });
    type Export = Job & { readonly row_count: number; readonly download_url: string };
    const done = await waitFor('the export', async () => {
      const job = await call<Export>('getExportsByJobId', { path: { jobId: job_id } });
      return job.status === 'pending' ? undefined : job;
    });
    const lines = (await (await fetch(done.download_url)).text()).trimEnd().split(/\r?\n/);
    t.is(lines.length, done.row_count + 1);
    t.true(done.row_count > 100);

    // Subscribe, and receive the hail of the next scans.
    const subscription = await call<Subscription>('postAlertsSubscribe', {
      body: { lat: storm.lat, lon: storm.lon, radius_km: 50, webhook_url: author.hook_url },
    });
    const received = waitFor('the event', () => author.received.find(({ body }) => body.includes('alert.created')));
    await ingest(root, scans, { now_ms: WHOLE_NOW_MS });
    const { headers, body } = await received;
    const header = (name: string) => String(headers[name]);
    const secret = subscription.webhook_secret;
    t.true(signatures.verify(body, header('x-service-signature'), secret));
    const standard = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(header) as [string, string, string];
    t.true(signatures.verifyStandard(body, standard, secret));
    t.false(signatures.verify(`${body} `, header('x-service-signature'), secret));
    const event = JSON.parse(body) as HailEvent;
    t.like(event, { id: header('x-service-delivery-id'), event: 'alert.created' });
    t.is(event.data.subscription_id, subscription.id);
    t.true(event.data.estimated_size_mm >= 25);

    // A mistake leads to advice, and nothing cost more than the document says: events are free.
    await t.throwsAsync(call('getHailNowcast', { query: { lat: 'north', lon: 0 } }), {
      message: /^invalid_parameter: lat is 'north'.*\. Change the request\./,
    });
    const { credits } = await call<{ credits: { used: number } }>('getUsage');
    t.is(credits.used, expectedCredits());
  },
);
