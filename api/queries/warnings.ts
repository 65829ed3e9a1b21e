import type { z } from 'zod';
import type { Table } from '../../schemas/columns.ts';
import { boxAround } from '../../schemas/geo/around.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { type Warning, type Watch, warnings, watches } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, monthOf, utcDate } from '../../schemas/time.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { boxesMeet, type HasGeometry, isWithin, polygonsOf } from '../rules/areas.ts';
import { warningSpans, warningsInForce, warningsSince } from '../rules/warnings-in-force.ts';
import { watchBox, watchPolygons } from '../rules/watch-area.ts';
import { readTable } from './sql.ts';

/** Asks for warnings in a circle. */
interface WarningsQuestion extends Position {
  readonly radius_km: number;
  /** Warnings in force since this time, epoch milliseconds; null: only those in force now. */
  readonly since_ms: number | null;
  readonly now_ms: number;
}

export type PlacedWarning = Warning & HasGeometry;

/** Messages are read this far back: a warning in force was issued, and replaced, within two days. */
const REACH_MS = 2 * MS_PER_DAY;

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
  const messages = await messagesOf(engine, warnings, collection, question, warnings.order);
  const near = warningSpans(messages).filter(({ message }) => isBoxNear(message, reach));
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
): Promise<Watch[]> {
  const { since_ms, now_ms } = question;
  const reach = boxAround(question, question.radius_km);
  return (await messagesOf(engine, watches, collection, question, 'issued_at DESC, watch_id'))
    .filter(
      ({ is_current, issued_at, expires_at, is_cancelled }) =>
        is_current &&
        issued_at <= now_ms &&
        (since_ms === null ? expires_at > now_ms && !is_cancelled : expires_at > since_ms),
    )
    .filter((watch) => !watch.is_cancelled || watch.geometry !== null || watch.areas !== null)
    .filter((watch) => boxesMeet(watchBox(watch), reach))
    .filter((watch) => isWithin(watchPolygons(watch), question, question.radius_km));
}

/** Messages that may matter to a question: whether one is in force depends on all others of the time. */
function messagesOf<Row extends z.ZodObject>(
  engine: Queries,
  table: Table<Row>,
  { paths }: CollectionEdition,
  { since_ms, now_ms }: WarningsQuestion,
  order: string,
): Promise<z.infer<Row>[]> {
  const oldest_ms = (since_ms ?? now_ms) - REACH_MS;
  const files = paths(monthOf(utcDate(oldest_ms)), monthOf(utcDate(now_ms)));
  const rest = `WHERE issued_at >= epoch_ms($2::BIGINT) ORDER BY ${order}`;
  return readTable(engine, table, files, rest, [Math.floor(oldest_ms)]);
}

function hasGeometry(row: Warning): row is PlacedWarning {
  return row.geometry !== null;
}

/** False when the box of a row shows that it is too far away; a row without a polygon has no box, and may be anywhere. */
function isBoxNear({ west, south, east, north }: Warning, reach: Bbox): boolean {
  if (west === null || south === null || east === null || north === null) return true;
  return boxesMeet([west, south, east, north], reach);
}
