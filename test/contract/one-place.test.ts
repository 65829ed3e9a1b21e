import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import type { z } from 'zod';
import { recentAlerts } from '../../api/alerts/subscriptions.ts';
import { createWatch, watchPartsOf } from '../../api/alerts/watch.ts';
import type { Alert } from '../../api/webhooks/formats.ts';
import type { SourceFile } from '../../pipeline/sources/names.ts';
import { destination } from '../../schemas/geo/distance.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { HailBatchReply, HailCurrent } from '../../schemas/resources/hail-cell.ts';
import { Nowcast } from '../../schemas/resources/nowcast.ts';
import { Storms } from '../../schemas/resources/storm.ts';
import { type Blob, drawnScan } from '../support/data/drawn-scans.ts';
import { publishFeeds, watchFile } from '../support/data/feeds.ts';
import { ingest, onRoot, scratch } from '../support/data/world.ts';
import { subscribe } from '../support/service/alerts.ts';
import { type RunningService, serviceFor } from '../support/service/service.ts';
import { receivers, sending } from '../support/service/webhooks.ts';

/** The place, in the middle of a covered window of 1.5 by 3.4 degrees. */
const PLACE = { lat: 35.305, lon: -97.305 } as const;
const WINDOW = { row0: 1895, col0: 3100, rows: 150, cols: 340 };
const START_MS = Date.parse('2026-05-01T20:00:00Z');
const MINUTE_MS = 60_000;
/** From a scan to the question about it. */
const DELAY_MS = 75_000;
const THRESHOLD_MM = 25;

/** A minute of an evening: the scan of that minute, null for none, and how the answers are expected to be. */
type Row = readonly [minute: number, scan: readonly Blob[] | null, expected: string];

interface Answers {
  readonly current: HailCurrent;
  readonly batch: Batch;
  readonly nowcast: Nowcast;
  readonly storms: Storms;
  /** The newest alert of the place. */
  readonly alert: Pick<Alert, 'status' | 'last_seen_at'> | null;
}
type Batch = Exclude<HailBatchReply, { readonly estimate: true }>;

/** Hail at a distance east of the place; negative is west. */
function hail(mm: number, east_km: number, radius_px: number): Blob {
  return { ...destination(PLACE, 90, east_km), mm, radius_px };
}

/** Two pixels side by side: too small for a storm cell. */
function twoPixels(mm: number): Blob[] {
  return [hail(mm, 0, 0), hail(mm, 0.92, 0)];
}

const WHY: readonly (readonly [sentence: RegExp, word: string])[] = [
  [/only the newest scan has seen/, 'one scan'],
  [/too small for a storm cell/, 'too small'],
  [/position is beyond the radius/, 'beyond'],
  [/not in the newest scan/, 'earlier'],
  [/below 19 mm/, 'below 19'],
];

/** Answers as a line of the table: current, nowcast, storms, why the latter two differ, and the alert. */
function lineOf({ current, nowcast, storms, alert }: Answers): string {
  const basis = nowcast.nearest_storm === null ? 'hail' : 'storm';
  const why = WHY.filter(([sentence]) => sentence.test(nowcast.note ?? '')).map(([, word]) => word);
  return [
    current.active ? `${current.summary.max_size_mm} mm` : '-',
    nowcast.active ? basis : '-',
    storms.active ? `${storms.cells.length} storm` : '-',
    why.join('+') || '-',
    alert?.status ?? '-',
  ].join(', ');
}

