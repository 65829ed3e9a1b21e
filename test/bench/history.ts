import { spawn } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import pg from 'pg';
import { type Catalog, openCatalog } from '../../api/catalog.ts';
import { type Engine, openEngine } from '../../api/duckdb.ts';
import { FILES } from '../../api/queries/sql.ts';
import { getHailHistory } from '../../api/routes/hail-history.ts';
import { openEngine as openWriter, sqlList, sqlText } from '../../pipeline/duckdb.ts';
import { UsageError } from '../../pipeline/error.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { detections } from '../../schemas/tables/radar.ts';
import { addDays, stormDateStart } from '../../schemas/time.ts';
import { startService } from '../support/service/service.ts';
import { simulatedSeason } from './season.ts';

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
/** How many times as fast as PostGIS at new points, and at repeated ones. */
const GOAL_TIMES = { fresh: 5, again: 1 };
/** Where hail falls: the box of the points. */
const BOX = { south: 28, north: 46, west: -105, east: -85 };
/**
 * GET /v1/hail/history of 365 days around points that were never asked before, and again: of a service that has just started,
 * and of one that has what was asked for in memory. `--data` is a compacted climate root. `--postgres URL` puts the same rows
 * into PostGIS and asks it the same, in the same order.
 */
export async function history(args: string[]): Promise<void> {
  const { data, postgres } = options(args);
  const root = data ?? (await simulatedSeason());
  const catalog = await openCatalog(root, 0);
  const engine = await openEngine(root);
  try {
    const points = pointsOf(2 * POINTS);
    await describe(root, catalog, engine, data === undefined);
    const ours = await ourTimings(root, catalog, points);
    if (postgres === undefined) console.log('  PostGIS: no server given (--postgres URL), not measured');
    else await peer(postgres, catalog, points, ours);
  } finally {
    await engine.close();
    await catalog.close();
    if (data === undefined) await rm(root, { recursive: true, force: true });
  }
}

function options(args: string[]): { data?: string; postgres?: string } {
  const command = new Command('history')
    .option(
      '--data <folder>',
      'data root with a year of compacted climate (npm run bench -- climate --out … --years 1 --density 4)',
    )
    .option('--postgres <url>', 'server with PostGIS to compare with');
  return command.parse(args, { from: 'user' }).opts();
}

function datesOf(catalog: Catalog): { first: string; last: string } {
  const last = catalog.edition().dates.at(-1);
  if (last === undefined) throw new UsageError('--data holds no published date, expected a compacted climate root');
  return { first: addDays(last, 1 - DAYS), last };
}

async function describe(root: string, catalog: Catalog, engine: Engine, isDemo: boolean): Promise<void> {
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
      `${paths.length} files, ${(bytes / 1e6).toFixed(0)} MB${isDemo ? ' (a simulated season; give --data for a year)' : ` of ${root}`}`,
  );
}

