import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import anyTest, { type ExecutionContext } from 'ava';
import { parse } from 'csv-parse/sync';
import { servedParams, writeExport } from '../../api/jobs/export.ts';
import { jobFilePath } from '../../api/jobs/files.ts';
import { openCatalog } from '../../api/published/catalog.ts';
import type { Dataset, ExportParams } from '../../schemas/resources/export-job.ts';
import { Verification } from '../../schemas/resources/verification.ts';
import { publishFeeds, reportList } from '../support/data/feeds.ts';
import {
  ingest,
  midnight,
  NOW_MS,
  ownCopy,
  preparedRoot,
  publishedRoot,
  scansBetween,
  scratch,
} from '../support/data/world.ts';
import { creditsOf, openAccount } from '../support/service/account.ts';
import {
  accept,
  CONTENT,
  EXPORT_BODY,
  EXPORTS,
  ended,
  type JobService,
  post,
  REPORT_BODY,
  REPORTS,
  smallJobHandlers,
  startJobService,
  targetOf,
  told,
} from '../support/service/jobs.ts';
import { creditsUsed, sending } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';
import { until } from '../support/until.ts';
import { parsed } from './answers.ts';

const PATH = '/v1/verify';
const [FIRST, LAST] = ['2026-05-01', '2026-05-02'];
let service: RunningService;
/** The largest hail of the first date. */
let place: { readonly lat: number; readonly lon: number; readonly mm: number };

anyTest.before(async () => {
  const data_root = ownCopy(await preparedRoot(await midnight()));
  service = await startService({ data_root, now_ms: NOW_MS });
  const { engine, catalog } = service.services;
  const [largest] = await engine.rows<typeof place>(
    `SELECT lat, lon, max_mm AS mm FROM read_parquet($1::VARCHAR[]) WHERE NOT interpolated AND storm_date = $2::DATE
     ORDER BY max_mm DESC, lat, lon LIMIT 1`,
    [catalog.edition().dayMaxPaths(FIRST, FIRST), FIRST],
  );
  if (largest === undefined) throw new Error('the evening has no hail');
  place = largest;
  const { lat, lon } = place;
  const reports = [
    { time: '2355', inches: 1.75, lat: lat + 0.02, lon },
    { time: '0005', inches: 1, lat: lat + 0.01, lon },
  ];
  await publishFeeds(data_root, [reportList(FIRST, reports, NOW_MS)], NOW_MS);
  await catalog.refresh();
});
anyTest.after.always((t) => closeWithoutFailures(t, service));

const about = (more: object = {}) => ({ lat: place.lat, lon: place.lon, date_start: FIRST, date_end: LAST, ...more });
const send = (body: unknown, key?: string, at = service) =>
  at.call(PATH, sending('POST', body, key === undefined ? {} : { 'Idempotency-Key': key }));
const ask = (body: unknown) => parsed(send(body), Verification);

anyTest.serial('POST /v1/verify answers hit where radar and a report agree, and tells both', async (t) => {
  const answer = await ask(about());
  t.like(answer, {
    location: { lat: place.lat, lon: place.lon },
    date_range: { start: FIRST, end: LAST },
    radius_mi: 5,
    event_count: 2,
    data_source: 'simulated',
  });
  t.deepEqual(answer.methodology.bands_mi, [1, 3, 5]);
  t.is(answer.methodology.version, '1.1.0');
  const description = answer.methodology.description;
  t.regex(description, /UTC calendar day; .* An evening .* next UTC date\..* The data are simulated/);
  const [event] = answer.events;
  t.like(event, { event_date: FIRST, verdict: 'hit', band: '0-1mi', max_size_mm: place.mm, note: null });
  t.true(event?.ground_truth.corroborated);
  t.deepEqual(event?.ground_truth.nearest_reports, [{ source: 'spc', max_size_mm: 44.5, distance_m: 2219 }]);
  t.is(answer.detection_quality.nearest_radar?.id, 'KTLX');
  t.truthy(answer.data_as_of);
  const { radar_gaps } = answer;
  t.like(radar_gaps, { dates_without_data: [], dates_with_unknown_scans: [] });
  t.deepEqual(
    radar_gaps.coverage,
    radar_gaps.dates_seen_in_part.map(({ date, share }) => ({ date, share })),
  );
  const [first, last] = radar_gaps.dates_seen_in_part;
  t.like(first, { date: FIRST, share: 0.008, until: null, gaps: [{ from: `${FIRST}T00:00:00Z` }] });
  t.like(last, { date: LAST, share: 1, gaps: [] });
  t.regex(last?.until ?? '', /^2026-05-02T00:1\d/);
  // The list of the convective day was collected at 00:55; of local storm reports nothing was.
  t.deepEqual(answer.report_gaps, {
    dates_without_reports: [],
    dates_collected_in_part: [
      { date: FIRST, gaps: [{ from: `${FIRST}T00:00:00Z`, to: `${FIRST}T12:00:00Z` }] },
      { date: LAST, gaps: [{ from: `${LAST}T00:50:00Z`, to: '2026-05-03T00:00:00Z' }] },
    ],
    sources: [
      { source: 'spc', dates_not_collected: [] },
      { source: 'lsr', dates_not_collected: [FIRST, LAST] },
    ],
  });
});

