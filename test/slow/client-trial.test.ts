import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { ingest, midnight, publishedRoot } from '../support/data/world.ts';
import { type Received, startReceiver } from '../support/service/receiver.ts';
import { startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';
import { until } from '../support/until.ts';

interface Operation {
  readonly operationId?: string;
  readonly 'x-credits'?: number;
}
interface OpenApi {
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

/** A client of an author outside, who knows of the service what its OpenAPI document says. */
async function openClient(document_url: string, key: string) {
  const { servers, paths } = (await (await fetch(document_url)).json()) as OpenApi;
  const operations = new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [operation.operationId, { path, method, operation }]),
    ),
  );
  let credits = 0;
  const call = async <Answer>(operationId: string, { path = {}, query = {}, body, headers = {} }: CallParts = {}) => {
    const found = operations.get(operationId);
    if (found === undefined) throw new Error(`the document has no operation ${operationId}`);
    const filled = found.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''));
    const url = new URL(`${servers[0]?.url}${filled}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    const sent = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers };
    const reply = await fetch(url, {
      method: found.method.toUpperCase(),
      ...(body === undefined
        ? { headers: { Authorization: sent.Authorization } }
        : { headers: sent, body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(await reply.text());
    if (reply.headers.get('Idempotent-Replay') === null) credits += found.operation['x-credits'] ?? 0;
    return (await reply.json()) as Answer;
  };
  return { call, expectedCredits: () => credits };
}

/** Scans that are published before the client comes; the others arrive while it waits for events. */
const SCANS_BEFORE = 10;
const SOMEWHERE = { lat: 35.2, lon: -97 };
const SIGNED = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;

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
/** Polls a job until it has ended, twice a second: a client has 60 requests a minute. */
async function ended<Ending extends Job>(poll: () => Promise<Ending>): Promise<Ending> {
  const job = await poll();
  if (job.status !== 'pending') return job;
  await sleep(500);
  return ended(poll);
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

test.serial('from openapi.json alone a client follows, verifies, downloads and receives a signed event', async (t) => {
  const scans = await midnight();
  const root = await publishedRoot(t, scans.slice(0, SCANS_BEFORE), { now_ms: WHOLE_NOW_MS });
  const receiver = await startReceiver(t);
  const service = await startServe(root, WHOLE_NOW_MS, 'error', receiver.settings);
  t.teardown(() => service.end('SIGKILL'));
  const { call, expectedCredits } = await openClient(`${service.url}/v1/openapi.json`, service.keys?.live ?? '');

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
  const report = await ended(() =>
    call<Report>('getVerifyReportByReportId', { path: { reportId: ordered.report_id } }),
  );
  t.like(report, { status: 'done', verification_hash: verdict.verification_hash });
  const pdf = Buffer.from(await (await fetch(report.pdf_url)).arrayBuffer());
  t.is(pdf.subarray(0, 5).toString(), '%PDF-');

  // Export raw rows.
  const asked = { dataset: 'detections', date_start: '2026-05-01', date_end: '2026-05-02', format: 'csv' };
  const { job_id } = await call<{ job_id: string }>('postExports', { body: asked });
  type Export = Job & { readonly row_count: number; readonly download_url: string };
  const done = await ended(() => call<Export>('getExportsByJobId', { path: { jobId: job_id } }));
  const lines = (await (await fetch(done.download_url)).text()).trimEnd().split(/\r?\n/);
  t.is(lines.length, done.row_count + 1);
  t.true(done.row_count > 100);

  // Subscribe, and receive the hail of the next scans.
  const subscription = await call<Subscription>('postAlertsSubscribe', {
    body: { lat: storm.lat, lon: storm.lon, radius_km: 50, webhook_url: receiver.url },
  });
  await ingest(root, scans, { now_ms: WHOLE_NOW_MS });
  const received = () => receiver.received.find(({ body }) => body.includes('alert.created'));
  await until(() => received() !== undefined);
  const { headers, body } = received() as Received;
  const header = (name: string) => String(headers[name]);
  const standard = new Webhook(subscription.webhook_secret);
  t.notThrows(() => standard.verify(body, Object.fromEntries(SIGNED.map((name) => [name, header(name)]))));
  const event = JSON.parse(body) as HailEvent;
  t.like(event, { id: header('x-service-delivery-id'), event: 'alert.created' });
  t.is(event.data.subscription_id, subscription.id);
  t.true(event.data.estimated_size_mm >= 25);

  // Nothing cost more than the document says: mistakes and events are free.
  await t.throwsAsync(call('getHailNowcast', { query: { lat: 'north', lon: 0 } }), { message: /lat is 'north'/ });
  const { credits } = await call<{ credits: { used: number } }>('getUsage');
  t.is(credits.used, expectedCredits());
});
