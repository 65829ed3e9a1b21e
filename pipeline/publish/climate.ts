import { join } from 'node:path';
import type { Table } from '../../schemas/columns.ts';
import { LATTICE, latRow, lonCol } from '../../schemas/geo/lattice.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { CELL_GROW_MM, DETECTION_MIN_MM, EXTREME_MM, SIZE_BANDS, SIZE_CAP_MM } from '../../schemas/size.ts';
import { dayMax } from '../../schemas/tables/day-max.ts';
import { detections } from '../../schemas/tables/detections.ts';
import { addDays, monthOf, stormDateStart } from '../../schemas/time.ts';
import { COMPANIONS } from '../grid.ts';
import { scanTimes } from '../simulate/scan-times.ts';
import { conusScenario } from '../simulate/scenario.ts';
import { stormAt, stormsBetween } from '../simulate/storms.ts';
import type { StagedFile } from './commit.ts';
import { DERIVED_SEGMENT, deriveTables } from './day.ts';
import { PLACE_COLUMNS, placeFacts } from './merge.ts';
import type { Root } from './root.ts';
import { dataFileName } from './stage.ts';
import { stageQuery } from './tables.ts';

/** Segment of a date that the climate wrote: no scans, only their sum. */
const CLIMATE_SEGMENT = 'climate';
const MS_PER_DAY = 86_400_000;
/** Any odd number: keeps the further weathers of one seed apart from those of its neighbours. */
const SEED_STEP = 0x9e3779b1;

/** Which simulated years to publish. */
export interface Climate {
  readonly seed: number;
  /** So many independent weathers fall on every date: 1 is a usual year, more fill a place as many years would. */
  readonly density: number;
  readonly first_date: string;
  readonly dates: number;
  readonly storm_day_start_hour: number;
}

export interface ClimateProgress {
  readonly storm_date: string;
  readonly number: number;
  readonly of: number;
  readonly detections: number;
}

/**
 * Publishes years of simulated daily hail straight into the tables: detections and day maxima of every date, tiers, event
 * days, and the months joined, for tests at scale. Storms are the simulator's, but their cores are plain ellipses: no
 * radar fields, cells, tracks or pictures are made, and confidence assumes five scans and a good radar.
 * Dates that hold scans are left alone. Yields each date once it is published.
 */
export async function* publishClimate(root: Root, climate: Climate, now_ms: number): AsyncGenerator<ClimateProgress> {
  const { first_date, dates } = climate;
  const all = Array.from({ length: dates }, (_, index) => addDays(first_date, index));
  for (const [index, storm_date] of all.entries()) {
    const head = root.heads.get(storm_date);
    if (head !== undefined && head.table_files > 0) continue;
    const rows = await publishDate(root, climate, storm_date, now_ms);
    yield { storm_date, number: index + 1, of: dates, detections: rows };
  }
  for (const month of new Set(all.map(monthOf))) await root.joinMonth(month, now_ms);
}

async function publishDate(root: Root, climate: Climate, storm_date: string, now_ms: number): Promise<number> {
  const { engine } = root;
  await loadStates(root, climate, stormDateStart(storm_date, climate.storm_day_start_hour));
  await engine.connection.run(`CREATE OR REPLACE TABLE climate_pixels AS ${pixelsSql(climate.seed)}`);
  const files: StagedFile[] = [];
  for (const [table, query] of [
    [detections, detectionsSql(storm_date)],
    [dayMax, dayMaxSql(storm_date)],
  ] as const) {
    const staged = await stageDay(root, storm_date, table, query);
    if (staged.entry.rows > 0) files.push(staged);
  }
  const rows = files.find((file) => file.entry.table === detections.name)?.entry.rows ?? 0;
  await root.publishDay(storm_date, 'simulated', [], files, true, now_ms);
  const manifest = await root.manifest(storm_date);
  if (manifest !== null && rows > 0) {
    const derived = await deriveTables(engine, root.path, root.staging, manifest);
    await root.publishDay(storm_date, 'simulated', [DERIVED_SEGMENT], derived.files, true, now_ms);
  }
  return rows;
}