/** What the answers of one moment say against each other, in words; empty when they agree. */
function contradictions({ current, batch, nowcast, storms, alert }: Answers): string[] {
  const [result] = batch.results;
  const isNow = current.cells.some(({ last_detected }) => last_detected === current.data_timestamp);
  const isSevere = current.cells.some(({ hail: { estimated_size_mm } }) => estimated_size_mm >= THRESHOLD_MM);
  const leads = nowcast.nowcast;
  const [nearest] = storms.cells;
  const newest_ms = Date.parse(current.data_timestamp ?? '');
  const checks: readonly (readonly [boolean, string])[] = [
    [result?.active === current.active, 'batch and current differ in active'],
    [(result?.cell_count ?? 0) === current.cells.length, 'batch and current differ in the number of cells'],
    [(result?.max_size_mm ?? null) === current.summary.max_size_mm, 'batch and current differ in size'],
    [(result?.closest_km ?? null) === current.summary.closest_cell_km, 'batch and current differ in distance'],
    [
      new Set([current.data_timestamp, batch.data_timestamp, nowcast.data_timestamp, storms.data_as_of]).size === 1,
      'the answers name several newest scans',
    ],
    [(leads !== null) === nowcast.active, 'nowcast is active without probabilities, or the reverse'],
    [
      leads === null ||
        (leads.t15.probability <= leads.t30.probability && leads.t30.probability <= leads.t45.probability),
      'a longer lead is less likely',
    ],
    [nowcast.active || !isNow, 'current shows hail of the newest scan, and nowcast is inactive'],
    [nowcast.active || !storms.active, 'a storm is in range, and nowcast is inactive'],
    [
      (nowcast.nearest_storm?.track_id ?? null) === (nearest?.track_id ?? null),
      'nowcast and storms name different nearest storms',
    ],
    [
      (nowcast.nearest_storm?.distance_km ?? null) === (nearest?.distance_km ?? null),
      'nowcast and storms differ in distance',
    ],
    [
      nowcast.active === current.active || nowcast.note !== null || nowcast.nearest_storm !== null,
      'nowcast and current differ without a note',
    ],
    [!nowcast.active || nowcast.nearest_storm !== null || nowcast.note !== null, 'nowcast has no storm and no note'],
    [
      (nowcast.nearest_storm?.current_probability ?? 0) > (leads?.t45.probability ?? 1) ===
        /counts hail >= 25.4 mm anywhere with the storm/.test(nowcast.note ?? ''),
      'the storm is likelier to have hail than the point, without a word on what each counts, or the reverse',
    ],
    [storms.active || !(current.active || nowcast.active) || storms.note !== null, 'storms is empty without a note'],
    [!storms.active || storms.note === null, 'storms explains why it is empty, and is not'],
    [
      current.active || storms.active || nowcast.active || (storms.note ?? nowcast.note) === null,
      'a note explains hail that no answer shows',
    ],
    [!isSevere || alert?.status === 'open', 'current shows hail from the threshold on, and no alert is open'],
    // Without a later scan an alert stays open: no data is not "clear".
    [
      alert?.status !== 'open' || newest_ms < Date.parse(alert.last_seen_at) + 30 * MINUTE_MS,
      'an alert is open although a scan half an hour after its hail saw none',
    ],
  ];
  return checks.filter(([holds]) => !holds).map(([, fault]) => fault);
}

/** Bodies by entity tag; ages, for which a tag does not stand, left out. */
type Tags = Map<string, string>;

/** The answer of a route. A tag that stood for another body is a failure: a client would keep the old one. */
async function get<Reply>(
  t: ExecutionContext,
  service: RunningService,
  path: string,
  reply: z.ZodType<Reply>,
  tags: Tags,
): Promise<Reply> {
  const response = await service.call(path);
  const body = await response.json();
  const [tag, text] = [
    response.headers.get('etag') ?? '',
    JSON.stringify(body, (key, value) => (key === 'age_seconds' ? 0 : value)),
  ];
  t.is(tags.get(tag) ?? text, text);
  tags.set(tag, text);
  return reply.parse(body);
}

async function ask(
  t: ExecutionContext,
  service: RunningService,
  radius_km: number,
  subscription: string,
  tags: Tags,
): Promise<Answers> {
  const query = `lat=${PLACE.lat}&lon=${PLACE.lon}&radius_km=${radius_km}`;
  const locations = [{ ...PLACE, radius_km }];
  const { id: business_id } = await service.records.reader
    .selectFrom('businesses')
    .select('id')
    .executeTakeFirstOrThrow();
  const [alert] = await recentAlerts(service.records.reader, business_id, subscription, 1);
  return {
    current: await get(t, service, `/v1/hail/current?${query}`, HailCurrent, tags),
    batch: HailBatchReply.parse(await service.json('/v1/hail/current/batch', sending('POST', { locations }))) as Batch,
    nowcast: await get(t, service, `/v1/hail/nowcast?${query}`, Nowcast, tags),
    storms: await get(t, service, `/v1/storms?${query}`, Storms, tags),
    alert: alert ?? null,
  };
}

/** Publishes an evening scan by scan, and asks after each: nothing may contradict, and the table must come out as written. */
async function walk(t: ExecutionContext, radius_km: number, rows: readonly Row[]): Promise<Answers[]> {
  const [root, folder] = [await scratch(t), await scratch(t, 'scans')];
  const service = await serviceFor(t, { data_root: root, now_ms: START_MS, webhookClient: receivers() });
  const subscription = await subscribe(service, { ...PLACE, radius_km, min_size_mm: THRESHOLD_MM });
  const watch = createWatch(watchPartsOf(service.services, pino({ level: 'silent' })));
  const walked: Answers[] = [];
  const tags: Tags = new Map();
  const end_ms = START_MS + (rows.at(-1)?.[0] ?? 0) * MINUTE_MS + DELAY_MS;
  await onRoot(root, { now_ms: end_ms, each_scan: true }, async ({ session }) => {
    for (const [minute, blobs] of rows) {
      const scan_ms = START_MS + minute * MINUTE_MS;
      service.clock.ms = scan_ms + DELAY_MS;
      if (blobs !== null) {
        await session.ingest([await drawnScan(folder, WINDOW, scan_ms, blobs)]);
        await service.services.catalog.refresh();
        await watch(service.services.catalog.edition());
      }
      const answers = await ask(t, service, radius_km, subscription, tags);
      t.deepEqual(contradictions(answers), [], `minute ${minute}`);
      walked.push(answers);
    }
  });
  t.deepEqual(
    walked.map((answers, n) => `${rows[n]?.[0]}: ${lineOf(answers)}`),
    rows.map(([minute, , expected]) => `${minute}: ${expected}`),
  );
  return walked;
}