anyTest.serial('POST /v1/verify puts a report at 0005 of the list of a day on the next date', async (t) => {
  const { events } = await ask(about({ date_start: LAST }));
  const reported_mm = events.map(({ event_date, ground_truth }) => [
    event_date,
    ground_truth.nearest_reports.map((one) => one.max_size_mm),
  ]);
  t.deepEqual(reported_mm, [[LAST, [25.4]]]);
});

/** Canonical JSON of plain values, members sorted by UTF-16 code units: a few lines that are not the service's. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}

anyTest.serial('verification_hash is that of range, events, location and version of the methodology', async (t) => {
  const { location, date_range, events, methodology, verification_hash } = await ask(about());
  const content = sorted({ methodology: { version: methodology.version }, location, date_range, events });
  t.is(verification_hash, `sha256:${createHash('sha256').update(JSON.stringify(content)).digest('hex')}`);
  const other = await ask(about({ date_start: LAST }));
  t.not(other.verification_hash, verification_hash);
});

anyTest.serial('equal questions have equal bytes, also at another time and from another process', async (t) => {
  const first = await (await send(about())).text();
  t.is(await (await send(about())).text(), first);
  const later = await serviceFor(t, { data_root: service.data_root, now_ms: NOW_MS + 40 * 86_400_000 });
  t.is(await (await send(about(), undefined, later)).text(), first);
});

anyTest.serial(
  'a repetition of POST /v1/verify has the bytes and the source of the first answer, and costs nothing',
  async (t) => {
    const before = await creditsUsed(service);
    const first = await send(about(), 'claim 7');
    const again = await send(about(), 'claim 7');
    t.is(await again.text(), await first.text());
    const answers = [first, again].map(({ status, headers }) => [
      status,
      headers.get('Idempotent-Replay'),
      headers.get('X-Data-Source'),
    ]);
    t.deepEqual(answers, [
      [200, null, 'simulated'],
      [200, 'true', 'simulated'],
    ]);
    t.is((await creditsUsed(service)) - before, 50);
  },
);

anyTest.serial(
  'POST /v1/verify before the first published data, or where none can be, finds nothing and is answered',
  async (t) => {
    for (const range of [
      { date_start: '2020-01-01', date_end: '2020-01-02' },
      { date_start: '1998-05-15', date_end: '1998-05-16' },
      { date_start: '0001-01-01', date_end: '0001-01-02' },
    ]) {
      const early = await send(about(range));
      t.is(early.headers.get('X-Data-Source'), null);
      t.like(await early.json(), {
        events: [],
        event_count: 0,
        data_source: null,
        radar_gaps: { dates_without_data: [range.date_start, range.date_end] },
      });
    }
    const away = await ask(about({ lat: -35, lon: 170 }));
    t.like(away, { events: [], event_count: 0, detection_quality: { hdqi: 0 } });
  },
);

anyTest.serial('data_as_of of a verification that finds nothing tells how new what it looked through is', async (t) => {
  const { data_as_of } = await ask(about());
  for (const quiet of [
    { lat: 45, lon: -80 },
    { date_start: '2020-01-01', date_end: '2020-01-05' },
  ])
    t.like(await ask(about(quiet)), { events: [], data_as_of });
});

for (const [change, message] of [
  [{ lat: null }, /^\/lat: expected number, received null$/],
  [{ lat: 91 }, /^\/lat: /],
  [{ lat: '35.2' }, /^\/lat: /],
  [{ lat: -97.4, lon: 35.2 }, /^\/lat: .*lat and lon look swapped/],
  [{ lon: undefined, lng: -97 }, /^\/lng: is not a field of this request \(use lon\)$/],
  [{ date_start: null }, /^\/date_start: expected string, received null$/],
  [{ date_start: '2026-02-29' }, /^\/date_start: is no date of the calendar/],
  [{ date_end: '2026-05-02T00:00:00Z' }, /^\/date_end: is no date of the calendar/],
  [{ date_start: '2019-12-31', date_end: '2020-01-01' }, undefined],
  [{ date_start: LAST, date_end: FIRST }, /^\/date_end: is before date_start/],
  [{ date_start: '2026-02-01', date_end: FIRST }, undefined],
  [{ date_start: '2026-01-31', date_end: FIRST }, /^\/date_end: is too far from date_start, expected at most 90 days/],
  [{ date_start: '2026-05-03', date_end: '2026-05-03' }, /^\/date_start: is 2026-05-03, expected at most today/],
  [{ date_start: '9999-12-31', date_end: '9999-12-31' }, /^\/date_start: is 9999-12-31, expected at most today/],
  [{ date_end: '2026-05-03' }, undefined],
  [{ date_end: '2026-05-04' }, /^\/date_end: is 2026-05-04, expected at most tomorrow, 2026-05-03 UTC/],
] as const)
  anyTest.serial(
    `POST /v1/verify with ${JSON.stringify(change)} ${message === undefined ? 'is answered' : 'is 400 bad_request and free'}`,
    async (t) => {
      const before = await creditsUsed(service);
      const response = await send(about(change));
      const body = (await response.json()) as { error?: string; message?: string };
      t.is(response.status, message === undefined ? 200 : 400);
      t.is((await creditsUsed(service)) - before, message === undefined ? 50 : 0);
      if (message === undefined) return;
      t.is(body.error, 'bad_request');
      t.regex(body.message ?? '', message);
    },
  );

const test = testWith(startJobService, closeWithoutFailures);

test('a report is accepted with 202 and where to ask, and costs 100', async (t) => {
  const account = await openAccount(t.context);
  const { status, body } = await post(t.context, REPORTS, REPORT_BODY, {}, account.key);
  t.is(status, 202);
  const { report_id, message: _, ...rest } = body;
  t.regex(String(report_id), /^rpt_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.deepEqual(rest, { status: 'pending', poll_url: `http://127.0.0.1:8080/v1/verify/report/${report_id}` });
  t.is(await creditsOf(t.context, account.business_id), 100);
  t.deepEqual((await told(t.context.call(`${REPORTS}/${report_id}`, account))).body, {
    ...rest,
    report_id,
    message: null,
    params: REPORT_BODY,
    result_summary: null,
    verification_hash: null,
    generated_at: null,
    data_as_of: null,
    pdf_url: null,
    pdf_url_expires_in_seconds: null,
    error: null,
  });
});

test('a report that is done tells its verdicts, its hash and how new its data are', async (t) => {
  t.context.work(smallJobHandlers());
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  const { pdf_url, ...done } = await ended(t.context, REPORTS, id);
  t.true(String(pdf_url).startsWith(`http://127.0.0.1:8080/v1/files/${id}?exp=`));
  t.like(done, {
    status: 'done',
    result_summary: { event_count: 1, verdicts: [{ event_date: '2026-05-01', verdict: 'hit' }] },
    verification_hash: `sha256:${'ab'.repeat(32)}`,
    generated_at: '2026-05-02T00:55:00Z',
    data_as_of: '2026-05-02T00:54:59Z',
    pdf_url_expires_in_seconds: 900,
    error: null,
  });
});

for (const [what, change, pointer] of [
  ['without lat', { lat: undefined }, '/lat:'],
  ['of reversed dates', { date_end: '2026-03-31' }, '/date_end:'],
  ['of 91 days', { date_start: '2026-01-31' }, '/date_end:'],
  ['from tomorrow on', { date_start: '2026-05-03', date_end: '2026-05-03' }, '/date_start:'],
  ['up to the day after tomorrow', { date_end: '2026-05-04' }, '/date_end: is 2026-05-04, expected at most tomorrow'],
] as const)
  test(`a report ${what} is refused with 400 bad_request and not charged`, async (t) => {
    const account = await openAccount(t.context);
    const { status, body } = await post(t.context, REPORTS, { ...REPORT_BODY, ...change }, {}, account.key);
    t.like({ status, ...body }, { status: 400, error: 'bad_request' });
    t.true(String(body.message).startsWith(pointer), String(body.message));
    t.is(await creditsOf(t.context, account.business_id), 0);
  });

test('texts to be printed on a report are trimmed and echoed in any script, and blank ones count as absent', async (t) => {
  const given = { reference: '  Claim 4711 ', address: '千代田区 1-1, القاهرة', prepared_for: ' \u200b ' };
  const { body } = await post(t.context, REPORTS, { ...REPORT_BODY, ...given });
  const polled = await told(t.context.call(`${REPORTS}/${body.report_id}`));
  t.deepEqual(polled.body.params, { ...REPORT_BODY, reference: 'Claim 4711', address: '千代田区 1-1, القاهرة' });
  const longest = await post(t.context, REPORTS, { ...REPORT_BODY, reference: '🧊'.repeat(200), address: null });
  t.is(longest.status, 202);
});

for (const name of ['reference', 'address', 'prepared_for'])
  for (const [what, text, said] of [
    ['with a NUL', 'a\u0000b', ' holds NUL or a lone surrogate'],
    ['with a line feed', 'a\nb', ': holds a control character, expected plain text'],
    ['of 201 characters', 'x'.repeat(201), ': is too long, expected at most 200 characters'],
    ['that is a number', 5, ': expected string, received number'],
  ] as const)
    test(`a report with a ${name} ${what} is refused with 400 bad_request and not charged`, async (t) => {
      const account = await openAccount(t.context);
      const { status, body } = await post(t.context, REPORTS, { ...REPORT_BODY, [name]: text }, {}, account.key);
      t.like({ status, ...body }, { status: 400, error: 'bad_request', message: `/${name}${said}` });
      t.is(await creditsOf(t.context, account.business_id), 0);
    });

test('a report that fails is polled with 200 and the error, and its charge is given back in a line of its own', async (t) => {
  const account = await openAccount(t.context);
  const leak = "select * from read_parquet('/srv/data/x.parquet')";
  t.context.work(
    smallJobHandlers(() => {
      throw new Error(leak);
    }),
  );
  const id = await accept(t.context, REPORTS, REPORT_BODY, account.key);
  const failed = await ended(t.context, REPORTS, id, account.key);
  t.like(failed, { status: 'failed', error: 'report_generation_failed', pdf_url: null, generated_at: null });
  t.is(failed.message, 'it could not be made, and what it cost was given back');
  t.is(await creditsOf(t.context, account.business_id), 0);
  const ledger = await t.context.records.reader
    .selectFrom('ledger')
    .select(['operation', 'count', 'credits', 'reason'])
    .where('business_id', '=', account.business_id)
    .orderBy('id')
    .execute();
  t.deepEqual(ledger, [
    { operation: 'verify.report.create', count: 1, credits: 100, reason: null },
    { operation: 'verify.report.create.refund', count: 1, credits: -100, reason: `${id} failed` },
  ]);
});

test('reports and exports of another business, unknown ids and ids of the other kind are all 404 alike', async (t) => {
  const [owner, stranger] = [await openAccount(t.context), await openAccount(t.context)];
  const id = await accept(t.context, REPORTS, REPORT_BODY, owner.key);
  const asked = [
    told(t.context.call(`${REPORTS}/${id}`, stranger)),
    told(t.context.call(`${REPORTS}/${id.slice(0, -4)}0000`, owner)),
    told(t.context.call(`${REPORTS}/x`, owner)),
    told(t.context.call(`${EXPORTS}/${id}`, owner)),
  ];
  for (const { status, body } of await Promise.all(asked))
    t.like({ status, ...body }, { status: 404, error: 'not_found' });
});

test('a report is 404 once it is 400 days old', async (t) => {
  t.context.work(smallJobHandlers());
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  await ended(t.context, REPORTS, id);
  t.context.clock.ms += 400 * 86_400_000 - 1;
  t.is((await told(t.context.call(`${REPORTS}/${id}`))).status, 200);
  t.context.clock.ms += 1;
  t.is((await told(t.context.call(`${REPORTS}/${id}`))).status, 404);
});

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
    note: null,
    params: REQUEST,
    row_count: null,
    truncated: null,
    generated_at: null,
    data_as_of: null,
    download_url: null,
    download_url_expires_in_seconds: null,
    error: null,
  });
});

test('an export that is done tells its rows, and a fresh address of its file with every poll', async (t) => {
  t.context.work(smallJobHandlers());
  const job_id = await accept(t.context, EXPORTS, EXPORT_BODY);
  const done = await ended(t.context, EXPORTS, job_id);
  const { download_url, poll_url: _, ...rest } = done;
  t.deepEqual(rest, {
    job_id,
    status: 'done',
    message: null,
    note: null,
    params: REQUEST,
    row_count: 40,
    truncated: false,
    generated_at: '2026-05-02T00:55:00Z',
    data_as_of: '2026-05-02T00:54:59Z',
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
  ['up to the day after tomorrow', { date_end: '2026-05-04' }, '/date_end: is 2026-05-04, expected at most tomorrow'],
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

test('a box is clipped to CONUS, and tomorrow counts as today; the poll tells both as they were used', async (t) => {
  const asked = { ...EXPORT_BODY, date_end: '2026-05-03', bbox: [-130, 20, -66, 50] };
  const id = await accept(t.context, EXPORTS, asked);
  const { body } = await told(t.context.call(`${EXPORTS}/${id}`));
  t.like(body.params, { date_start: '2026-05-01', date_end: '2026-05-02', bbox: [-125, 24, -66, 50] });
});

test('dates of long ago are accepted, and the file is empty', async (t) => {
  const id = await accept(t.context, EXPORTS, { ...EXPORT_BODY, date_start: '1998-05-15', date_end: '1998-05-16' });
  t.like(await told(t.context.call(`${EXPORTS}/${id}`)), { status: 200, body: { error: null } });
});

test('31 days up to today are accepted, of AK too, of which the answer says that nothing can be known', async (t) => {
  const range = { date_start: '2026-04-02', date_end: '2026-05-02', state: 'AK' };
  const id = await accept(t.context, EXPORTS, { ...EXPORT_BODY, ...range, bbox: undefined });
  const { status, body } = await told(t.context.call(`${EXPORTS}/${id}`));
  t.is(status, 200);
  t.like(body.params, { ...range, bbox: null });
  t.regex(String(body.note), /^No part of the region lies in 24 to 50 N/);
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
  t.context.work(smallJobHandlers());
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

const SHA256 = createHash('sha256').update(CONTENT).digest('hex');

/** A report that is done, of the first business or another. */
async function doneReport(service: JobService, key?: string) {
  service.work(smallJobHandlers());
  const id = await accept(service, REPORTS, REPORT_BODY, key);
  const target = targetOf((await ended(service, REPORTS, id, key)).pdf_url);
  const [, exp = '', sig = ''] = /\?exp=(\d+)&sig=(.+)$/.exec(target) ?? [];
  return { id, target, exp: Number(exp), sig };
}

