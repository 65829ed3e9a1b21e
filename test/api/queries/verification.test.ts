import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openCatalog } from '../../../api/catalog.ts';
import { openEngine } from '../../../api/duckdb.ts';
import { datesWithoutData } from '../../../api/queries/dates-without-data.ts';
import {
  type ReadVerification,
  readVerification,
  type VerificationQuestion,
} from '../../../api/queries/verification.ts';
import { openTerrain } from '../../../api/terrain.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { VERDICTS, type VerificationEvent } from '../../../schemas/resources/verification.ts';
import { timestamp } from '../../../schemas/time.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { publishFeeds } from '../../support/data/feeds.ts';
import { copyFolder } from '../../support/data/prepared.ts';
import { publishDays, standingHail } from '../../support/data/published-days.ts';
import { type ListedReport, reportList } from '../../support/data/report-list.ts';
import {
  MONTH_LATER_MS,
  midnight,
  NOW_MS,
  onRoot,
  preparedMonth,
  publish,
  SCRATCH,
  scratch,
} from '../../support/data/world.ts';

const [FIRST, LAST] = ['2026-05-01', '2026-05-02'];
const RANGE = { date_start: '2026-04-01', date_end: LAST };
/** The evening while it runs, and the same once it is over and joined into its month. */
const RUNNING = mkdtempSync(join(SCRATCH, 'hail-verification-'));
const CLOSED = mkdtempSync(join(SCRATCH, 'hail-verification-'));
const MILE_KM = 1.609344;

/** Reports over the tiny world at all times of its list, the larger ones in the evening. */
const REPORTS: readonly ListedReport[] = Array.from({ length: 120 }, (_, k) => ({
  time: k % 5 === 0 ? '1400' : k % 2 === 0 ? '2352' : '0003',
  inches: [0.5, 1, 1.25, 1.75][k % 4] as number,
  lat: 34.6 + ((k * 0.7548776662) % 1) * 1.3,
  lon: -97.9 + ((k * 0.569840291) % 1) * 1.8,
}));

test.before(async () => {
  const scans = await midnight();
  await publish(RUNNING, scans);
  copyFolder(await preparedMonth(scans), CLOSED);
  for (const root of [RUNNING, CLOSED]) await publishFeeds(root, [reportList(FIRST, REPORTS, NOW_MS)], NOW_MS);
});
test.after.always(() => {
  for (const root of [RUNNING, CLOSED]) rmSync(root, { recursive: true, force: true });
});

/** What was seen of one pixel in one scan, or of an echo in a day. */
interface Seen extends Position {
  readonly date: string;
  readonly mm: number;
  /** Null for the largest of a day that is no detection. */
  readonly time: number | null;
}

/** Verifies on a root; `seen` and `reports` are its raw rows. */
async function onPublished<Result>(
  root: string,
  work: (
    ask: (question: VerificationQuestion) => Promise<ReadVerification>,
    rows: { readonly seen: readonly Seen[]; readonly reports: readonly (Seen & { readonly time: number })[] },
  ) => Promise<Result>,
): Promise<Result> {
  const catalog = await openCatalog(root, 0);
  const engine = await openEngine(root);
  try {
    const terrain = await openTerrain(engine, catalog);
    const edition = catalog.edition();
    const seen = await engine.rows<Seen>(
      `SELECT storm_date::VARCHAR AS date, lat, lon, estimated_size_mm AS mm, scan_time AS time
       FROM read_parquet($1::VARCHAR[])`,
      [edition.paths('detections', edition.dates)],
    );
    const echoes = await engine.rows<Seen>(
      `SELECT storm_date::VARCHAR AS date, lat, lon, max_mm AS mm, NULL AS time
       FROM read_parquet($1::VARCHAR[]) WHERE NOT interpolated AND max_mm < 10`,
      [edition.paths('day-max', edition.dates)],
    );
    const reports = await engine.rows<Seen & { time: number }>(
      'SELECT storm_date::VARCHAR AS date, lat, lon, size_mm AS mm, time FROM read_parquet($1::VARCHAR[])',
      [edition.collection('reports')?.paths() ?? []],
    );
    return await work((question) => readVerification({ engine, terrain, storm_day_start_hour: 0 }, edition, question), {
      seen: [...seen, ...echoes],
      reports,
    });
  } finally {
    await engine.close();
    await catalog.close();
  }
}