/** Asks the service as a client does, charges included. */
async function ourTimings(root: string, catalog: Catalog, points: readonly Position[]): Promise<Timing[]> {
  const now_ms = stormDateStart(addDays(datesOf(catalog).last, 1), 0) - 1;
  const service = await startService({
    endpoints: [getHailHistory],
    data_root: root,
    now_ms,
    app: { check_replies: 'sample' },
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
    console.log(
      `  what was asked for is in memory ${((performance.now() - since) / 1000).toFixed(1)} s later: ${(files.bytes() / 1e6).toFixed(0)} MB`,
    );
    const timings = await measured(asking, points.slice(POINTS));
    for (const [index, { radius_km, goal_ms }] of GOALS.entries())
      console.log(`  ${radius_km} km: ${shown(timings[index] as Timing)} (goal: median under ${goal_ms} ms)`);
    return timings;
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

const PEER_TABLE = 'hail_bench_rows';
/** The largest hail of each date within a radius, as somebody would write it for geography columns. */
const PEER_SQL = `
  SELECT DISTINCT ON (storm_date) storm_date, lat, lon, mm FROM ${PEER_TABLE}
  WHERE ST_DWithin(place, ST_SetSRID(ST_MakePoint($2, $1), 4326)::geography, $3)
  ORDER BY storm_date DESC, mm DESC LIMIT ${LIMIT}`;

/** What somebody might keep in the server: every detection, or of each date and pixel the largest. */
function peerRows(catalog: Catalog) {
  const edition = catalog.edition();
  const { first, last } = datesOf(catalog);
  const rows = (size: string, paths: readonly string[]) =>
    `SELECT storm_date, lat, lon, ${size} AS mm FROM read_parquet(${sqlList(paths)}, hive_partitioning = false)
     WHERE storm_date BETWEEN DATE '${first}' AND DATE '${last}' AND ${size} >= ${DETECTION_MIN_MM}`;
  return [
    { what: 'day maxima', query: `${rows('max_mm', edition.dayMaxPaths(first, last))} AND NOT interpolated` },
    {
      what: 'detections',
      query: rows('estimated_size_mm', edition.paths(detections.name, edition.datesBetween(first, last))),
    },
  ];
}

async function peer(
  url: string,
  catalog: Catalog,
  points: readonly Position[],
  ours: readonly Timing[],
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query(`SELECT 1 FROM pg_available_extensions WHERE name = 'postgis'`);
    if (rowCount === 0) return console.log('  PostGIS: the server does not have it, not measured');
    for (const { what, query } of peerRows(catalog)) {
      await load(client, url, query);
      const facts = await client.query<{ bytes: string; rows: string }>(
        `SELECT pg_total_relation_size('${PEER_TABLE}') AS bytes, count(*) AS rows FROM ${PEER_TABLE}`,
      );
      const asking = async ({ lat, lon }: Position, radius_km: number) =>
        (await client.query(PEER_SQL, [lat, lon, radius_km * 1000])).rows;
      await measured(asking, points.slice(0, POINTS));
      const theirs = await measured(asking, points.slice(POINTS));
      const { bytes, rows } = facts.rows[0] as { bytes: string; rows: string };
      console.log(
        `  PostGIS over ${rows} ${what}, geography with a GiST index, ${(Number(bytes) / 1e6).toFixed(0)} MB:`,
      );
      for (const [index, { radius_km }] of GOALS.entries()) {
        const [their, our] = [theirs[index] as Timing, ours[index] as Timing];
        console.log(
          `  ${radius_km} km: ${shown(their)}; ours is ${(their.median_ms / our.median_ms).toFixed(1)} times as fast on ` +
            `new points (goal ${GOAL_TIMES.fresh}), ${(their.again_ms / our.again_ms).toFixed(1)} times on repeated ones (goal ${GOAL_TIMES.again})`,
        );
      }
    }
  } finally {
    await client.query(`DROP TABLE IF EXISTS ${PEER_TABLE}`);
    await client.end();
  }
}

/** Copies the rows of a query into the server. */
async function load(client: pg.Client, url: string, query: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-postgis-'));
  const csv = join(folder, 'rows.csv');
  const writer = await openWriter(folder);
  try {
    await writer.connection.run(`COPY (${query}) TO ${sqlText(csv)} (FORMAT csv, HEADER false)`);
    await client.query('CREATE EXTENSION IF NOT EXISTS postgis');
    await client.query(`DROP TABLE IF EXISTS ${PEER_TABLE}`);
    await client.query(
      `CREATE TABLE ${PEER_TABLE} (storm_date date, lat double precision, lon double precision, mm double precision,
       place geography(Point, 4326) GENERATED ALWAYS AS (ST_SetSRID(ST_MakePoint(lon, lat), 4326)::geography) STORED)`,
    );
    await copyIn(url, csv);
    await client.query(`CREATE INDEX ON ${PEER_TABLE} USING gist (place)`);
    await client.query(`VACUUM ANALYZE ${PEER_TABLE}`);
  } finally {
    writer.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function copyIn(url: string, csv: string): Promise<void> {
  const sql = `\\copy ${PEER_TABLE} (storm_date, lat, lon, mm) FROM '${csv}' WITH (FORMAT csv)`;
  const psql = spawn('psql', ['--quiet', '--no-psqlrc', '--dbname', url, '--command', sql], { stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve, reject) => psql.on('error', reject).on('close', resolve));
  if (code !== 0) throw new Error(`psql ended with ${code}, expected 0`);
}
