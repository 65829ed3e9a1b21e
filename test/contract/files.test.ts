import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { jobFilePath } from '../../api/jobs/files.ts';
import { creditsOf, openAccount } from '../support/service/account.ts';
import {
  accept,
  CONTENT,
  EXPORT_BODY,
  EXPORTS,
  ended,
  type JobService,
  REPORT_BODY,
  REPORTS,
  smallMakers,
  startJobService,
  targetOf,
} from '../support/service/jobs.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(startJobService, closeWithoutFailures);
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

/** A report that is done, of the first business or another. */
async function doneReport(service: JobService, key?: string) {
  service.work(smallMakers());
  const id = await accept(service, REPORTS, REPORT_BODY, key);
  const target = targetOf((await ended(service, REPORTS, id, key)).pdf_url);
  const [, exp = '', sig = ''] = /\?exp=(\d+)&sig=(.+)$/.exec(target) ?? [];
  return { id, target, exp: Number(exp), sig };
}

/** Asks without a key. */
function ask({ call }: JobService, target: string, init: RequestInit = {}) {
  return call(target, { ...init, key: null });
}

async function statusOf(service: JobService, target: string, init: RequestInit = {}): Promise<number> {
  const response = await ask(service, target, init);
  await response.arrayBuffer();
  return response.status;
}

test('the file comes whole without a key, as an attachment that nobody keeps, runs or guesses the type of', async (t) => {
  const { id, target } = await doneReport(t.context);
  const response = await ask(t.context, target);
  t.is(response.status, 200);
  t.is(await response.text(), CONTENT);
  for (const [name, value] of Object.entries({
    'Content-Type': 'application/pdf',
    'Content-Length': String(CONTENT.length),
    'Content-Disposition': `attachment; filename="hail-report-${id}.pdf"`,
    'Cache-Control': 'private, no-store',
    ETag: `"${SHA256}"`,
    'Accept-Ranges': 'bytes',
    'X-Data-Source': 'simulated',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  }))
    t.is(response.headers.get(name), value, name);
});

test('HEAD is opened by the same address, and answers as GET does without the body', async (t) => {
  const { target } = await doneReport(t.context);
  const response = await ask(t.context, target, { method: 'HEAD' });
  t.is(response.status, 200);
  t.is(await response.text(), '');
  t.is(response.headers.get('Content-Length'), String(CONTENT.length));
});

test('a range gets its part, one behind the end 416, one of another content the whole file', async (t) => {
  const { target } = await doneReport(t.context);
  const part = await ask(t.context, target, { headers: { Range: 'bytes=4-7' } });
  t.deepEqual([part.status, await part.text()], [206, CONTENT.slice(4, 8)]);
  t.is(part.headers.get('Content-Range'), `bytes 4-7/${CONTENT.length}`);
  t.is(await statusOf(t.context, target, { headers: { Range: 'bytes=4-7', 'If-Range': `"${SHA256}"` } }), 206);
  t.is(await statusOf(t.context, target, { headers: { Range: 'bytes=4-7', 'If-Range': '"other"' } }), 200);
  t.is(await statusOf(t.context, target, { headers: { Range: `bytes=${CONTENT.length}-` } }), 416);
  t.is(await statusOf(t.context, target, { headers: { 'If-Match': '"other"' } }), 412);
  t.is(await statusOf(t.context, target, { headers: { 'If-None-Match': `"${SHA256}"` } }), 304);
});

test('a text of over 1 KB is compressed for those who take gzip, with a tag of its own; a range of it, and a PDF, never is', async (t) => {
  const service = t.context;
  const report = await doneReport(service);
  const { download_url } = await ended(service, EXPORTS, await accept(service, EXPORTS, EXPORT_BODY));
  const target = targetOf(download_url);
  const gzip = { 'Accept-Encoding': 'gzip' };
  const zipped = await ask(service, target, { headers: gzip });
  t.is(zipped.status, 200);
  t.is(await zipped.text(), CONTENT);
  const zippedTag = zipped.headers.get('ETag') ?? '';
  t.deepEqual(
    ['Content-Encoding', 'Vary', 'ETag', 'Content-Length'].map((name) => zipped.headers.get(name)),
    ['gzip', 'Accept-Encoding', `"${SHA256}-gzip"`, null],
  );
  t.is(await statusOf(service, target, { headers: { ...gzip, 'If-None-Match': zippedTag } }), 304);
  t.is(await statusOf(service, target, { headers: { ...gzip, 'If-Match': `"${SHA256}"` } }), 412);
  const head = await ask(service, target, { method: 'HEAD', headers: gzip });
  t.deepEqual([head.headers.get('Content-Encoding'), await head.text()], ['gzip', '']);
  const part = await ask(service, target, { headers: { ...gzip, Range: 'bytes=4-7' } });
  t.deepEqual(
    [part.status, part.headers.get('Content-Encoding'), part.headers.get('ETag'), await part.text()],
    [206, null, `"${SHA256}"`, CONTENT.slice(4, 8)],
  );
  const plain = await ask(service, target, { headers: { 'Accept-Encoding': 'identity' } });
  t.deepEqual(
    [plain.headers.get('Content-Encoding'), plain.headers.get('Content-Length'), await plain.text()],
    [null, String(CONTENT.length), CONTENT],
  );
  const pdf = await ask(service, report.target, { headers: gzip });
  t.deepEqual([pdf.headers.get('Content-Encoding'), await pdf.text()], [null, CONTENT]);
});