/** Distance from a place to the rectangle of a pixel, km. */
function toPixel(place: Position, pixel: Position): number {
  const nearest = (at: number, centre: number) => Math.max(centre - 0.005, Math.min(centre + 0.005, at));
  return distanceKm(place, { lat: nearest(place.lat, pixel.lat), lon: nearest(place.lon, pixel.lon) });
}

/** The slow and obvious answer: row by row, every pair of a report and a detection. */
function slowly(point: Position, date: string, seen: readonly Seen[], reports: readonly (Seen & { time: number })[]) {
  const near = seen
    .filter((row) => row.date === date && Math.abs(row.lat - point.lat) < 0.1 && Math.abs(row.lon - point.lon) < 0.12)
    .map((row) => ({ ...row, km: toPixel(point, row) }))
    .filter(({ km }) => km <= 5 * MILE_KM);
  const told = reports
    .filter((row) => row.date === date)
    .map((row) => ({ ...row, km: distanceKm(point, row) }))
    .filter(({ km }) => km <= 5 * MILE_KM)
    .sort((a, b) => a.km - b.km);
  if (near.length + told.length === 0) return null;
  const detected = near.flatMap((row) => (row.time === null ? [] : [{ ...row, time: row.time }]));
  const corroborated = told.some(
    (report) =>
      report.mm >= 13 &&
      detected.some((row) => Math.abs(row.time - report.time) <= 3_600_000 && toPixel(report, row) <= 8),
  );
  const bands = [
    [0, 1],
    [1, 3],
    [3, 5],
  ].map(([inner, outer], k) => {
    const within = ({ km }: { km: number }) =>
      km <= (outer as number) * MILE_KM && (k === 0 || km > (inner as number) * MILE_KM);
    return { name: `${inner}-${outer}mi`, rows: near.filter(within), told: told.filter(within) };
  });
  const band =
    bands.find(({ rows }) => rows.some(({ mm }) => mm >= 19)) ??
    bands.find((one) => one.rows.length + one.told.length > 0);
  const inside = bands[0]?.rows.filter(({ time }) => time !== null) ?? [];
  const could_be_strong = inside.length >= 3 && inside.some(({ mm }) => mm >= 38);
  const times = detected.map(({ time }) => time);
  const iso = (time: number) => new Date(time).toISOString().replace('.000', '');
  return {
    could_be_strong,
    event_date: date,
    band: band?.name,
    corroborated,
    max_size_mm: near.length === 0 ? null : Math.max(...near.map(({ mm }) => mm)),
    n_detections: detected.length,
    first_detected: times.length === 0 ? null : iso(Math.min(...times)),
    last_detected: times.length === 0 ? null : iso(Math.max(...times)),
    distances_m: told.slice(0, 5).map(({ km }) => Math.round(1000 * km)),
    weak: detected.length + told.length === 0 ? ('miss' as const) : ('marginal' as const),
  };
}

function compared({ ground_truth, ...event }: VerificationEvent) {
  const { event_date, band, max_size_mm, n_detections, first_detected, last_detected } = event;
  return {
    ...{ event_date, band, max_size_mm, n_detections, first_detected, last_detected },
    corroborated: ground_truth.corroborated,
    distances_m: ground_truth.nearest_reports.map(({ distance_m }) => distance_m),
  };
}

const POINTS = Array.from({ length: 50 }, (_, k) => ({
  lat: Math.round((34.5 + ((k * 0.569840291) % 1) * 1.5) * 1e5) / 1e5,
  lon: Math.round((-98 + ((k * 0.7548776662) % 1) * 2) * 1e5) / 1e5,
}));

