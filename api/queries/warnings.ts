import type { z } from 'zod';
import type { Table } from '../../schemas/columns.ts';
import { boxAround } from '../../schemas/geo/around.ts';
import { type Bbox, boxesMeet, type Position } from '../../schemas/geo/position.ts';
import { endsWarning, type Warning, warnings, watches } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, monthOf, utcDate } from '../../schemas/time.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { type HasGeometry, hasGeometry, isWithin, polygonsOf } from '../rules/areas.ts';
import { watchBox, watchPolygons } from '../rules/watch-area.ts';
import { readTable } from './sql.ts';

/** Asks for warnings in a circle. `since_ms`: those in force since this time; null: only those in force now. */
type WarningsQuestion = Position &
  Readonly<Record<'radius_km' | 'now_ms', number>> & { readonly since_ms: number | null };

export type PlacedWarning = Warning & HasGeometry;

/** Messages are read this far back: a warning in force was issued, and replaced, within two days. */
const REACH_MS = 2 * MS_PER_DAY;

/** Warnings whose polygon holds the point or comes near enough, newest first, and how many could not be placed. */
export async function warningsAround(engine: Queries, collection: CollectionEdition, question: WarningsQuestion) {
  const { since_ms, now_ms, radius_km } = question;
  const reach = boxAround(question, radius_km);
  const messages = await messagesOf(engine, warnings, collection, question, warnings.order);
  const known = warningsSince(messages, since_ms ?? now_ms, now_ms);
  const asked = known.filter(({ message }) => isBoxNear(message, reach));
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
export async function watchesAround(engine: Queries, collection: CollectionEdition, question: WarningsQuestion) {
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

/** False when the box of a row shows that it is too far away; a row without a polygon has no box, and may be anywhere. */
function isBoxNear({ west, south, east, north }: Warning, reach: Bbox): boolean {
  if (west === null || south === null || east === null || north === null) return true;
  return boxesMeet([west, south, east, north], reach);
}

/** Messages of one event follow each other within hours; event numbers start again every year. */
const SAME_EVENT_MS = 2 * 86_400_000;

/** Fields of a message that decide how long it is in force. */
type WarningMessage = Pick<
  Warning,
  'warning_id' | 'message_type' | 'issued_at' | 'expires_at' | 'vtec_action' | 'vtec_event' | 'replaces'
>;

/**
 * Warnings that were in force at some time after `since_ms`, as known at `at_ms`, newest first; with both equal, those in force then.
 * Each is its last message, with the time of its end, epoch milliseconds; one that was cancelled ended at its cancellation.
 *
 * A message takes the place of those that it names, and of all earlier ones of its event. One message of an event may cancel a
 * part of the area while another of the same minute continues the rest, so no message takes the place of one of its own minute.
 */
export function warningsSince<Message extends WarningMessage>(
  messages: readonly Message[],
  since_ms: number,
  at_ms: number,
): { readonly message: Message; readonly end_ms: number }[] {
  const continuing = messages.filter((message) => !endsWarning(message));
  const [replaced, ended] = [successorsOf(continuing), successorsOf(messages.filter(endsWarning))];
  return continuing
    .filter((message) => message.issued_at <= at_ms && replaced(message) > at_ms)
    .sort((a, b) => b.issued_at - a.issued_at || (a.warning_id < b.warning_id ? -1 : 1))
    .map((message) => {
      const ended_ms = ended(message);
      return { message, end_ms: Math.min(message.expires_at, ended_ms <= at_ms ? ended_ms : Number.POSITIVE_INFINITY) };
    })
    .filter(({ message, end_ms }) => end_ms > message.issued_at && end_ms > since_ms);
}

/** Time at which the first of some messages replaces a message; Infinity when none does. */
function successorsOf(messages: readonly WarningMessage[]): (message: WarningMessage) => number {
  const named = new Map<string, number>();
  for (const { warning_id, replaces, issued_at } of messages)
    for (const id of replaces.split(' '))
      if (id !== warning_id) named.set(id, Math.min(issued_at, named.get(id) ?? Number.POSITIVE_INFINITY));
  const events = Map.groupBy(messages, ({ vtec_event }) => vtec_event);
  return ({ warning_id, vtec_event, issued_at }) => {
    const others = vtec_event === null ? [] : (events.get(vtec_event) ?? []);
    const later = others.filter((one) => one.issued_at > issued_at && one.issued_at - issued_at <= SAME_EVENT_MS);
    return Math.min(named.get(warning_id) ?? Number.POSITIVE_INFINITY, ...later.map((one) => one.issued_at));
  };
}