/** A storm that passes over the place eastwards; it is overhead in minute 2. */
const passing = (minute: number, mm: number): Blob[] => [hail(mm, 0.9 * (minute - 2), 6)];

test('hail born overhead, tracked, lost for a scan, gone, and a gap of data: the answers never contradict each other', async (t) => {
  const answers = await walk(t, 15, [
    // minute, hail, [current, nowcast from, storms, why, alert]
    [0, [], '-, -, -, -, -'],
    [2, passing(2, 60), '60 mm, hail, -, one scan, open'],
    [4, passing(4, 60), '60 mm, storm, 1 storm, -, open'],
    [6, [], '60 mm, storm, 1 storm, -, open'],
    [8, passing(8, 60), '60 mm, storm, 1 storm, -, open'],
    [10, passing(10, 60), '60 mm, storm, 1 storm, -, open'],
    [12, passing(12, 55), '60 mm, storm, 1 storm, -, open'],
    [14, passing(14, 50), '60 mm, storm, 1 storm, -, open'],
    [16, passing(16, 45), '60 mm, storm, 1 storm, -, open'],
    [18, passing(18, 40), '60 mm, storm, 1 storm, -, open'],
    [20, passing(20, 35), '60 mm, hail, -, beyond, open'],
    [22, passing(22, 30), '60 mm, hail, -, beyond+below 19, open'],
    [24, [], '60 mm, -, -, earlier, open'],
    [26, [], '60 mm, -, -, earlier, open'],
    [34, null, '60 mm, -, -, earlier, open'],
    [44, null, '45 mm, -, -, earlier, open'],
    [52, null, '-, -, -, -, open'],
    [54, [], '-, -, -, -, resolved'],
  ]);
  const [, born, tracked] = answers.map(({ nowcast }) => nowcast.nowcast?.t15.probability ?? 0);
  t.true((born as number) > 0.1 && (tracked as number) > 0.1);
});

test('hail too small for a storm cell, then below 19 mm: the answers never contradict each other', async (t) => {
  const answers = await walk(t, 15, [
    [0, [], '-, -, -, -, -'],
    [2, twoPixels(25), '25 mm, hail, -, too small, open'],
    [4, twoPixels(25), '25 mm, hail, -, too small, open'],
    [6, twoPixels(12), '25 mm, hail, -, too small+below 19, open'],
    [8, [], '25 mm, -, -, earlier, open'],
    [32, [], '25 mm, -, -, earlier, open'],
    [34, [], '12 mm, -, -, earlier, resolved'],
    [38, [], '-, -, -, -, resolved'],
  ]);
  const likely = answers.map(({ nowcast }) => nowcast.nowcast?.t15.probability ?? 0);
  t.true((likely[2] as number) > (likely[3] as number));
});

test('a tracked storm below 19 mm, then one above: the answers never contradict each other', async (t) => {
  const answers = await walk(t, 15, [
    [0, passing(0, 18), '18 mm, hail, -, one scan+below 19, -'],
    [2, passing(2, 18), '18 mm, storm, 1 storm, below 19, -'],
    [4, passing(4, 18), '18 mm, storm, 1 storm, below 19, -'],
    [6, passing(6, 45), '45 mm, storm, 1 storm, -, open'],
  ]);
  const likely = answers.map(({ nowcast }) => nowcast.nowcast?.t15.probability ?? 1);
  t.true((likely[2] as number) < 0.01 && (likely[3] as number) > (likely[2] as number));
});