for (const [state, root] of [
  ['running dates', RUNNING],
  ['a month of closed dates', CLOSED],
] as const)
  test(`${state} are verified as all rows, one by one, would be`, async (t) => {
    await onPublished(root, async (ask, { seen, reports }) => {
      const verdicts = new Map<string, number>();
      for (const point of POINTS) {
        const { verification, events } = await ask({ ...point, ...RANGE });
        const slow = [FIRST, LAST].map((date) => slowly(point, date, seen, reports)).filter((one) => one !== null);
        t.deepEqual(
          verification.events.map(compared) as unknown[],
          slow.map(({ could_be_strong: _, weak: __, ...facts }) => facts),
        );
        for (const [k, { verdict, ml_confidence }] of verification.events.entries()) {
          const { corroborated, could_be_strong, weak } = slow[k] as (typeof slow)[number];
          t.is(verdict, corroborated || (could_be_strong && ml_confidence >= 0.7) ? 'hit' : weak);
          verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
        }
        t.deepEqual(
          events.map(({ event_date }) => event_date),
          verification.events.map(({ event_date }) => event_date),
        );
      }
      for (const verdict of VERDICTS) t.true((verdicts.get(verdict) ?? 0) >= 2, `${verdict} ${[...verdicts]}`);
    });
  });

test('an answer keeps its bytes when the dates are closed and joined a month later: no row came in with that', async (t) => {
  const answers = (root: string) =>
    onPublished(root, async (ask) => {
      const found: string[] = [];
      for (const point of POINTS.slice(0, 5)) {
        // A date that still runs counts up to its newest scan, a closed one to its end.
        const { radar_gaps: _, ...rest } = (await ask({ ...point, ...RANGE })).verification;
        found.push(JSON.stringify(rest));
      }
      return found;
    });
  const running = await answers(RUNNING);
  t.true(running.some((answer) => answer.includes('"data_as_of":"2026-05-02T00:55:00Z"')));
  t.deepEqual(await answers(CLOSED), running);
});

test('beside the answer come the pixels around the radius, every report in it with its distance, and dates without data', async (t) => {
  await onPublished(RUNNING, async (ask, { seen, reports }) => {
    const largest = seen.reduce((best, row) => (row.mm > best.mm ? row : best));
    const point = { lat: Math.round(largest.lat * 1e5) / 1e5, lon: Math.round(largest.lon * 1e5) / 1e5 };
    const { events, verification } = await ask({ ...point, ...RANGE });
    const { dates_without_data } = verification.radar_gaps;
    t.deepEqual(
      [dates_without_data.length, dates_without_data[0], dates_without_data.at(-1)],
      [30, RANGE.date_start, '2026-04-30'],
    );
    const event = events.find(({ event_date }) => event_date === largest.date);
    const inside = new Map<string, number>();
    for (const { date, lat, lon, mm } of seen)
      if (date === largest.date && toPixel(point, { lat, lon }) <= 10)
        inside.set(`${lat} ${lon}`, Math.max(mm, inside.get(`${lat} ${lon}`) ?? 0));
    const drawn = new Map(event?.pixels.map(({ lat, lon, max_mm }) => [`${lat} ${lon}`, max_mm]));
    for (const [place, mm] of inside) t.is(drawn.get(place) ?? 0, mm, place);
    t.is(drawn.size, event?.pixels.length ?? 0, 'each pixel once');
    const told = reports.filter((row) => row.date === largest.date && distanceKm(point, row) <= 5 * MILE_KM);
    t.is(event?.reports.length, told.length);
  });
});

test('dates that were never published, were cleared, or were seen in part are told', async (t) => {
  const root = await scratch(t);
  await publish(root, await midnight());
  const told = async () => {
    const catalog = await openCatalog(root, 0);
    const engine = await openEngine(root);
    try {
      const edition = catalog.edition();
      const terrain = await openTerrain(engine, catalog);
      const { verification } = await readVerification({ engine, terrain, storm_day_start_hour: 0 }, edition, {
        lat: 35,
        lon: -97,
        ...RANGE,
      });
      const [without] = /no radar data are published: \d+/.exec(verification.methodology.description) ?? [];
      const missing = datesWithoutData(edition, FIRST, LAST);
      t.deepEqual(verification.radar_gaps.dates_without_data.slice(30), missing);
      return [without, missing, verification.radar_gaps.dates_seen_in_part];
    } finally {
      await engine.close();
      await catalog.close();
    }
  };
  const times = (await midnight()).map(({ time_ms }) => time_ms);
  const [first_ms, last_ms] = [times[0] as number, times.at(-1) as number];
  const midnight_ms = Date.parse(`${LAST}T00:00:00Z`);
  const share = Math.round((1000 * (midnight_ms - first_ms)) / 86_400_000) / 1000;
  const first = {
    date: FIRST,
    share,
    until: null,
    gap_count: 1,
    gaps: [{ from: `${FIRST}T00:00:00Z`, to: timestamp(first_ms) }],
  };
  const last = { date: LAST, share: 1, until: timestamp(last_ms), gap_count: 0, gaps: [] };
  t.deepEqual(await told(), ['no radar data are published: 30', [], [first, last]]);
  await onRoot(root, {}, async ({ root: published }) => published.clear(FIRST, NOW_MS));
  // No scan of the day before stands for the first minute any more.
  const begun = times.find((time_ms) => time_ms >= midnight_ms) as number;
  const left = Math.round((1000 * (last_ms - begun)) / (last_ms - midnight_ms)) / 1000;
  const gaps = left < 0.9 ? [{ from: `${LAST}T00:00:00Z`, to: timestamp(begun) }] : [];
  const now = { ...last, share: left, gap_count: gaps.length, gaps };
  t.deepEqual(await told(), ['no radar data are published: 31', [FIRST], [now]]);
});

