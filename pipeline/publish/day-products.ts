import { geodesicAreaKm2, pixelHull, ringCentroid } from '../../schemas/geo/hull.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { PixelSet } from '../../schemas/geo/rings.ts';
import { polygonToWkt } from '../../schemas/geo/wkt.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { EVENT_MIN_MM, SIZE_BANDS } from '../../schemas/size.ts';
import { type EventDay, eventDays, type Swath, swaths } from '../../schemas/tables/derived.ts';
import { dayMax, detections, frames, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { scanTime } from '../../schemas/time.ts';
import { type Engine, sqlList } from '../duckdb.ts';
import { drawTiers, type PixelScans, type TierPixel } from '../swath/tiers.ts';
import { drawDailyTiles } from '../tiles/daily-tiles.ts';
import type { StagedFile } from './edit.ts';
import { tablePaths } from './manifests.ts';
import { mergedDayMaxSql } from './merge.ts';
import type { Root } from './root.ts';
import { type SegmentSpan, stageBytes, stageTable } from './stage.ts';
import { readRows } from './tables.ts';

/** Segment of the files that are drawn from a whole date: tiers, the event day, the daily archive. */
export const DERIVED_SEGMENT = 'derived';

/**
 * Draws the products of a whole storm date from its published scans: swath tiers, the event-day row, the daily
 * archive. Returns staged files; the caller commits them in place of the segment `derived`.
 */
export async function deriveDay(root: Root, manifest: Manifest): Promise<StagedFile[]> {
  const { engine, path, staging } = root;
  const storm_date = manifest.partition;
  const { files, tiers } = await deriveTables(root, manifest);
  const covers = coverOf(manifest);
  const archive = drawDailyTiles({
    storm_date,
    swaths: tiers,
    tracks: await readRows<TrackPoint>(engine, tracks, tablePaths(path, manifest, tracks.name)),
    data_time: covers.last_scan === null ? null : scanTime(covers.last_scan),
    provenance: manifest.source,
    bounds: await gridBounds(engine, tablePaths(path, manifest, frames.name)),
  });
  const destination = { folder: layout.dailyTiles(storm_date), stem: 'day' };
  return [...files, await stageBytes(staging, 'daily-tiles', archive, destination, covers, null)];
}

/** The tables among these products, staged, and the rows of the tiers. */
export async function deriveTables(
  { engine, path, staging }: Root,
  manifest: Manifest,
): Promise<{ readonly files: StagedFile[]; readonly tiers: readonly Swath[] }> {
  const { partition: storm_date, source } = manifest;
  const maxima = await readDayMax(engine, tablePaths(path, manifest, dayMax.name));
  const seen = tablePaths(path, manifest, detections.name);
  const tiers = drawTiers(maxima, storm_date, await pixelScans(engine, seen));
  const event = await readEventDay(engine, seen, storm_date);
  const files: StagedFile[] = [];
  for (const [table, rows] of [
    [swaths, tiers],
    [eventDays, event === null ? [] : [event]],
  ] as const) {
    if (rows.length === 0) continue;
    const destination = { folder: layout.table(table.name, storm_date), stem: 'day' };
    files.push(await stageTable(engine, staging, table, { rows }, source, destination, coverOf(manifest)));
  }
  return { files, tiers };
}

function coverOf(manifest: Manifest): SegmentSpan {
  const [first, last] = [manifest.scans[0], manifest.scans.at(-1)];
  return { segment: DERIVED_SEGMENT, first_scan: first?.scan_id ?? null, last_scan: last?.scan_id ?? null };
}

/** Pixels of the day maximum with a detection or in a tier. */
async function readDayMax(engine: Engine, paths: readonly string[]): Promise<TierPixel[]> {
  if (paths.length === 0) return [];
  return engine.rows<TierPixel>(
    `SELECT "row", col, max_mm, interpolated,
       epoch_ms(first_detected)::DOUBLE AS first_detected, epoch_ms(last_detected)::DOUBLE AS last_detected
     FROM (${mergedDayMaxSql(paths, null)}) WHERE detection_scans > 0 OR max_mm >= ${SIZE_BANDS[0].threshold_mm}
     ORDER BY "row", col, interpolated`,
  );
}

async function pixelScans(engine: Engine, paths: readonly string[]): Promise<PixelScans> {
  const bounds = SIZE_BANDS.map((band) => band.threshold_mm);
  if (paths.length === 0) return new Map(bounds.map((mm) => [mm, 0]));
  const counts = bounds.map((mm) => `count(*) FILTER (estimated_size_mm >= ${mm}) AS "${mm}"`).join(', ');
  const [row] = await engine.rows<Record<string, number>>(
    `SELECT ${counts} FROM read_parquet(${sqlList(paths)}, hive_partitioning = false)`,
  );
  return new Map(bounds.map((mm) => [mm, row[mm]]));
}

/** The event day of the detections of a storm date; null when none reaches the size of one. */
async function readEventDay(engine: Engine, paths: readonly string[], storm_date: string): Promise<EventDay | null> {
  if (paths.length === 0) return null;
  const severe = `FROM read_parquet(${sqlList(paths)}, hive_partitioning = false) WHERE estimated_size_mm >= ${EVENT_MIN_MM}`;
  const [facts] = await engine.rows<Omit<EventFacts, 'storm_date'>>(
    `SELECT count(DISTINCT track_id) + count(DISTINCT (scan_time, cell_index)) FILTER (track_id IS NULL AND cell_index IS NOT NULL) AS cell_count,
       max(estimated_size_mm) AS max_size_mm, count(*) AS n_detections,
       epoch_ms(min(scan_time))::DOUBLE AS first_detected, epoch_ms(max(scan_time))::DOUBLE AS last_detected
     ${severe} HAVING count(*) > 0`,
  );
  if (facts === undefined) return null;
  const pixels = await engine.rows<{ row: number; col: number }>(
    `SELECT "row", col ${severe} GROUP BY "row", col ORDER BY "row", col`,
  );
  const set = { rows: pixels.map(({ row }) => row), cols: pixels.map(({ col }) => col) };
  return eventDay(set, { storm_date, ...facts });
}

/** Bounds of the grids of a date; those of the whole lattice without frames. */
async function gridBounds(engine: Engine, paths: readonly string[]): Promise<Bbox> {
  if (paths.length === 0) return LATTICE.bbox;
  const [{ west, south, east, north }] = await engine.rows<Record<'west' | 'south' | 'east' | 'north', number>>(
    `SELECT min(grid_west) AS west, min(grid_south) AS south, max(grid_east) AS east, max(grid_north) AS north
     FROM read_parquet(${sqlList(paths)}, hive_partitioning = false)`,
  );
  return [west, south, east, north];
}

/** Aggregates of the detections >= 19 mm of a storm date; instants in epoch milliseconds. */
type EventFacts = Pick<
  EventDay,
  'storm_date' | 'cell_count' | 'max_size_mm' | 'n_detections' | 'first_detected' | 'last_detected'
>;

/**
 * The event day of a storm date from its detections >= 19 mm: their pixels, each at least once and in any order, and their
 * aggregates. `affected_area_km2` is the geodesic area of the hull of the pixels' corners; two distant storms make it huge.
 */
export function eventDay(pixels: PixelSet, facts: EventFacts): EventDay {
  const hull = pixelHull(pixels);
  const centroid = ringCentroid(hull);
  return {
    ...facts,
    affected_area_km2: geodesicAreaKm2(hull),
    centroid_lat: centroid.lat,
    centroid_lon: centroid.lon,
    hull: polygonToWkt([hull]),
  };
}