/** Asks without a key. */
function askFiles({ call }: JobService, target: string, init: RequestInit = {}) {
  return call(target, { ...init, key: null });
}

async function statusOf(service: JobService, target: string, init: RequestInit = {}): Promise<number> {
  const response = await askFiles(service, target, init);
  await response.arrayBuffer();
  return response.status;
}

test('the file comes whole without a key, as an attachment that nobody keeps, runs or guesses the type of', async (t) => {
  const { id, target } = await doneReport(t.context);
  const response = await askFiles(t.context, target);
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
  const response = await askFiles(t.context, target, { method: 'HEAD' });
  t.is(response.status, 200);
  t.is(await response.text(), '');
  t.is(response.headers.get('Content-Length'), String(CONTENT.length));
});

test('a range gets its part, one behind the end 416, one of another content the whole file', async (t) => {
  const { target } = await doneReport(t.context);
  const part = await askFiles(t.context, target, { headers: { Range: 'bytes=4-7' } });
  t.deepEqual([part.status, await part.text()], [206, CONTENT.slice(4, 8)]);
  t.is(part.headers.get('Content-Range'), `bytes 4-7/${CONTENT.length}`);
  t.is(await statusOf(t.context, target, { headers: { Range: 'bytes=4-7', 'If-Range': `"${SHA256}"` } }), 206);
  t.is(await statusOf(t.context, target, { headers: { Range: 'bytes=4-7', 'If-Range': '"other"' } }), 200);
  const behind = await askFiles(t.context, target, { headers: { Range: `bytes=${CONTENT.length}-` } });
  t.deepEqual([behind.status, behind.headers.get('ETag')], [416, `"${SHA256}"`]);
  t.is(await statusOf(t.context, target, { headers: { 'If-Match': '"other"' } }), 412);
  t.is(await statusOf(t.context, target, { headers: { 'If-None-Match': `"${SHA256}"` } }), 304);
});