test('the last date of the calendar has no data, like any other that lies ahead', (t) => {
  const range = ['9999-12-30', '9999-12-31'] as const;
  t.deepEqual(datesWithoutData({ provenanceOf: () => null }, ...range), [...range]);
});

test('a report on the other side of 180 degrees is no further away for that', async (t) => {
  const root = await scratch(t);
  const hail = {
    storm_date: FIRST,
    rows: standingHail(FIRST, drawTenths([[200]], { row0: 1979, col0: 3256 }), [NOW_MS]),
  };
  await publishDays(root, [hail], 'observed', MONTH_LATER_MS);
  const reports = [179.9995, -179.9995, 179].map((lon) => ({ time: '1400', inches: 1, lat: 52, lon, office: 'AFC' }));
  await publishFeeds(root, [reportList(FIRST, reports, NOW_MS)], NOW_MS);
  for (const lon of [180, -180, 179.9995]) {
    const { events } = (await onPublished(root, (ask) => ask({ lat: 52, lon, ...RANGE }))).verification;
    t.deepEqual([events.length, events[0]?.ground_truth.nearest_reports.length], [1, 2], `${lon}`);
  }
});

test('storm dates of months without a ground report, and a place where no data can be, are told', async (t) => {
  await onPublished(CLOSED, async (ask) => {
    const { verification, dates_without_reports } = await ask({ lat: 35, lon: -97, ...RANGE });
    t.deepEqual([dates_without_reports[0], dates_without_reports.at(-1)], ['2026-04-01', '2026-04-30']);
    t.regex(verification.methodology.description, /no ground reports were collected: 30\. That none is told/);
    t.notRegex(verification.methodology.description, /outside the published area/);
    const honolulu = await ask({ lat: 21.3, lon: -157.86, ...RANGE });
    t.regex(
      honolulu.verification.methodology.description,
      /lies outside the published area, .* no data can exist there/,
    );
  });
});

const NOON = '2026-05-01T12:00:00Z';
for (const [minutes, corroborated] of [
  [[-180, 30, 180], true],
  [[-180, 61, 180], false],
] as const)
  test(`hail ${minutes.join(', ')} minutes around a report, with the middle scan in no day maximum, ${corroborated ? 'is' : 'is not'} corroborated`, async (t) => {
    const root = await scratch(t);
    const times = minutes.map((by) => Date.parse(NOON) + by * 60_000);
    const [row0, col0] = [1979, 3256];
    const rows = standingHail(FIRST, drawTenths([[200]], { row0, col0 }), times);
    await publishDays(root, [{ storm_date: FIRST, rows }], 'observed', MONTH_LATER_MS);
    const place = { lat: rowLat(row0), lon: colLon(col0) };
    const list = reportList(FIRST, [{ time: '1200', inches: 1, ...place, office: 'OUN' }], MONTH_LATER_MS);
    await publishFeeds(root, [list], MONTH_LATER_MS);
    const { verification } = await onPublished(root, (ask) => ask({ ...place, ...RANGE }));
    t.like(verification, { data_source: 'observed', data_as_of: '2026-06-02T12:00:00Z' });
    t.is(verification.events[0]?.ground_truth.corroborated, corroborated);
    t.is(verification.events[0]?.verdict, corroborated ? 'hit' : 'marginal');
  });
