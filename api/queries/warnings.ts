import { LRUCache } from 'lru-cache';
import { boxAround } from '../../schemas/geo/around.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { type Warning, type Watch, warnings, watches } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, monthOf, utcDate } from '../../schemas/time.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { memoize } from '../published/memoize.ts';
import { boxesMeet, type HasGeometry, isWithin, polygonsOf } from '../rules/areas.ts';
import { type WarningSpan, warningSpans, warningsInForce, warningsSince } from '../rules/warnings-in-force.ts';
import { watchBox, watchPolygons } from '../rules/watch-area.ts';
import { FILES, selectList } from './sql.ts';

/** Asks for warnings in a circle. */
interface WarningsQuestion extends Position {
  readonly radius_km: number;
  /** Warnings in force since this time, epoch milliseconds; null: only those in force now. */
  readonly since_ms: number | null;
  readonly now_ms: number;
}

const WARNING_COLUMNS = [
  'warning_id',
  'event',
  'message_type',
  'severity',
  'headline',
  'issued_at',
  'expires_at',
  'tornado_detection',
  'vtec_action',
  'vtec_event',
  'replaces',
  'geometry',
  'west',
  'south',
  'east',
  'north',
  'data_source',
] as const satisfies readonly (keyof Warning)[];
const WATCH_COLUMNS = [
  'watch_id',
  'type',
  'number',
  'issued_at',
  'begins_at',
  'expires_at',
  'headline',
  'areas',
  'watch_probability_pct',
  'is_cancelled',
  'geometry',
  'west',
  'south',
  'east',
  'north',
  'data_source',
  'is_current',
] as const satisfies readonly (keyof Watch)[];

type WarningRow = Pick<Warning, (typeof WARNING_COLUMNS)[number]>;
export type PlacedWarning = WarningRow & HasGeometry;
export type WatchRow = Pick<Watch, (typeof WATCH_COLUMNS)[number]>;

const messagesSql = (select: string, order: string) =>
  `SELECT ${select} FROM ${FILES} WHERE issued_at >= epoch_ms($2::BIGINT) ORDER BY ${order}`;
const WARNINGS_SQL = messagesSql(selectList(warnings, WARNING_COLUMNS), warnings.order);
const WATCHES_SQL = messagesSql(selectList(watches, WATCH_COLUMNS), watches.order);

/**
 * By paths and oldest message: those of the moment, of a look-back, and one of each that was just replaced. Whether a message is in
 * force depends on all others of the time, so a question alone would read and compare thousands.
 */
const VALUES_MAX = 4;
const spans = new LRUCache<string, Promise<readonly WarningSpan<WarningRow>[]>>({ max: VALUES_MAX });
const currentWatches = new LRUCache<string, Promise<readonly WatchRow[]>>({ max: VALUES_MAX });

/** Messages are read this far back: a warning in force was issued, and replaced, within two days. */
const REACH_MS = 2 * MS_PER_DAY;
/** Warnings in force now and a history of a day need only the last days: a small part of a month in May. */
const RECENT_MS = REACH_MS + MS_PER_DAY;

/** Warnings whose polygon holds the point or comes near enough, newest first, and how many could not be placed. */
export async function warningsAround(
  engine: Queries,
  collection: CollectionEdition,
  question: WarningsQuestion,
): Promise<{
  readonly found: { readonly warning: PlacedWarning; readonly end_ms: number }[];
  readonly unplaced: number;
}> {
  const { since_ms, now_ms, radius_km } = question;
  const reach = boxAround(question, radius_km);
  const near = (await spansOf(engine, collection, question)).filter(({ message }) => isBoxNear(message, reach));
  const asked =
    since_ms === null
      ? warningsInForce(near, now_ms).map((message) => ({ message, end_ms: message.expires_at }))
      : warningsSince(near, since_ms, now_ms);
  const placed = asked.flatMap(({ message, end_ms }) => (hasGeometry(message) ? [{ warning: message, end_ms }] : []));
  return {
    found: placed.filter(({ warning }) => isWithin(polygonsOf(warning), question, radius_km)),
    unplaced: asked.length - placed.length,
  };
}

/**
 * Watches and discussions around a point, newest first. A cancellation of a watch of which nothing else is known says neither
 * where nor when it was in force, so it is left out.
 */
export async function watchesAround(
  engine: Queries,
  collection: CollectionEdition,
  question: WarningsQuestion,
): Promise<WatchRow[]> {
  const { since_ms, now_ms } = question;
  const all = await watchesOf(engine, collection, question);
  const reach = boxAround(question, question.radius_km);
  return all
    .filter(
      ({ issued_at, expires_at, is_cancelled }) =>
        issued_at <= now_ms && (since_ms === null ? expires_at > now_ms && !is_cancelled : expires_at > since_ms),
    )
    .filter((watch) => !watch.is_cancelled || watch.geometry !== null || watch.areas !== null)
    .filter((watch) => boxesMeet(watchBox(watch), reach))
    .filter((watch) => isWithin(watchPolygons(watch), question, question.radius_km));
}

async function spansOf(engine: Queries, collection: CollectionEdition, question: WarningsQuestion) {
  const { paths, from_ms, key } = reachOf(collection, question);
  if (paths.length === 0) return [];
  return memoize(spans, key, async () => warningSpans(await engine.rows<WarningRow>(WARNINGS_SQL, [paths, from_ms])));
}

async function watchesOf(engine: Queries, collection: CollectionEdition, question: WarningsQuestion) {
  const { paths, from_ms, key } = reachOf(collection, question);
  if (paths.length === 0) return [];
  return memoize(currentWatches, key, async () => {
    const rows = await engine.rows<WatchRow>(WATCHES_SQL, [paths, from_ms]);
    return rows
      .filter(({ is_current }) => is_current)
      .sort((a, b) => b.issued_at - a.issued_at || (a.watch_id < b.watch_id ? -1 : 1));
  });
}

/**
 * Files from the month of the oldest message that may matter to that of the question, and the day from which on their rows are read;
 * for a longer history all rows of its months.
 */
function reachOf({ paths }: CollectionEdition, { since_ms, now_ms }: WarningsQuestion) {
  const oldest_ms = (since_ms ?? now_ms) - REACH_MS;
  const recent_ms = Math.floor((now_ms - RECENT_MS) / MS_PER_DAY) * MS_PER_DAY;
  const files = paths(monthAt(oldest_ms), monthAt(now_ms));
  const from_ms = oldest_ms >= recent_ms ? recent_ms : 0;
  return { paths: files, from_ms, key: `${files.join('\n')} ${from_ms}` };
}

function monthAt(time_ms: number): string {
  return monthOf(utcDate(time_ms));
}

function hasGeometry(row: WarningRow): row is PlacedWarning {
  return row.geometry !== null;
}

/** False when the box of a row shows that it is too far away; a row without a polygon has no box, and may be anywhere. */
function isBoxNear({ west, south, east, north }: WarningRow, reach: Bbox): boolean {
  if (west === null || south === null || east === null || north === null) return true;
  return west <= reach[2] && east >= reach[0] && south <= reach[3] && north >= reach[1];
}