test('a text of over 1 KB is compressed for those who take gzip, with a tag of its own; a range of it, and a PDF, never is', async (t) => {
  const service = t.context;
  const report = await doneReport(service);
  const { download_url } = await ended(service, EXPORTS, await accept(service, EXPORTS, EXPORT_BODY));
  const target = targetOf(download_url);
  const gzip = { 'Accept-Encoding': 'gzip' };
  const zipped = await askFiles(service, target, { headers: gzip });
  t.is(zipped.status, 200);
  t.is(await zipped.text(), CONTENT);
  const zippedTag = zipped.headers.get('ETag') ?? '';
  const headers = ['Content-Encoding', 'Vary', 'ETag', 'Content-Length'].map((name) => zipped.headers.get(name));
  t.deepEqual(headers, ['gzip', 'Accept-Encoding', `"${SHA256}-gzip"`, null]);
  t.is(await statusOf(service, target, { headers: { ...gzip, 'If-None-Match': zippedTag } }), 304);
  t.is(await statusOf(service, target, { headers: { ...gzip, 'If-Match': `"${SHA256}"` } }), 412);
  const head = await askFiles(service, target, { method: 'HEAD', headers: gzip });
  t.deepEqual([head.headers.get('Content-Encoding'), await head.text()], ['gzip', '']);
  const part = await askFiles(service, target, { headers: { ...gzip, Range: 'bytes=4-7' } });
  const partAnswer = [part.status, part.headers.get('Content-Encoding'), part.headers.get('ETag'), await part.text()];
  t.deepEqual(partAnswer, [206, null, `"${SHA256}"`, CONTENT.slice(4, 8)]);
  const plain = await askFiles(service, target, { headers: { 'Accept-Encoding': 'identity' } });
  const plainAnswer = [plain.headers.get('Content-Encoding'), plain.headers.get('Content-Length'), await plain.text()];
  t.deepEqual(plainAnswer, [null, String(CONTENT.length), CONTENT]);
  const pdf = await askFiles(service, report.target, { headers: gzip });
  t.deepEqual([pdf.headers.get('Content-Encoding'), await pdf.text()], [null, CONTENT]);
});