/** Every storm of a date at every scan that shows hail, as rows of the table climate_states. */
async function loadStates(root: Root, climate: Climate, from_ms: number): Promise<void> {
  const { connection } = root.engine;
  await connection.run(
    `CREATE OR REPLACE TABLE climate_states (scan_ms BIGINT, storm INTEGER, center_row DOUBLE, center_col DOUBLE, east_km DOUBLE,
       along_deg DOUBLE, peak_mm DOUBLE, long_km DOUBLE, short_km DOUBLE, reach_px INTEGER)`,
  );
  const storms = seedsOf(climate).flatMap((seed) =>
    stormsBetween(conusScenario(seed, 'climate', WSR88D), from_ms, from_ms + MS_PER_DAY),
  );
  const appender = await connection.createAppender('climate_states');
  for (const scan_ms of scanTimes(climate.seed, from_ms, from_ms + MS_PER_DAY)) {
    for (const storm of storms) {
      if (scan_ms < storm.birth_ms || scan_ms > storm.birth_ms + storm.life_ms) continue;
      const state = stormAt(storm, scan_ms);
      if (state.peak_mm < CELL_GROW_MM) continue;
      const long_km = storm.core_km * Math.sqrt(storm.aspect);
      const reach_km = long_km * Math.log(state.peak_mm / CELL_GROW_MM + 0.3) ** (1 / 1.3);
      const values = [latRow(state.lat), lonCol(state.lon)];
      if (values[0] < 60 || values[0] > LATTICE.rows - 60 || values[1] < 60 || values[1] > LATTICE.cols - 60) continue;
      appender.appendBigInt(BigInt(scan_ms));
      appender.appendInteger(storm.key % 1_000_000);
      appender.appendDouble((LATTICE.north - state.lat) / LATTICE.step - 0.5);
      appender.appendDouble((state.lon - LATTICE.west) / LATTICE.step - 0.5);
      appender.appendDouble(1.1132 * Math.cos((state.lat * Math.PI) / 180));
      appender.appendDouble(state.direction_deg);
      appender.appendDouble(state.peak_mm);
      appender.appendDouble(long_km);
      appender.appendDouble(storm.core_km / Math.sqrt(storm.aspect));
      appender.appendInteger(Math.min(50, Math.ceil(reach_km)));
      appender.endRow();
    }
  }
  appender.closeSync();
}

/** Seeds of the weathers of a climate: its own first. */
function seedsOf({ seed, density }: Climate): number[] {
  return Array.from({ length: density }, (_, index) => (seed + index * SEED_STEP) % 2 ** 32);
}

/** Pixels >= 5 mm: an elliptical core exp(-(r/rc)^1.3) with a grain of its own at every pixel and scan. */
function pixelsSql(seed: number): string {
  return `
    WITH near AS (
      SELECT s.*, floor(s.center_row)::INTEGER + dy AS "row", floor(s.center_col)::INTEGER + dx AS col
      FROM climate_states s, unnest(range(-s.reach_px, s.reach_px + 1)) AS a(dy),
        unnest(range(-CAST(s.reach_px / s.east_km AS INTEGER) - 1, CAST(s.reach_px / s.east_km AS INTEGER) + 2)) AS b(dx)),
    placed AS (
      SELECT scan_ms, storm, "row", col, peak_mm, long_km, short_km,
        (center_row - "row") * 1.112 * cos(radians(along_deg)) + (col - center_col) * east_km * sin(radians(along_deg)) AS u,
        (col - center_col) * east_km * cos(radians(along_deg)) - (center_row - "row") * 1.112 * sin(radians(along_deg)) AS v
      FROM near),
    sized AS (
      SELECT scan_ms, "row", col, least(${SIZE_CAP_MM}, round(peak_mm * exp(-power(sqrt(power(u / long_km, 2) + power(v / short_km, 2)), 1.3))
        * (0.85 + 0.3 * (hash("row", col, storm, ${seed}) % 1000) / 1000.0), 1)) AS mm
      FROM placed)
    SELECT scan_ms, "row", col, max(mm) AS mm FROM sized WHERE mm >= ${CELL_GROW_MM} GROUP BY ALL`;
}

const PLACE = `"row", col, (54995 - 10 * "row") / 1000.0 AS lat, (-129995 + 10 * col) / 1000.0 AS lon`;
const CONFIDENCE = '1 / (1 + exp(-(-2.2 + 1.1 * ln(mm / 19) + 0.9 + 0.4 + 0.49)))';
const UNKNOWN_COMPANIONS = COMPANIONS.map((name) => `NULL AS ${name}`).join(', ');

