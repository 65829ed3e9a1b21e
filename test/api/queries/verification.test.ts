import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readMaterial } from '../../../api/jobs/report.ts';
import { openCatalog } from '../../../api/published/catalog.ts';
import { openDataRoot } from '../../../api/published/data-root.ts';
import { type Engine, openEngine } from '../../../api/published/duckdb.ts';
import { openTerrain } from '../../../api/published/terrain.ts';
import { datesWithoutData } from '../../../api/queries/dates-without-data.ts';
import { findImpacts, readHailPixels } from '../../../api/queries/impacts.ts';
import { radarCoverage } from '../../../api/queries/radar-coverage.ts';
import { readScanCoverage, type UncoveredRuns } from '../../../api/queries/scan-detections.ts';
import { earlierHail, type ReadVerification, readVerification } from '../../../api/queries/verification.ts';
import { openEngine as openWriter } from '../../../pipeline/duckdb.ts';
import { clearDate } from '../../../pipeline/publish/commit-dates.ts';
import { uncoveredRows } from '../../../pipeline/publish/segment.ts';
import { stageRows } from '../../../pipeline/publish/tables.ts';
import { writeArchive } from '../../../pipeline/tiles/metadata.ts';
import { distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, latRow, lonCol, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../../schemas/geo/position.ts';
import { VERDICTS, type VerificationEvent } from '../../../schemas/resources/verification.ts';
import { frames, uncovered } from '../../../schemas/tables/radar.ts';
import { MS_PER_MIN, timestamp } from '../../../schemas/time.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { alertsFile, type ListedReport, publishFeeds, reportList } from '../../support/data/feeds.ts';
import { copyFolder } from '../../support/data/prepared.ts';
import { publishDays, standingHail } from '../../support/data/published-days.ts';
import { frameRow } from '../../support/data/rows.ts';
import {
  ingest,
  MONTH_LATER_MS,
  midnight,
  NOW_MS,
  onRoot,
  preparedMonth,
  publish,
  publishedRoot,
  SCRATCH,
  scratch,
} from '../../support/data/world.ts';

/** The archive of a scan without tiles, which says where nothing was covered; null: it says nothing of it. */
function archiveOf(uncovered: UncoveredRuns | null): Uint8Array {
  const note = { name: 'scan', description: '', provenance: 'simulated', layers: [], hail_bounds: null } as const;
  return writeArchive({ ...note, uncovered }, [-98, 35.5, -97.4, 36], []);
}

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

/** What is published on a root, until the test is over. */
async function openedOn(t: ExecutionContext, root: string) {
  const [catalog, engine] = [await openCatalog(root, 0), openEngine(root)];
  t.teardown(() => Promise.all([engine.close(), catalog.close()]));
  return { catalog, engine };
}

/** Verifies on a root; `seen` and `reports` are its raw rows. */
async function onPublished<Result>(
  root: string,
  work: (
    ask: (question: Parameters<typeof readVerification>[2]) => Promise<ReadVerification>,
    rows: { readonly seen: readonly Seen[]; readonly reports: readonly (Seen & { readonly time: number })[] },
  ) => Promise<Result>,
): Promise<Result> {
  const catalog = await openCatalog(root, 0);
  const engine = openEngine(root);
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
          t.is(verdict, corroborated || (could_be_strong && (ml_confidence ?? 0) >= 0.7) ? 'hit' : weak);
          verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
        }
        t.is(events.length, verification.events.length);
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

test('beside the answer come the pixels within the radius, every report in it with its distance, and dates without data', async (t) => {
  await onPublished(RUNNING, async (ask, { seen, reports }) => {
    const largest = seen.reduce((best, row) => (row.mm > best.mm ? row : best));
    const point = { lat: Math.round(largest.lat * 1e5) / 1e5, lon: Math.round(largest.lon * 1e5) / 1e5 };
    const { events, verification } = await ask({ ...point, ...RANGE });
    const { dates_without_data } = verification.radar_gaps;
    const missingDates = [dates_without_data.length, dates_without_data[0], dates_without_data.at(-1)];
    t.deepEqual(missingDates, [30, RANGE.date_start, '2026-04-30']);
    const event = events[verification.events.findIndex(({ event_date }) => event_date === largest.date)];
    const inside = new Map<string, number>();
    for (const { date, lat, lon, mm } of seen)
      if (date === largest.date && toPixel(point, { lat, lon }) <= 5 * MILE_KM)
        inside.set(`${lat} ${lon}`, Math.max(mm, inside.get(`${lat} ${lon}`) ?? 0));
    const drawn = new Map(event?.pixels.map(({ row, col, max_mm }) => [`${rowLat(row)} ${colLon(col)}`, max_mm]));
    for (const [place, mm] of inside) t.is(drawn.get(place) ?? 0, mm, place);
    t.is(drawn.size, event?.pixels.length ?? 0, 'each pixel once');
    const told = reports.filter((row) => row.date === largest.date && distanceKm(point, row) <= 5 * MILE_KM);
    t.is(event?.reports.length, told.length);
  });
});

test('a report also has the warnings in force when the hail was largest, and the hail of the year before', async (t) => {
  const root = await scratch(t);
  copyFolder(CLOSED, root);
  const warning = { id: 'one', sent: `${FIRST}T23:00:00Z`, ends: `${LAST}T02:00:00Z` };
  const over = { id: 'two', event_number: 102, sent: `${FIRST}T23:00:00Z`, ends: `${LAST}T00:02:00Z` };
  // Between the largest detection, 00:03, and the last, 00:11, the warning leaves the point.
  const moved = {
    ...warning,
    id: 'three',
    action: 'CON',
    sent: `${LAST}T00:10:00Z`,
    box: [-96, 34, -95, 36.5],
  } as const;
  const box = [-98.5, 34, -96, 36.5] as const;
  await publishFeeds(root, [alertsFile(NOW_MS, { ...warning, box }, { ...over, box }, moved)], NOW_MS);
  const { catalog, engine } = await openedOn(t, root);
  const terrain = await openTerrain(engine, catalog);
  const services = { catalog, terrain, jobEngine: engine, storm_day_start_hour: 0, now: () => NOW_MS };
  const material = (point: Position, date: string) =>
    readMaterial({ id: 'rpt_A', params: { ...point, date_start: date, date_end: date }, services });
  for (const point of POINTS.slice(0, 20)) {
    const [{ verification, events }, { earlier }] = [await material(point, FIRST), await material(point, LAST)];
    const isListed = verification.events.some(({ verdict }) => verdict !== 'miss');
    t.deepEqual([earlier.first, earlier.last, earlier.without_data], ['2025-05-02', FIRST, 364]);
    t.deepEqual(
      earlier.days.map(({ reports, pixels }) => [reports, pixels]),
      isListed ? events.map(({ reports, pixels }) => [reports, pixels.filter(({ max_mm }) => max_mm >= 10)]) : [],
    );
    t.is(earlier.count, earlier.days.length);
  }
  const { warnings } = await material({ lat: 35.07853, lon: -97.23661 }, LAST);
  const end_ms = Date.parse(warning.ends);
  const inForce = [...(warnings ?? [])];
  t.deepEqual(inForce, [[LAST, [{ event: 'Severe Thunderstorm Warning', end_ms, data_source: 'observed' }]]]);
});

test('dates that were never published, were cleared, or were seen in part are told', async (t) => {
  const root = await scratch(t);
  await publish(root, await midnight());
  const told = async () => {
    const { catalog, engine } = await openedOn(t, root);
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
  await onRoot(root, {}, async ({ root: published }) => clearDate(published, FIRST, NOW_MS));
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

test('a pixel whose edge alone lies within the radius is found in a file that holds nothing else', async (t) => {
  const root = await scratch(t);
  const [row0, col0] = [1979, 3256];
  const rows = standingHail(FIRST, drawTenths([[200]], { row0, col0 }), [NOW_MS]);
  await publishDays(root, [{ storm_date: FIRST, rows }], 'observed', MONTH_LATER_MS);
  const point = { lat: rowLat(row0) - 0.076, lon: colLon(col0) };
  const far = { time: '1200', inches: 1, lat: 45, lon: -90, office: 'OUN' };
  await publishFeeds(root, [reportList(FIRST, [far], MONTH_LATER_MS)], MONTH_LATER_MS);
  const { events } = (await onPublished(root, (ask) => ask({ ...point, ...RANGE }))).verification;
  t.like(events, [{ event_date: FIRST, band: '3-5mi', n_detections: 1 }]);
});

test('earlier hail is searched from the first year of the calendar on', async (t) => {
  const { catalog, engine } = await openedOn(t, CLOSED);
  for (const [date, last] of [
    ['0000-03-01', '0000-02-29'],
    ['0000-01-01', '0000-01-01'],
  ] as const)
    t.like(await earlierHail(engine, catalog.edition(), { lat: 35, lon: -97 }, date), { first: '0000-01-01', last });
});

test('storm dates of months without a ground report, and a place where no data can be, are told', async (t) => {
  await onPublished(CLOSED, async (ask) => {
    const { verification, dates_without_reports } = await ask({ lat: 35, lon: -97, ...RANGE });
    t.deepEqual([dates_without_reports[0], dates_without_reports.at(-1)], ['2026-04-01', '2026-04-30']);
    t.regex(verification.methodology.description, /no ground reports were collected: 30\. That none is listed/);
    t.notRegex(verification.methodology.description, /outside the published area/);
    const honolulu = await ask({ lat: 21.3, lon: -157.86, ...RANGE });
    const description = honolulu.verification.methodology.description;
    t.regex(description, /lies outside the published area, .* no data can exist there/);
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

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);
const [ROW, COL] = [latRow(35.995), lonCol(-97.995)];
/** What scans do not cover, by letter: `x` the eastern column, `?` is not known, `.` nothing. */
const RUNS: Readonly<Record<string, UncoveredRuns['runs']>> = {
  x: [
    [0, 1, 2],
    [1, 1, 2],
  ],
  '.': [],
};
const COVERED = { lat: 35.95, lon: -97.95 };
const BARE = { lat: 35.95, lon: -97.85 };

const patchesOf = (letter: string) =>
  RUNS[letter]?.map(([row, start, end]) => ({
    row_first: ROW + 10 * row,
    row_last: ROW + 10 * row + 9,
    col_first: COL + 10 * start,
    col_last: COL + 10 * end - 1,
  })) ?? null;

interface Published {
  /** A letter for each scan, two minutes apart from the beginning of the date; a blank is no scan. */
  readonly [date: string]: string;
}

interface Settings {
  readonly closed?: boolean;
  /** Scans of a file. */
  readonly cut?: number;
}

/** Coverage of dates by their scans. */
async function asking(t: ExecutionContext, dates: Published, { closed = true, cut = 9999 }: Settings = {}) {
  const root = await scratch(t);
  await mkdir(root, { recursive: true });
  const writer = await openWriter(root);
  const listed = new Map<string, string[]>();
  for (const [date, letters] of Object.entries(dates)) {
    const start_ms = Date.parse(`${date}T00:00:00Z`);
    const scans = [...letters].flatMap((letter, k) =>
      letter === ' ' ? [] : [{ letter, storm_date: date, scan_time: start_ms + 2 * k * MS_PER_MIN }],
    );
    for (let from = 0; from < scans.length; from += cut) {
      const part = scans.slice(from, from + cut).map((scan) => ({ ...scan, uncovered: patchesOf(scan.letter) }));
      const rows = part.map(({ scan_time, letter, uncovered: patches }) => ({
        ...frameRow(date, scan_time, `${letter}.pmtiles`),
        uncovered_blocks: patches?.length ?? null,
      }));
      const stage = async (table: typeof frames | typeof uncovered, content: Iterable<Record<string, unknown>>) => {
        const path = join(root, `${table.name}-${date}-${from}.parquet`);
        await stageRows(writer, table, content, path, 'simulated');
        listed.set(`${table.name} ${date}`, [...(listed.get(`${table.name} ${date}`) ?? []), path]);
      };
      await stage(frames, rows);
      await stage(uncovered, uncoveredRows(part));
    }
  }
  writer.close();
  const engine = openEngine(root);
  t.teardown(() => engine.close());
  const newest = Object.keys(dates).toSorted().at(-1) as string;
  const edition: Parameters<typeof radarCoverage>[1] = {
    paths: (table, asked) => asked.flatMap((date) => listed.get(`${table} ${date}`) ?? []),
    datesBetween: (first, last) =>
      Object.keys(dates)
        .filter((date) => date >= first && date <= last)
        .toSorted(),
    isClosed: () => closed,
    newest_scan_ms: Date.parse(`${newest}T00:00:00Z`) + 2 * ((dates[newest]?.length ?? 0) - 1) * MS_PER_MIN,
  };
  const cover = (first = DATE, last = DATE) => radarCoverage(engine, edition, first, last, 0);
  return { root, cover, at: async (point: typeof COVERED) => (await cover()).at(point).get(DATE) };
}

const HALF = 'x'.repeat(360) + '.'.repeat(360);

for (const [what, settings] of [
  ['in one file', {}],
  ['in files of a few scans', { cut: 50 }],
] as const)
  test(`a point is seen by scans ${what} that cover its block, and outside the grid nothing is`, async (t) => {
    const { at } = await asking(t, { [DATE]: HALF }, settings);
    t.like(await at(COVERED), { share: 1, scans: 720, uncovered: 0, gaps: [], until_ms: null });
    t.like(await at(BARE), {
      ...{ share: 0.5, scans: 720, uncovered: 360 },
      gaps: [{ from_ms: DAY_MS, to_ms: DAY_MS + 720 * MS_PER_MIN }],
    });
    for (const outside of [
      { lat: 40, lon: -97.95 },
      { lat: 35.95, lon: 170 },
    ])
      t.like(await at(outside), { share: 0, scans: 720, uncovered: 720 });
  });

test('scans that are missing are a gap everywhere, and scans without coverage only there', async (t) => {
  const { at } = await asking(t, { [DATE]: `${'.'.repeat(300)}${' '.repeat(60)}${'x'.repeat(30)}${'.'.repeat(330)}` });
  const gap = (from: number, to: number) => ({ from_ms: DAY_MS + from * MS_PER_MIN, to_ms: DAY_MS + to * MS_PER_MIN });
  t.deepEqual((await at(COVERED))?.gaps, [gap(608, 720)]);
  t.deepEqual((await at(BARE))?.gaps, [gap(608, 780)]);
});

test('a date that still runs counts up to its newest scan; one that is closed, or followed by another, to its end', async (t) => {
  const running = await asking(t, { [DATE]: '.'.repeat(60) }, { closed: false });
  t.like(await running.at(COVERED), { share: 1, until_ms: DAY_MS + 118 * MS_PER_MIN });
  const closed = await asking(t, { [DATE]: '.'.repeat(60) });
  t.like(await closed.at(COVERED), { share: 128 / 1440, until_ms: null });
  const followed = await asking(t, { [DATE]: '.'.repeat(60), '2026-05-02': '.' }, { closed: false });
  t.like(await followed.at(COVERED), { share: 128 / 1440, until_ms: null });
});

test('the first minutes of a date belong to the last scan of the date before, and of no other', async (t) => {
  const late = `  ${'.'.repeat(718)}`;
  const share = async (before: Published) => (await (await asking(t, { ...before, [DATE]: late })).at(BARE))?.share;
  t.is(await share({ '2026-04-30': '.'.repeat(720) }), 1);
  t.is(await share({ '2026-04-30': 'x'.repeat(720) }), 1436 / 1440);
  t.is(await share({ '2026-04-30': '.'.repeat(700) }), 1436 / 1440);
  t.is(await share({ '2026-04-29': '.'.repeat(720) }), 1436 / 1440);
});

test('a date that came without scans is of unknown coverage', async (t) => {
  const { cover } = await asking(t, { [DATE]: '', '2026-05-02': '.'.repeat(720) });
  const { at } = await cover(DATE, '2026-05-02');
  t.is(at(COVERED).get(DATE), null);
  t.is(at(COVERED).get('2026-05-02')?.share, 1);
});

/** Blocks of 0.1 degree from 36 N, 98 W: `x` uncovered. */
const PICTURE = ['......', '..xx..', '..xxx.', '......', '......'];
const UNCOVERED: UncoveredRuns = {
  north: 36,
  west: -98,
  step_deg: 0.1,
  rows: PICTURE.length,
  cols: 6,
  runs: [
    [1, 2, 4],
    [2, 2, 5],
  ],
};

/** A box inside of the block of a row and a column. */
function blockBox(row: number, col: number): Bbox {
  const [north, west] = [36 - 0.1 * row, -98 + 0.1 * col];
  return [west + 0.04, north - 0.06, west + 0.06, north - 0.04];
}

/** Covered blocks around a block, counted in the picture. */
function counted(row: number, col: number): number {
  let found = 0;
  for (let r = row - 1; r <= row + 1; r++)
    for (let c = col - 1; c <= col + 1; c++) if (PICTURE[r]?.[c] === '.') found += 1;
  return found;
}

/** Reads by absolute paths. */
const MACHINE = openDataRoot('/');

async function archiveWith(t: ExecutionContext, uncovered: UncoveredRuns | null): Promise<string> {
  const path = await scratch(t, 'scan.pmtiles');
  await writeFile(path, archiveOf(uncovered));
  return path;
}

test('covered blocks of a scan are those that a box touches and their neighbours, inside the grid of its archive', async (t) => {
  const coverage = await readScanCoverage(MACHINE, await archiveWith(t, UNCOVERED));
  for (let row = 0; row < PICTURE.length; row++)
    for (let col = 0; col < 6; col++)
      t.is(coverage?.blocksOver(blockBox(row, col)), counted(row, col), `${row} ${col}`);
  t.is(coverage?.blocksOver([-98, 35.5, -97.4, 36]), 25);
  t.is(coverage?.blocksOver([-90, 35, -89, 36]), 0);
  t.is(coverage?.blocksOver([-97.9, 40, -97.8, 40.1]), 0);
});

test('of an archive that says nothing of coverage, or is gone, it is not known', async (t) => {
  t.is(await readScanCoverage(MACHINE, await archiveWith(t, null)), null);
  t.is(await readScanCoverage(MACHINE, await scratch(t, 'gone.pmtiles')), null);
});

test('runs that are no three whole numbers are refused', async (t) => {
  for (const run of [[0, 1], [0, 1, 2.5], [0, -1, 2], [0, 1, '2'], null]) {
    const wrong: UncoveredRuns = { ...UNCOVERED, runs: JSON.parse(JSON.stringify([run])) };
    await t.throwsAsync(readScanCoverage(MACHINE, await archiveWith(t, wrong)), { message: /is no scan archive/ });
  }
});

test('a file that is no archive, or is cut, is told', async (t) => {
  const text = await scratch(t, 'text.pmtiles');
  await writeFile(text, 'no archive');
  await t.throwsAsync(readScanCoverage(MACHINE, text), { message: /is no scan archive/ });
});

interface Pixel {
  readonly lat: number;
  readonly lon: number;
  readonly mm: number;
}

const MILE_M = 1609.344;

async function detectionsOf(engine: Engine, paths: readonly string[]): Promise<Pixel[]> {
  const sql = 'SELECT lat, lon, estimated_size_mm AS mm FROM read_parquet($1::VARCHAR[]) ORDER BY ALL';
  return await engine.rows<Pixel>(sql, [paths]);
}

/** What the interface asks for, detection by detection. */
function slowImpact(lat: number, lon: number, detections: readonly Pixel[]) {
  const within = detections
    .map((pixel) => ({
      mm: pixel.mm,
      metres:
        1000 *
        distanceKm(
          { lat, lon },
          {
            lat: Math.min(Math.max(lat, pixel.lat - 0.005), pixel.lat + 0.005),
            lon: Math.min(Math.max(lon, pixel.lon - 0.005), pixel.lon + 0.005),
          },
        ),
    }))
    .filter(({ metres }) => metres <= MILE_M);
  if (within.length === 0) return null;
  return {
    nearest_m: Math.round(Math.min(...within.map(({ metres }) => metres))),
    max_mm: Math.max(...within.map(({ mm }) => mm)),
    detections: within.length,
  };
}

for (const [state, closed] of [
  ['running', false],
  ['over and joined into its month', true],
] as const)
  test(`impacts of a date that is ${state} are those of its detections, counted one by one`, async (t) => {
    const root = await publishedRoot(t, await midnight());
    if (closed) await ingest(root, [], { now_ms: MONTH_LATER_MS });
    const { catalog, engine } = await openedOn(t, root);
    const edition = catalog.edition();
    const detections = await detectionsOf(engine, edition.paths('detections', [DATE]));
    t.true(detections.length > 100);
    const locations = Array.from({ length: 60 }, (_, k) => {
      const { lat, lon } = detections[(k * 7919) % detections.length] as Pixel;
      return { id: `${k}`, name: '', lat: lat + ((k % 7) - 3) * 0.0081, lon: lon + ((k % 5) - 2) * 0.0123 };
    });
    const pixels = await readHailPixels(engine, edition.paths('day-max', [DATE]), DATE);
    const found = await findImpacts(locations, pixels);
    const expected = locations
      .map((location) => ({ location, slow: slowImpact(location.lat, location.lon, detections) }))
      .filter(({ slow }) => slow !== null);
    t.deepEqual(
      found.map(({ nearest_m, ...rest }) => ({ ...rest, nearest_m: Math.round(nearest_m) })),
      expected.map(({ location, slow }) => ({ location, ...slow }) as never),
    );
    t.true(found.length > 20 && found.length < 60);
  });
