import { z } from 'zod';
import { EARLIER_EVENT_TYPES } from '../webhook-events.ts';
import { WebhookCreated, WebhookCreation, WebhookUpdate } from './webhook.ts';

const events = z.array(z.enum(EARLIER_EVENT_TYPES));

/** A subset of the event types of the earlier variant, each once. */
const wantedEvents = events
  .min(1)
  .transform((types) => EARLIER_EVENT_TYPES.filter((type) => types.includes(type)))
  .meta({ description: 'Event types to send; every type when left out.' });

export const EarlierWebhookCreation = WebhookCreation.extend({ events: wantedEvents.nullish() });
export const EarlierWebhookUpdate = WebhookUpdate.extend({ events: wantedEvents.optional() });
export const EarlierWebhookCreated = WebhookCreated.extend({
  events: events.meta({ description: 'Event types that are sent.' }),
});

export const EarlierWebhookTest = z.object({
  event: z.enum(EARLIER_EVENT_TYPES).nullish().meta({ description: 'Type to send; `alert.created` when left out.' }),
});
