import type { z } from 'zod';
import type { Table } from '../../schemas/columns.ts';
import { boxAround } from '../../schemas/geo/around.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { endsWarning, type Warning, type Watch, warnings, watches } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, monthOf, utcDate } from '../../schemas/time.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { boxesMeet, type HasGeometry, isWithin, polygonsOf } from '../rules/areas.ts';
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

/** Messages of one event follow each other within hours; event numbers start again every year. */
const SAME_EVENT_MS = 2 * 86_400_000;

/** Fields of a message that decide how long it is in force. */
type WarningMessage = Pick<
  Warning,
  'warning_id' | 'message_type' | 'issued_at' | 'expires_at' | 'vtec_action' | 'vtec_event' | 'replaces'
>;

/** A warning message with the times at which later messages end it; epoch milliseconds, Infinity where none does. */
export interface WarningSpan<Message extends WarningMessage = WarningMessage> {
  readonly message: Message;
  /** When a message that continues the warning replaced it. */
  readonly replaced_ms: number;
  /** When a message ended its event. */
  readonly ended_ms: number;
}

/**
 * The warning messages, newest first, each with the times at which it is replaced and ended. Does not depend on the clock.
 *
 * A message takes the place of those that it names, and of all earlier ones of its event. One message of an event may cancel a
 * part of the area while another of the same minute continues the rest, so no message takes the place of one of its own minute.
 */
export function warningSpans<Message extends WarningMessage>(messages: readonly Message[]): WarningSpan<Message>[] {
  const warning = successorsOf(messages.filter((message) => !endsWarning(message)));
  const ending = successorsOf(messages.filter(endsWarning));
  return messages
    .filter((message) => !endsWarning(message))
    .sort((a, b) => b.issued_at - a.issued_at || (a.warning_id < b.warning_id ? -1 : 1))
    .map((message) => ({ message, replaced_ms: warning(message), ended_ms: ending(message) }));
}

/** Warnings in force at an instant, in the order of the spans: sent and not yet expired, not cancelled, and not replaced. */
export function warningsInForce<Message extends WarningMessage>(
  spans: readonly WarningSpan<Message>[],
  at_ms: number,
): Message[] {
  return spans
    .filter(({ message, replaced_ms, ended_ms }) => {
      const { issued_at, expires_at } = message;
      return issued_at <= at_ms && at_ms < Math.min(expires_at, replaced_ms, ended_ms);
    })
    .map(({ message }) => message);
}

/**
 * Warnings that were in force at some time after `since_ms`, as known at `at_ms`, in the order of the spans. Each is its last
 * message, with the time of its end, epoch milliseconds; one that was cancelled ended at its cancellation.
 */
export function warningsSince<Message extends WarningMessage>(
  spans: readonly WarningSpan<Message>[],
  since_ms: number,
  at_ms: number,
): { readonly message: Message; readonly end_ms: number }[] {
  return spans
    .filter(({ message, replaced_ms }) => message.issued_at <= at_ms && replaced_ms > at_ms)
    .map(({ message, ended_ms }) => ({
      message,
      end_ms: Math.min(message.expires_at, ended_ms <= at_ms ? ended_ms : Number.POSITIVE_INFINITY),
    }))
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