test('a client that leaves in the middle of a compressed file leaves no file open', async (t) => {
  const service = t.context;
  const large = 'some bytes of a large file\n'.repeat(400_000);
  service.work({
    ...smallJobHandlers(),
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
    const { body } = await askFiles(service, targetOf(download_url), { signal: leaving.signal });
    await body?.getReader().read();
    leaving.abort();
  }
  await until(() => openFiles() === 0);
  t.is(await (await askFiles(service, targetOf(download_url))).text(), large);
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
    const response = await askFiles(t.context, path + query);
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
  'a file that is gone or cut short is 500, is told the operator, and makes its poll a failure',
  async (t) => {
    const { id, target } = await doneReport(t.context);
    const path = jobFilePath(t.context.services.files_root, { id, kind: 'report', file_name: 'x.pdf', sha256: SHA256 });
    t.is(statSync(path).mode & 0o777, 0o600);
    truncateSync(path, 10);
    t.is(await statusOf(t.context, target), 500);
    rmSync(path);
    t.is(await statusOf(t.context, target, { method: 'HEAD' }), 500);
    const response = await askFiles(t.context, target);
    t.is(response.status, 500);
    t.false((await response.text()).includes('reports/'));
    t.is(t.context.failures.length, 3);
    const polled = await ended(t.context, REPORTS, id);
    t.like(polled, { status: 'failed', error: 'report_generation_failed', pdf_url: null });
  },
);
const RUNNING = '2026-05-02';
const TOMORROW = '2026-05-03';

/** The running month with what lies ahead, as it is carried out. */
function monthOfNow(dataset: Dataset): ExportParams {
  const asked = { dataset, date_start: '2026-05-01', date_end: '2026-05-31', bbox: null, state: null, format: 'csv' };
  return servedParams({ ...asked, format: 'csv' }, NOW_MS);
}

async function opened(t: ExecutionContext, root: string) {
  const catalog = await openCatalog(root, 0);
  t.teardown(catalog.close);
  return catalog;
}

type Rows = readonly Record<string, string>[];

async function rowsIn(path: string): Promise<Rows> {
  return parse(await fs.readFile(path, 'utf8'), { columns: true });
}

const { signal } = new AbortController();
const newest = (rows: Rows) =>
  rows
    .map(({ scan_time = '' }) => scan_time)
    .toSorted()
    .at(-1);

anyTest('an export of the running month goes up to the newest scan, and says so', async (t) => {
  const scans = await scansBetween('23:50', '00:10');
  const catalog = await opened(t, await publishedRoot(t, scans));
  const path = await scratch(t, 'rows.csv');
  const params = monthOfNow('detections');
  t.is(params.date_end, RUNNING);
  const { data_as_of_ms, summary } = await writeExport(catalog.edition(), params, path, signal);
  const rows = await rowsIn(path);
  t.is(rows.length, summary.row_count);
  t.is(data_as_of_ms, scans.at(-1)?.time_ms ?? null);
  t.deepEqual([...new Set(rows.map(({ storm_date }) => storm_date))], ['2026-05-01', RUNNING]);
  t.is(data_as_of_ms, Date.parse(newest(rows) ?? ''));
});

anyTest('an export up to tomorrow is one up to today', (t) => {
  const asked = { ...monthOfNow('swaths'), date_start: RUNNING, date_end: TOMORROW };
  t.like(servedParams(asked, NOW_MS), { date_start: RUNNING, date_end: RUNNING });
});

for (const dataset of ['detections', 'swaths'] as const)
  anyTest(
    `an export of ${dataset} of the running date is of one state, whatever is committed and closed while it waits`,
    async (t) => {
      const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
      const catalog = await opened(t, root);
      const [before, during, after] = await Promise.all(['a.csv', 'b.csv', 'c.csv'].map((name) => scratch(t, name)));
      const params = monthOfNow(dataset);
      const first = await writeExport(catalog.edition(), params, before ?? '', signal);
      const held = catalog.edition();
      const later = await scansBetween('00:10', '00:20');
      await ingest(root, later);
      await catalog.refresh();
      t.not(catalog.edition(), held);
      const second = await writeExport(held, params, during ?? '', signal);
      t.is(second.data_as_of_ms, first.data_as_of_ms);
      t.is(await fs.readFile(during ?? '', 'utf8'), await fs.readFile(before ?? '', 'utf8'));
      const third = await writeExport(catalog.edition(), params, after ?? '', signal);
      t.is(third.data_as_of_ms, later.at(-1)?.time_ms ?? null);
      t.not(await fs.readFile(after ?? '', 'utf8'), await fs.readFile(before ?? '', 'utf8'));
    },
  );

anyTest('commits while an export runs change nothing of it', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const catalog = await opened(t, root);
  const path = await scratch(t, 'rows.csv');
  const running = writeExport(catalog.edition(), monthOfNow('detections'), path, signal);
  await ingest(root, await scansBetween('00:10', '00:14'));
  await ingest(root, await scansBetween('00:14', '00:20'));
  const { data_as_of_ms, summary } = await running;
  const rows = await rowsIn(path);
  t.is(rows.length, summary.row_count);
  t.is(data_as_of_ms, Date.parse(newest(rows) ?? ''));
});
