import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { verify } from '../../api/routes/verify.ts';
import { Verification } from '../../schemas/resources/verification.ts';
import { publishFeeds } from '../support/data/feeds.ts';
import { reportList } from '../support/data/report-list.ts';
import { midnight, NOW_MS, publish, SCRATCH } from '../support/data/world.ts';
import { creditsUsed, sending } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const PATH = '/v1/verify';
const [FIRST, LAST] = ['2026-05-01', '2026-05-02'];
const data_root = mkdtempSync(join(SCRATCH, 'hail-verify-'));
let service: RunningService;
/** The largest hail of the first date. */
let place: { readonly lat: number; readonly lon: number; readonly mm: number };

test.before(async () => {
  await publish(data_root, await midnight());
  const before = await startService({ endpoints: [], data_root, now_ms: NOW_MS });
  const [largest] = await before.services.engine.rows<typeof place>(
    `SELECT lat, lon, max_mm AS mm FROM read_parquet($1::VARCHAR[]) WHERE NOT interpolated AND storm_date = $2::DATE
     ORDER BY max_mm DESC, lat, lon LIMIT 1`,
    [before.services.catalog.edition().dayMaxPaths(FIRST, FIRST), FIRST],
  );
  await before.close();
  if (largest === undefined) throw new Error('the evening has no hail');
  place = largest;
  const { lat, lon } = place;
  const reports = [
    { time: '2355', inches: 1.75, lat: lat + 0.02, lon },
    { time: '0005', inches: 1, lat: lat + 0.01, lon },
  ];
  await publishFeeds(data_root, [reportList(FIRST, reports, NOW_MS)], NOW_MS);
  service = await startService({ endpoints: [verify], data_root, now_ms: NOW_MS });
});
test.after.always(async (t) => {
  t.deepEqual(service.failures, []);
  await service.close();
  rmSync(data_root, { recursive: true, force: true });
});

const about = (more: object = {}) => ({ lat: place.lat, lon: place.lon, date_start: FIRST, date_end: LAST, ...more });
const send = (body: unknown, key?: string, at = service) =>
  at.call(PATH, sending('POST', body, key === undefined ? {} : { 'Idempotency-Key': key }));
async function ask(body: unknown): Promise<Verification> {
  const response = await send(body);
  if (response.status !== 200) throw new Error(`verify answers ${response.status} ${await response.text()}`);
  return Verification.parse(await response.json());
}

test.serial('POST /v1/verify answers hit where radar and a report agree, and tells both', async (t) => {
  const answer = await ask(about());
  t.like(answer, {
    location: { lat: place.lat, lon: place.lon },
    date_range: { start: FIRST, end: LAST },
    radius_mi: 5,
    event_count: 2,
    data_source: 'simulated',
  });
  t.deepEqual(answer.methodology.bands_mi, [1, 3, 5]);
  t.is(answer.methodology.version, '1.0.0');
  t.regex(
    answer.methodology.description,
    /UTC calendar day; .* An evening .* next UTC date\..* The data are simulated/,
  );
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

test.serial('POST /v1/verify puts a report at 0005 of the list of a day on the next date', async (t) => {
  const { events } = await ask(about({ date_start: LAST }));
  t.deepEqual(
    events.map(({ event_date, ground_truth }) => [
      event_date,
      ground_truth.nearest_reports.map((one) => one.max_size_mm),
    ]),
    [[LAST, [25.4]]],
  );
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

test.serial('verification_hash is that of range, events, location and version of the methodology', async (t) => {
  const { location, date_range, events, methodology, verification_hash } = await ask(about());
  const content = sorted({ methodology: { version: methodology.version }, location, date_range, events });
  t.is(verification_hash, `sha256:${createHash('sha256').update(JSON.stringify(content)).digest('hex')}`);
  const other = await ask(about({ date_start: LAST }));
  t.not(other.verification_hash, verification_hash);
});

test.serial('equal questions have equal bytes, also at another time and from another process', async (t) => {
  const first = await (await send(about())).text();
  t.is(await (await send(about())).text(), first);
  const later = await startService({ endpoints: [verify], data_root, now_ms: NOW_MS + 40 * 86_400_000 });
  t.teardown(() => later.close());
  t.is(await (await send(about(), undefined, later)).text(), first);
});

test.serial(
  'a repetition of POST /v1/verify has the bytes and the source of the first answer, and costs nothing',
  async (t) => {
    const before = await creditsUsed(service);
    const first = await send(about(), 'claim 7');
    const again = await send(about(), 'claim 7');
    t.is(await again.text(), await first.text());
    t.deepEqual(
      [first, again].map(({ status, headers }) => [
        status,
        headers.get('Idempotent-Replay'),
        headers.get('X-Data-Source'),
      ]),
      [
        [200, null, 'simulated'],
        [200, 'true', 'simulated'],
      ],
    );
    t.is((await creditsUsed(service)) - before, 50);
  },
);

test.serial(
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

test.serial('data_as_of of a verification that finds nothing tells how new what it looked through is', async (t) => {
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
  [{ lon: undefined, lng: -97 }, /^\/lon: .*use lon/],
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
  test.serial(
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
