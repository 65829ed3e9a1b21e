import type { Warning } from '../../schemas/tables/warnings.ts';

/** Messages of one event follow each other within hours; event numbers start again every year. */
const SAME_EVENT_MS = 2 * 86_400_000;
/** VTEC actions that end an event: cancelled, expired, upgraded to another. */
const ENDING_ACTIONS: ReadonlySet<string> = new Set(['CAN', 'EXP', 'UPG']);

/**
 * Warnings in force at an instant, newest first: sent and not yet expired, not cancelled, and not replaced by a later message.
 *
 * A message replaces those that it names, and all earlier ones of its event. One message of an event may cancel a part of the
 * area while another of the same minute continues the rest, so an ending never takes a message of its own minute with it.
 */
export function warningsInForce(messages: readonly Warning[], at_ms: number): Warning[] {
  const sent = messages.filter(({ issued_at }) => issued_at <= at_ms);
  const named = new Set(
    sent.flatMap(({ warning_id, replaces }) => replaces.split(' ').filter((id) => id !== warning_id)),
  );
  const times = timesOfEvents(sent);
  return sent
    .filter((message) => message.expires_at > at_ms && !isEnding(message) && !named.has(message.warning_id))
    .filter(
      (message) => message.vtec_event === null || !isReplaced(message, times.get(message.vtec_event) as Float64Array),
    )
    .sort((a, b) => b.issued_at - a.issued_at || (a.warning_id < b.warning_id ? -1 : 1));
}

/** True for a message that says that its event is over. */
export function isEnding({ message_type, vtec_action }: Warning): boolean {
  return message_type === 'Cancel' || ENDING_ACTIONS.has(vtec_action ?? '');
}

/** Times of the messages of each event, ascending. */
function timesOfEvents(messages: readonly Warning[]): Map<string, Float64Array> {
  const events = Map.groupBy(
    messages.filter(({ vtec_event }) => vtec_event !== null),
    ({ vtec_event }) => vtec_event as string,
  );
  return new Map(
    [...events].map(([event, of]) => [event, Float64Array.from(of, ({ issued_at }) => issued_at).sort()] as const),
  );
}

/** True when a later message of the event follows; `times` ascend. */
function isReplaced({ issued_at }: Warning, times: Float64Array): boolean {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) > issued_at) high = middle;
    else low = middle + 1;
  }
  return low < times.length && (times[low] as number) - issued_at <= SAME_EVENT_MS;
}
