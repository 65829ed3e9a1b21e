import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getHailHistory } from '../../api/routes/hail-history.ts';
import { compactMonth } from '../../pipeline/publish/compact.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { addDays, monthOf, stormDateStart } from '../../schemas/time.ts';
import { drawTenths } from '../support/data/draw.ts';
import { publishDays, standingHail } from '../support/data/published-days.ts';
import { onRoot } from '../support/data/world.ts';
import { startService } from '../support/service/service.ts';
import { pointsOf } from './peers.ts';

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
 * GET /v1/hail/history of 365 days around points that were never asked before, charges included: of a service that has just
 * started, and of one that has those files in memory, over a simulated season.
 */
export async function history(): Promise<void> {
  const root = await simulatedSeason();
  const now_ms = stormDateStart(addDays(SEASON.at(-1) as string, 1), 0) - 1;
  const service = await startService({
    endpoints: [getHailHistory],
    data_root: root,
    now_ms,
    app: { check_replies: false },
  });
  /** Times each point after one that does not count. */
  const measure = async (what: string, points: readonly Position[]) => {
    for (const { radius_km, goal_ms } of GOALS) {
      const times: number[] = [];
      for (const { lat, lon } of [{ lat: 40, lon: -100 }, ...points]) {
        const started = performance.now();
        await service.json(`/v1/hail/history?lat=${lat}&lon=${lon}&radius_km=${radius_km}&days=${DAYS}&limit=${LIMIT}`);
        times.push(performance.now() - started);
      }
      const sorted = times.slice(1).sort((x, y) => x - y);
      const [median, p90] = [0.5, 0.9].map((share) => sorted[Math.floor(share * (sorted.length - 1))]?.toFixed(1));
      console.log(
        `  ${what}, ${radius_km} km: median ${median} ms, p90 ${p90} ms (goal in memory: under ${goal_ms} ms)`,
      );
    }
  };
  try {
    console.log(`history: ${DAYS} days around ${POINTS} fresh points, ${SEASON.length} dates with hail`);
    const points = pointsOf(BOX, 2 * POINTS);
    await measure('just started', points.slice(0, POINTS));
    await service.services.files.settled();
    await measure('in memory', points.slice(POINTS));
  } finally {
    await service.close();
    await rm(root, { recursive: true, force: true });
  }
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
