import { endsWarning, type Warning } from '../../schemas/tables/feeds.ts';

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
