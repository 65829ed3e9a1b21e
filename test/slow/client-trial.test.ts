import test from 'ava';
import { PROJECT, readDocument } from '../support/data/markdown.ts';
import { ingest, midnight, publishedRoot } from '../support/data/world.ts';
import { startReceiver } from '../support/service/receiver.ts';
import { startServe } from '../support/service/serve-child.ts';
import { openTrialClient, waitFor } from '../support/service/trial-client.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';

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