test('a storm that comes into range from outside: the answers never contradict each other', async (t) => {
  const coming = (minute: number): Blob[] => [hail(50, 1.35 * minute - 70, 8)];
  const answers = await walk(t, 50, [
    [8, coming(8), '-, -, -, -, -'],
    [10, coming(10), '-, -, -, -, -'],
    [12, coming(12), '-, hail, -, beyond, -'],
    [14, coming(14), '21.9 mm, hail, -, beyond, open'],
    [16, coming(16), '50 mm, storm, 1 storm, -, open'],
    [18, coming(18), '50 mm, storm, 1 storm, -, open'],
    [20, coming(20), '50 mm, storm, 1 storm, -, open'],
    [22, coming(22), '50 mm, storm, 1 storm, -, open'],
    [24, coming(24), '50 mm, storm, 1 storm, -, open'],
    [26, coming(26), '50 mm, storm, 1 storm, -, open'],
  ]);
  const [, , far, , , , , , , near] = answers.map(({ nowcast }) => nowcast);
  t.regex(far?.note ?? '', /GET \/v1\/hail\/current lists no cell in this radius/);
  t.true((near?.nowcast?.t45.probability ?? 0) > (far?.nowcast?.t45.probability ?? 1));
});

test('hail without a track is judged by weights of its own kind of data, without storms of the other kind', async (t) => {
  const at = (clock: string) => Date.parse(`2026-05-01T${clock}:00Z`);
  const midnight_ms = at('23:58') + 2 * MINUTE_MS;
  const folder = await scratch(t, 'scans');
  const simulated = await Promise.all(
    [at('23:54'), at('23:56'), at('23:58')].map(
      (scan_ms, n) => drawnScan(folder, WINDOW, scan_ms, [hail(50, 2 * n - 60, 6)]), // so near that it could lend its motion
    ),
  );
  const fresh = [await drawnScan(folder, WINDOW, midnight_ms, [hail(60, 0, 6)], 'observed')];
  const nowcastOf = async (files: readonly SourceFile[]) => {
    const root = await scratch(t);
    await ingest(root, files, { now_ms: midnight_ms });
    const service = await serviceFor(t, { data_root: root, now_ms: midnight_ms + DELAY_MS });
    const { lat, lon } = destination(PLACE, 90, 10);
    const response = await service.call(`/v1/hail/nowcast?lat=${lat}&lon=${lon}`);
    return { body: Nowcast.parse(await response.json()), source: response.headers.get('X-Data-Source') };
  };
  const [alone, beside] = [await nowcastOf(fresh), await nowcastOf([...simulated, ...fresh])];
  t.like(alone, { source: 'observed', body: { active: true, nearest_storm: null } });
  t.is(beside.source, 'mixed');
  t.is(beside.body.model_version, NOWCAST_MODEL.observed.version);
  t.deepEqual(beside.body, alone.body);
});

const OFF = {
  radar: 'The point lies outside the published area, 20 to 55 N and 130 to 60 W: no data can exist there.',
  outlooks: 'The point lies outside the 48 states that convective outlooks are made for: they say nothing of it.',
  warnings: 'The point lies outside of the United States: the National Weather Service warns of nothing there.',
};

test('every answer about a place says when its source can never know anything there', async (t) => {
  const data_root = await scratch(t);
  const files = [watchFile({ number: 7, from: '011900', to: '020100' }, [-81, 40, -80, 41], START_MS)];
  await publishFeeds(data_root, files, START_MS);
  const service = await serviceFor(t, { data_root, now_ms: START_MS });
  const noteAt = async (path: string) => ((await service.json(path)) as { note: string | null }).note;
  for (const [name, lat, lon, radar, outlooks, warnings] of [
    ['Norman', 35.22, -97.44, null, null, null],
    ['Honolulu', 21.31, -157.86, OFF.radar, OFF.outlooks, null],
    ['Anchorage', 61.2, -149.9, OFF.radar, OFF.outlooks, null],
    ['San Juan', 18.4, -66.1, OFF.radar, OFF.outlooks, null],
    ['Winnipeg', 49.9, -97.14, null, OFF.outlooks, OFF.warnings],
    ['Paris', 48.86, 2.35, OFF.radar, OFF.outlooks, OFF.warnings],
    ['a pole', 90, 0, OFF.radar, OFF.outlooks, OFF.warnings],
    ['the far side', 0, 180, OFF.radar, OFF.outlooks, OFF.warnings],
  ] as const) {
    const at = `lat=${lat}&lon=${lon}`;
    for (const path of ['hail/current', 'hail/nowcast', 'storms'])
      t.is(await noteAt(`/v1/${path}?${at}`), radar, `${path} at ${name}`);
    const batch = sending('POST', { locations: [{ lat, lon }] });
    t.like(await service.json('/v1/hail/current/batch', batch), { results: [{ active: false, note: radar }] });
    t.is(await noteAt(`/v1/outlooks/spc?${at}`), outlooks, `outlooks at ${name}`);
    const told = await noteAt(`/v1/warnings?${at}`);
    t.is(told?.startsWith('Nothing was ever collected of warnings') ? null : told, warnings, `warnings at ${name}`);
  }
});
