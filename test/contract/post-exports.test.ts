import { creditsOf, openAccount } from '../support/service/account.ts';
import {
  accept,
  CONTENT,
  EXPORT_BODY,
  EXPORTS,
  ended,
  post,
  REPORT_BODY,
  REPORTS,
  smallMakers,
  startJobService,
  targetOf,
  told,
} from '../support/service/jobs.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(startJobService, closeWithoutFailures);
const REQUEST = { ...EXPORT_BODY, state: null };

test('an export is accepted with 202 and where to ask, pending until it is made, and costs 40', async (t) => {
  const account = await openAccount(t.context);
  const { status, body, headers } = await post(t.context, EXPORTS, EXPORT_BODY, {}, account.key);
  t.is(status, 202);
  t.is(headers.get('Cache-Control'), 'no-store');
  const { job_id, poll_url, message, ...rest } = body;
  t.regex(String(job_id), /^exp_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.is(poll_url, `http://127.0.0.1:8080/v1/exports/${job_id}`);
  t.regex(String(message), /poll_url/);
  t.deepEqual(rest, { status: 'pending' });
  t.is(await creditsOf(t.context, account.business_id), 40);
  t.deepEqual((await told(t.context.call(`${EXPORTS}/${job_id}`, account))).body, {
    job_id,
    status: 'pending',
    poll_url,
    message: null,
    params: REQUEST,
    row_count: null,
    truncated: null,
    generated_at: null,
    download_url: null,
    download_url_expires_in_seconds: null,
    error: null,
  });
});

test('an export that is done tells its rows, and a fresh address of its file with every poll', async (t) => {
  t.context.work(smallMakers());
  const job_id = await accept(t.context, EXPORTS, EXPORT_BODY);
  const done = await ended(t.context, EXPORTS, job_id);
  const { download_url, poll_url: _, ...rest } = done;
  t.deepEqual(rest, {
    job_id,
    status: 'done',
    message: null,
    params: REQUEST,
    row_count: 40,
    truncated: false,
    generated_at: '2026-05-02T00:55:00Z',
    download_url_expires_in_seconds: 900,
    error: null,
  });
  t.context.clock.ms += 60_000;
  const again = await ended(t.context, EXPORTS, job_id);
  t.is(again.generated_at, done.generated_at);
  t.not(again.download_url, download_url);
  for (const url of [download_url, again.download_url])
    t.is(await (await t.context.call(targetOf(url), { key: null })).text(), CONTENT);
});

test('a box may be the text that queries take, is the array of it in answers, and goes without a state', async (t) => {
  for (const bbox of ['-98,34,-96,36', '-9.8e1,34,-96.0,3.6E+1']) {
    const id = await accept(t.context, EXPORTS, { ...EXPORT_BODY, bbox });
    t.deepEqual((await told(t.context.call(`${EXPORTS}/${id}`))).body.params, REQUEST);
  }
  const ofState = await accept(t.context, EXPORTS, { ...EXPORT_BODY, bbox: null, state: 'OK' });
  t.like((await told(t.context.call(`${EXPORTS}/${ofState}`))).body.params, { bbox: null, state: 'OK' });
});

for (const [what, change, pointer] of [
  ['without a dataset', { dataset: undefined }, '/dataset:'],
  ['of an unknown dataset', { dataset: 'tracks' }, '/dataset:'],
  ['in an unknown format', { format: 'xlsx' }, '/format:'],
  ['without a first date', { date_start: undefined }, '/date_start:'],
  ['from a date that is none', { date_start: '2026-02-30' }, '/date_start:'],
  ['of reversed dates', { date_end: '2026-04-30' }, '/date_end:'],
  ['of 32 days', { date_start: '2026-03-31' }, '/date_end:'],
  ['from tomorrow on', { date_start: '2026-05-03', date_end: '2026-05-03' }, '/date_start:'],
  ['of a box and a state', { state: 'OK' }, '/bbox:'],
  ['of a box that is the wrong way round', { bbox: [-96, 34, -98, 36] }, '/bbox:'],
  ['of a box with three numbers', { bbox: [-98, 34, -96] }, '/bbox:'],
  ['of a box beyond the globe', { bbox: '-198,34,-96,36' }, '/bbox:'],
  ['of a box with a number that overflows', { bbox: '-98,34,-96,36e999' }, '/bbox:'],
  ['of an unknown state', { bbox: null, state: 'ok' }, '/state:'],
] as const)
  test(`an export ${what} is refused with 400 bad_request, and nothing is made or charged`, async (t) => {
    const account = await openAccount(t.context);
    const { status, body } = await post(t.context, EXPORTS, { ...EXPORT_BODY, ...change }, {}, account.key);
    t.like({ status, ...body }, { status: 400, error: 'bad_request' });
    t.true(String(body.message).startsWith(pointer), String(body.message));
    t.is(await creditsOf(t.context, account.business_id), 0);
  });

test('a box is clipped to CONUS, and the running month ends today; the poll tells both as they were used', async (t) => {
  const asked = { ...EXPORT_BODY, date_end: '2026-05-31', bbox: [-130, 20, -66, 50] };
  const id = await accept(t.context, EXPORTS, asked);
  const { body } = await told(t.context.call(`${EXPORTS}/${id}`));
  t.like(body.params, { date_start: '2026-05-01', date_end: '2026-05-02', bbox: [-125, 24, -66, 50] });
});

test('dates of long ago are accepted, and the file is empty', async (t) => {
  const id = await accept(t.context, EXPORTS, { ...EXPORT_BODY, date_start: '1998-05-15', date_end: '1998-05-16' });
  t.like(await told(t.context.call(`${EXPORTS}/${id}`)), { status: 200, body: { error: null } });
});

test('31 days up to today are accepted, of AK too', async (t) => {
  const range = { date_start: '2026-04-02', date_end: '2026-05-02', state: 'AK' };
  const id = await accept(t.context, EXPORTS, { ...EXPORT_BODY, ...range, bbox: undefined });
  const { status, body } = await told(t.context.call(`${EXPORTS}/${id}`));
  t.is(status, 200);
  t.like(body.params, { ...range, bbox: null });
});

test('a plan without exports is 403 feature_not_available before anything is looked at, and its exports can be asked after', async (t) => {
  const account = await openAccount(t.context, { plan: { features: [] } });
  const { status, body } = await post(t.context, EXPORTS, { dataset: 'none' }, {}, account.key);
  t.like({ status, ...body }, { status: 403, error: 'feature_not_available' });
  t.is((await told(t.context.call(`${EXPORTS}/exp_01KAJ3W9QZ6R8V2T4X5Y7A9B0C`, account))).status, 404);
});

test('an Idempotency-Key makes one export, and its replay is the 202 of the first answer even when it is done', async (t) => {
  const account = await openAccount(t.context);
  const headers = { 'Idempotency-Key': 'one' };
  const first = await post(t.context, EXPORTS, EXPORT_BODY, headers, account.key);
  t.context.work(smallMakers());
  t.like(await ended(t.context, EXPORTS, String(first.body.job_id), account.key), { status: 'done' });
  const again = await post(t.context, EXPORTS, EXPORT_BODY, headers, account.key);
  t.deepEqual([again.status, again.body], [202, first.body]);
  t.is(again.headers.get('Idempotent-Replay'), 'true');
  t.is(await creditsOf(t.context, account.business_id), 40);
});

test('the 21st pending job of a business is refused with 429 that names the quota; other businesses have their own', async (t) => {
  const [one, other] = [await openAccount(t.context), await openAccount(t.context)];
  for (let k = 0; k < 20; k++)
    await accept(t.context, k % 2 === 0 ? EXPORTS : REPORTS, k % 2 === 0 ? EXPORT_BODY : REPORT_BODY, one.key);
  const { status, body } = await post(t.context, EXPORTS, EXPORT_BODY, {}, one.key);
  t.like({ status, ...body }, { status: 429, error: 'resource_exhausted' });
  t.regex(String(body.message), /quota of 20 pending/);
  t.is(await creditsOf(t.context, one.business_id), 10 * 40 + 10 * 100);
  await accept(t.context, EXPORTS, EXPORT_BODY, other.key);
});