function detectionsSql(storm_date: string): string {
  return `
    SELECT DATE '${storm_date}' AS storm_date, make_timestamp(scan_ms * 1000) AS scan_time, *, ${geohash5Sql()} AS geohash5 FROM (
      SELECT scan_ms, ${PLACE}, mm AS estimated_size_mm,
        round(least(120, greatest(5, exp(1.18 + 0.62 * ln(mm)))), 1) AS ml_predicted_size_mm,
        round(1 / (1 + exp(-(-0.26 + 3.63 * ln(mm / 25.4)))), 4) AS ml_probability, round(${CONFIDENCE}, 4) AS confidence,
        5 AS scan_count, NULL AS cell_index, NULL AS track_id, ${UNKNOWN_COMPANIONS},
        false AS flag_small, false AS flag_single_scan, mm > ${EXTREME_MM} AS flag_extreme
      FROM climate_pixels WHERE mm >= ${DETECTION_MIN_MM})`;
}

function dayMaxSql(storm_date: string): string {
  return `
    WITH pixel AS (
      SELECT DATE '${storm_date}' AS storm_date, ${PLACE}, max(mm) AS max_mm, make_timestamp(arg_max(scan_ms, (mm, -scan_ms)) * 1000) AS max_time,
        false AS interpolated, make_timestamp(min(scan_ms) FILTER (mm >= ${DETECTION_MIN_MM}) * 1000) AS first_detected,
        make_timestamp(max(scan_ms) FILTER (mm >= ${DETECTION_MIN_MM}) * 1000) AS last_detected,
        count(*) FILTER (mm >= ${DETECTION_MIN_MM}) AS detection_scans, count(*) FILTER (mm >= ${SIZE_BANDS[0].threshold_mm}) AS severe_scans
      FROM climate_pixels GROUP BY "row", col),
    hashed AS (SELECT *, ${geohash5Sql()} AS geohash5 FROM pixel),
    place AS (${placeFacts(`SELECT ${geohash5Sql()} AS geohash5, make_timestamp(scan_ms * 1000) AS scan_time
      FROM (SELECT scan_ms, ${PLACE} FROM climate_pixels WHERE mm >= ${DETECTION_MIN_MM})`)})
    SELECT hashed.*, CASE WHEN max_mm >= ${DETECTION_MIN_MM} THEN round(${CONFIDENCE.replaceAll('mm /', 'max_mm /')}, 4) END AS confidence,
      ${UNKNOWN_COMPANIONS}, ${PLACE_COLUMNS}
    FROM hashed LEFT JOIN place ON place.geohash5 = hashed.geohash5`;
}

/** Five characters of geohash from columns lat and lon: 13 bits of longitude and 12 of latitude, interleaved. */
function geohash5Sql(): string {
  const lon = 'CAST(floor((lon + 180) / 360 * 8192) AS INTEGER)';
  const lat = 'CAST(floor((lat + 90) / 180 * 4096) AS INTEGER)';
  const bit = (position: number) => {
    // Even positions are longitude, odd ones latitude, both from the most significant bit down.
    const [value, shift] = position % 2 === 0 ? [lon, 12 - position / 2] : [lat, 11 - (position - 1) / 2];
    return `((${value} >> ${shift}) & 1)`;
  };
  const character = (index: number) => {
    const value = [0, 1, 2, 3, 4].map((k) => `${bit(5 * index + k)} * ${2 ** (4 - k)}`).join(' + ');
    return `substr('0123456789bcdefghjkmnpqrstuvwxyz', 1 + ${value}, 1)`;
  };
  return [0, 1, 2, 3, 4].map(character).join(' || ');
}

async function stageDay(root: Root, storm_date: string, table: Table, query: string): Promise<StagedFile> {
  const staged = join(root.staging, `${table.name}-${storm_date}.parquet`);
  const facts = await stageQuery(root.engine, table, query, staged, 'simulated');
  const covers: Pick<PublishedFile, 'segment' | 'first_scan' | 'last_scan'> = {
    segment: CLIMATE_SEGMENT,
    first_scan: null,
    last_scan: null,
  };
  const path = dataFileName(layout.table(table.name, storm_date), 'day', facts.sha256, 'parquet');
  return { staged, entry: { path, kind: 'table', table: table.name, ...covers, ...facts } };
}
