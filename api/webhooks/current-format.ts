import { EVENT_TYPES, EventBody, type EventType } from '../../schemas/webhook-events.ts';
import { isAnyHail } from '../rules/any-hail.ts';
import { retryWait } from '../rules/webhook-retry.ts';
import { SAMPLES } from './event-samples.ts';
import { type AlertEvent, alertCreated, alertResolved, bodyOf, enqueueEvent } from './events.ts';
import type { EventFormat, EventFormats } from './formats.ts';

/** Events of the current variant of the interface: each names its alert. */
const CURRENT_FORMAT: EventFormat = {
  name: 'current',
  types: EVENT_TYPES,
  samples: SAMPLES,
  encode: (event) => bodyOf({ ...event, event: event.event as EventType }),
  withId: (body, id) => {
    const { event, created_at, data } = EventBody.parse(JSON.parse(body));
    return bodyOf({ id, event, at_ms: Date.parse(created_at), data });
  },
  retryWait,
  any_hail: false,
  enqueueAlert: async (rows, outbox, { alert, step, now_ms, receiversOf }) => {
    if (isAnyHail(alert.location_id)) return;
    const event: AlertEvent = step === 'begins' ? alertCreated(alert) : alertResolved(alert);
    const { business_id, id: alert_id } = alert;
    const receivers = receiversOf(event.event);
    await enqueueEvent(rows, outbox, { business_id, alert_id, at_ms: now_ms, receivers, ...event });
  },
  ordered_by: 'id',
  stepsOf: (alert) => {
    if (isAnyHail(alert.location_id)) return [];
    return alert.resolved_at === null ? [alertCreated(alert)] : [alertCreated(alert), alertResolved(alert)];
  },
};

/** The current format and some others, by name. */
export function eventFormats(others: readonly EventFormat[]): EventFormats {
  return new Map([CURRENT_FORMAT, ...others].map((format) => [format.name, format]));
}
