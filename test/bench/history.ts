import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Catalog, openCatalog } from '../../api/published/catalog.ts';
import { type Engine, openEngine } from '../../api/published/duckdb.ts';
import { FILES } from '../../api/queries/sql.ts';
import { getHailHistory } from '../../api/routes/hail-history.ts';
import { compactMonth } from '../../pipeline/publish/compact.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { addDays, monthOf, stormDateStart } from '../../schemas/time.ts';
import { drawTenths } from '../support/data/draw.ts';
import { publishDays, standingHail } from '../support/data/published-days.ts';
import { onRoot } from '../support/data/world.ts';
import { startService } from '../support/service/service.ts';

const SEASON = Array.from({ length: 60 }, (_, k) => addDays('2025-04-15', k));
const SEASON_NOW_MS = Date.parse('2026-01-01T00:00:00Z');
/** Patches of hail cover a third of one of 30 windows of this size over the box of the points, another one each date; pixels. */
const [ROWS, COLS] = [300, 400];
const DAYS = 365;
/** Points that are asked first, and as many others that are asked once what those needed is in memory. */
const POINTS = 50;
/** Most storm dates of an answer. */
const LIMIT = 200;
/** Radius and the median that is the goal on two cores, ms. */
const GOALS = [
  { radius_km: 25, goal_ms: 10 },
  { radius_km: 100, goal_ms: 50 },
] as const;
/** Where hail falls: the box of the points. */
const BOX = { south: 28, north: 46, west: -105, east: -85 };
/**
 * GET /v1/hail/history of 365 days around points that were never asked before, and again: of a service that has just started,
 * and of one that has what was asked for in memory, over a simulated season.
 */
export async function history(): Promise<void> {
  const root = await simulatedSeason();
  const catalog = await openCatalog(root, 0);
  const engine = await openEngine(root);
  try {
    await describe(catalog, engine);
    await tellTimings(root, catalog, pointsOf(2 * POINTS));
  } finally {
    await engine.close();
    await catalog.close();
    await rm(root, { recursive: true, force: true });
  }
}

function datesOf(catalog: Catalog): { first: string; last: string } {
  const last = catalog.edition().dates.at(-1);
  if (last === undefined) throw new Error('the season holds no published date, expected some');
  return { first: addDays(last, 1 - DAYS), last };
}

async function describe(catalog: Catalog, engine: Engine): Promise<void> {
  const { first, last } = datesOf(catalog);
  const edition = catalog.edition();
  const paths = edition.dayMaxPaths(first, last);
  const [facts] = await engine.rows<{ rows: number; detections: number }>(
    `SELECT count(*) AS rows, sum(detection_scans) AS detections FROM ${FILES}`,
    [paths],
  );
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  console.log(
    `history: ${DAYS} days around ${POINTS} fresh points; ${facts?.detections} detections as ${facts?.rows} day maxima in ` +
      `${paths.length} files, ${(bytes / 1e6).toFixed(0)} MB (a simulated season)`,
  );
}

/** Asks the service as a client does, charges included. */
async function tellTimings(root: string, catalog: Catalog, points: readonly Position[]): Promise<void> {
  const now_ms = stormDateStart(addDays(datesOf(catalog).last, 1), 0) - 1;
  const service = await startService({
    endpoints: [getHailHistory],
    data_root: root,
    now_ms,
    app: { check_replies: false },
  });
  const asking = async ({ lat, lon }: Position, radius_km: number) => {
    const query = `lat=${lat}&lon=${lon}&radius_km=${radius_km}&days=${DAYS}&limit=${LIMIT}`;
    const { events } = (await service.json(`/v1/hail/history?${query}`)) as { events: unknown[] };
    return events;
  };
  try {
    const { files } = service.services;
    const started = await measured(asking, points.slice(0, POINTS));
    for (const [index, { radius_km }] of GOALS.entries())
      console.log(`  just started, ${radius_km} km: ${shown(started[index] as Timing)}`);
    const since = performance.now();
    await files.settled();
    console.log(`  the files are in memory ${((performance.now() - since) / 1000).toFixed(1)} s later`);
    const timings = await measured(asking, points.slice(POINTS));
    for (const [index, { radius_km, goal_ms }] of GOALS.entries())
      console.log(`  ${radius_km} km: ${shown(timings[index] as Timing)} (goal: median under ${goal_ms} ms)`);
  } finally {
    await service.close();
  }
}

interface Timing {
  readonly median_ms: number;
  readonly p90_ms: number;
  readonly again_ms: number;
  readonly days: number;
}

/** Times each point twice in a row, point by point, after one that nobody counts. */
async function measured(
  asking: (point: Position, radius_km: number) => Promise<readonly unknown[]>,
  points: readonly Position[],
): Promise<Timing[]> {
  const timings: Timing[] = [];
  for (const { radius_km } of GOALS) {
    await asking({ lat: 40, lon: -100 }, radius_km);
    const first: number[] = [];
    const again: number[] = [];
    let days = 0;
    for (const point of points)
      for (const times of [first, again]) {
        const started = performance.now();
        const answer = await asking(point, radius_km);
        times.push(performance.now() - started);
        if (times === first) days += answer.length;
      }
    timings.push({
      median_ms: quantile(first, 0.5),
      p90_ms: quantile(first, 0.9),
      again_ms: quantile(again, 0.5),
      days,
    });
  }
  return timings;
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))];
}

function shown({ median_ms, p90_ms, again_ms, days }: Timing): string {
  return `median ${median_ms.toFixed(1)} ms, p90 ${p90_ms.toFixed(1)} ms, asked again ${again_ms.toFixed(1)} ms, ${days} storm days found`;
}

/** Points spread evenly over the box, the same in every run. */
function pointsOf(count: number): Position[] {
  return Array.from({ length: count }, (_, index) => ({
    lat: BOX.south + (BOX.north - BOX.south) * (((index + 1) * 0.7548776662) % 1),
    lon: BOX.west + (BOX.east - BOX.west) * (((index + 1) * 0.569840291) % 1),
  }));
}

/** A data root with a season of hail that stood still in patches, other ones on each date. To be removed. */
async function simulatedSeason(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-season-'));
  for (const [k, storm_date] of SEASON.entries()) {
    const tenths = Array.from({ length: ROWS }, (_, row) =>
      Array.from({ length: COLS }, (_, col) =>
        Math.max(0, Math.round(700 * Math.sin(row / 13 + k) * Math.sin(col / 17 + 2 * k)) - 100),
      ),
    );
    const field = drawTenths(tenths, { row0: 900 + ((7 * k) % 6) * ROWS, col0: 2500 + ((3 * k) % 5) * COLS });
    const hail = standingHail(storm_date, field, [stormDateStart(storm_date, 0)]);
    await publishDays(folder, [{ storm_date, rows: hail }], 'simulated', SEASON_NOW_MS);
  }
  await onRoot(folder, { now_ms: SEASON_NOW_MS }, async ({ root }) => {
    for (const month of new Set(SEASON.map(monthOf))) await compactMonth(root, month, SEASON_NOW_MS);
  });
  return folder;
}