test('a client that leaves in the middle of a compressed file leaves no file open', async (t) => {
  const service = t.context;
  const large = 'some bytes of a large file\n'.repeat(400_000);
  service.work({
    ...smallMakers(),
    export: async (job) => {
      writeFileSync(job.path, large);
      const made = { data_as_of_ms: 0, data_source: 'simulated', summary: { row_count: 1, truncated: false } } as const;
      return { ...made, media_type: 'application/geo+json', file_name: 'a.geojson' };
    },
  });
  const { download_url } = await ended(service, EXPORTS, await accept(service, EXPORTS, EXPORT_BODY));
  const openFiles = () => readdirSync('/proc/self/fd').flatMap((fd) => linkOf(`/proc/self/fd/${fd}`)).length;
  for (let k = 0; k < 20; k++) {
    const leaving = new AbortController();
    const { body } = await ask(service, targetOf(download_url), { signal: leaving.signal });
    await body?.getReader().read();
    leaving.abort();
  }
  for (let turn = 0; turn < 2_000 && openFiles() > 0; turn++) await sleep(5);
  t.is(openFiles(), 0);
  t.is(await (await ask(service, targetOf(download_url))).text(), large);
});

/** The file of a job that a descriptor of this process is open on; [] for other descriptors. */
function linkOf(path: string): string[] {
  try {
    return [readlinkSync(path)].filter((target) => target.includes('/exports/exp_'));
  } catch {
    return []; // closed since it was listed
  }
}

test('any bit of the signature that is flipped closes the address', async (t) => {
  const { target, sig } = await doneReport(t.context);
  const base = target.slice(0, -sig.length);
  let tried = 0;
  for (let at = 0; at < sig.length; at++)
    for (let bit = 0; bit < 7; bit++) {
      const flipped = String.fromCharCode(sig.charCodeAt(at) ^ (1 << bit));
      const changed = base + sig.slice(0, at) + encodeURIComponent(flipped) + sig.slice(at + 1);
      t.is(await statusOf(t.context, changed, { method: 'HEAD' }), 403, `${at}.${bit}`);
      tried += 1;
    }
  t.is(tried, 43 * 7);
  t.is(await statusOf(t.context, target), 200);
});

test('an address is good for 900 seconds to the last of them, and no other expiry fits its signature', async (t) => {
  const { target, exp } = await doneReport(t.context);
  t.is(exp, t.context.clock.ms / 1000 + 900);
  for (const other of [exp - 1, exp + 1, exp + 900, 0])
    t.is(await statusOf(t.context, target.replace(`exp=${exp}`, `exp=${other}`)), 403, String(other));
  t.context.clock.ms = exp * 1000 - 1;
  t.is(await statusOf(t.context, target), 200);
  t.context.clock.ms = exp * 1000;
  t.is(await statusOf(t.context, target), 403);
});

test('the query is taken as it was given out and in no other way', async (t) => {
  const { id, exp, sig } = await doneReport(t.context);
  const path = `/v1/files/${id}`;
  for (const query of [
    '',
    `?exp=${exp}`,
    `?sig=${sig}`,
    `?exp=${exp}&sig[]=${sig}`,
    `?exp=${exp}&sig=`,
    `?exp=${exp}&sig=${sig}&sig=${sig}`,
    `?exp=${exp}&sig=${sig}&exp=${exp}`,
    `?exp=${exp}&sig=${sig}A`,
    `?exp=${exp}&sig=${sig}=`,
    `?exp=${exp}&sig=${sig.slice(0, -1)}`,
    `?exp=${exp}&sig=${sig.toUpperCase()}`,
    `?exp=0${exp}&sig=${sig}`,
    `?exp=${exp}.0&sig=${sig}`,
    `?exp=${exp}&SIG=${sig}`,
    `?exp=%3${String(exp)[0]}${String(exp).slice(1)}&sig=${sig}`,
    `?exp=${exp}&sig=${sig}&method=GET`,
    `?exp=${exp}&sig=%00`,
  ]) {
    const response = await ask(t.context, path + query);
    t.is(response.status, 403, query);
    t.is(((await response.json()) as { error: string }).error, 'forbidden');
  }
});

test('the signature of one file opens no other: of the same business, of another, or of none', async (t) => {
  const stranger = await openAccount(t.context);
  const own = await doneReport(t.context);
  const foreign = await doneReport(t.context, stranger.key);
  const id = await accept(t.context, EXPORTS, EXPORT_BODY);
  await ended(t.context, EXPORTS, id);
  for (const other of [foreign.id, id, `${own.id.slice(0, -4)}0000`, 'x'])
    t.is(await statusOf(t.context, own.target.replace(own.id, other)), 403, other);
  // A key opens nothing that the address does not.
  t.is((await t.context.call(`/v1/files/${own.id}`)).status, 403);
  await t.context.records.transaction((rows) =>
    rows.updateTable('jobs').set({ business_id: stranger.business_id }).where('id', '=', own.id).execute(),
  );
  t.is(await statusOf(t.context, own.target), 403);
});

test('a job that is pending, failed or expired, or of a suspended business, has no file', async (t) => {
  const { id, target } = await doneReport(t.context);
  const { records } = t.context;
  for (const status of ['pending', 'failed'] as const) {
    await records.transaction((rows) => rows.updateTable('jobs').set({ status }).where('id', '=', id).execute());
    t.is(await statusOf(t.context, target), 403, status);
  }
  await records.transaction((rows) => rows.updateTable('jobs').set({ status: 'done' }).execute());
  t.is(await statusOf(t.context, target), 200);
  await records.transaction((rows) => rows.updateTable('businesses').set({ status: 'suspended' }).execute());
  t.is(await statusOf(t.context, target), 403);
});

test('other methods are 405, and paths beside are nothing', async (t) => {
  const { target, id } = await doneReport(t.context);
  for (const method of ['POST', 'PUT', 'DELETE']) t.is(await statusOf(t.context, target, { method }), 405, method);
  t.is(await statusOf(t.context, target.replace(id, `${id}/file`)), 404);
  t.is(await statusOf(t.context, target.replace(id, `..%2f${id}`)), 404);
});

const testOfFailures = testWith(startJobService, (_, service) => service.close());

testOfFailures(
  'a file that was sent and then damaged at the same length is sent no more, not even a part or its tag, and is given back once',
  async (t) => {
    const account = await openAccount(t.context);
    const { id, target } = await doneReport(t.context, account.key);
    const { services } = t.context;
    const path = jobFilePath(services.files_root, { id, kind: 'report', file_name: 'x.pdf', sha256: SHA256 });
    t.is(await (await ask(t.context, target)).text(), CONTENT);
    const { atime, mtime, ctimeNs } = statSync(path, { bigint: true });
    // Clocks of file systems are coarse: written until it can be told that it was.
    do {
      writeFileSync(path, `${CONTENT.slice(0, -1)}\r`);
      utimesSync(path, atime, mtime);
    } while (statSync(path, { bigint: true }).ctimeNs === ctimeNs);
    for (const init of [
      {},
      { method: 'HEAD' },
      { headers: { Range: 'bytes=0-3' } },
      { headers: { 'If-None-Match': `"${SHA256}"` } },
    ])
      t.is(await statusOf(t.context, target, init), 500, JSON.stringify(init));
    t.is(t.context.failures.length, 4);
    const polls = Array.from({ length: 4 }, () => ended(t.context, REPORTS, id, account.key));
    for (const polled of await Promise.all(polls))
      t.like(polled, { status: 'failed', error: 'report_generation_failed', pdf_url: null });
    t.is(await creditsOf(t.context, account.business_id), 0);
    t.is(await statusOf(t.context, target), 403);
  },
);

testOfFailures(
  'a file that is gone or cut short is 500, is told the operator, and makes its poll a failure',
  async (t) => {
    const { id, target } = await doneReport(t.context);
    const path = jobFilePath(t.context.services.files_root, { id, kind: 'report', file_name: 'x.pdf', sha256: SHA256 });
    t.is(statSync(path).mode & 0o777, 0o600);
    truncateSync(path, 10);
    t.is(await statusOf(t.context, target), 500);
    rmSync(path);
    t.is(await statusOf(t.context, target, { method: 'HEAD' }), 500);
    const response = await ask(t.context, target);
    t.is(response.status, 500);
    t.false((await response.text()).includes('reports/'));
    t.is(t.context.failures.length, 3);
    const polled = await ended(t.context, REPORTS, id);
    t.like(polled, { status: 'failed', error: 'report_generation_failed', pdf_url: null });
  },
);
