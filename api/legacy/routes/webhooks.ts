import { z } from 'zod';
import { WebhookCreated, WebhookCreation, WebhookUpdate, WebhookUpdated } from '../../../schemas/resources/webhook.ts';
import { type AnyEventType, EARLIER_EVENT_TYPES, type EventType } from '../../../schemas/webhook-events.ts';
import { ApiError } from '../../http/errors.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listAttempts,
  listWebhooks,
  redeliver,
  sentFields,
  testWebhook,
  updateWebhook,
} from '../../routes/webhooks.ts';
import type { Endpoint } from '../../server/endpoint.ts';
import { parseReceiverUrl } from '../../webhooks/public-address.ts';
import { setReceiverFormat } from '../../webhooks/receivers.ts';
import { earlier, earlierOf, exampleFor } from '../endpoint.ts';

const EXAMPLE_URL = 'https://hooks.example.com/hail';

const eventTypes = z.array(z.enum(EARLIER_EVENT_TYPES));

/** A subset of the event types of the earlier variant, each once. */
const wantedEvents = eventTypes
  .min(1)
  .transform((types) => EARLIER_EVENT_TYPES.filter((type) => types.includes(type)))
  .meta({ description: 'Event types to send; every type when left out.' });

const EarlierWebhookCreation = WebhookCreation.extend({ events: wantedEvents.nullish() });
const EarlierWebhookUpdate = WebhookUpdate.extend({ events: wantedEvents.optional() });
const EarlierWebhookCreated = WebhookCreated.extend({
  events: eventTypes.meta({ description: 'Event types that are sent.' }),
});

const EarlierWebhookTest = z.object({
  event: z.enum(EARLIER_EVENT_TYPES).nullish().meta({ description: 'Type to send; `alert.created` when left out.' }),
});

/** Types of the earlier format as the current endpoints take them: these check types against the format of the webhook. */
function asCurrent(types: readonly AnyEventType[]): EventType[] {
  return types as EventType[];
}

/** POST /legacy/v1/webhooks */
const createEarlierWebhook = earlierOf(createWebhook, {
  path: '/v1/webhooks',
  body: EarlierWebhookCreation,
  reply: EarlierWebhookCreated,
  asked: { body: { url: EXAMPLE_URL, events: ['hail.detected', 'hail.cleared'] } },
  toCurrent: ({ body: { url, events } }) => ({ body: { url, events: asCurrent(events ?? EARLIER_EVENT_TYPES) } }),
  also: (rows, { webhook_id }) => setReceiverFormat(rows, webhook_id, 'legacy'),
  fromCurrent: (made, { body }) => ({ ...made, events: [...(body.events ?? EARLIER_EVENT_TYPES)] }),
  check: ({ url }) => checkAddress('/url', url),
});

/** PUT /legacy/v1/webhooks/{id} */
const updateEarlierWebhook = earlierOf(updateWebhook, {
  path: '/v1/webhooks/{id}',
  params: z.object({ id: z.string().meta({ description: 'Id of a webhook.' }) }),
  body: EarlierWebhookUpdate,
  reply: WebhookUpdated,
  asked: { body: { status: 'paused' } },
  toCurrent: ({ params, body: { events, ...rest } }) => ({
    params,
    body: { ...rest, ...(events === undefined ? {} : { events: asCurrent(events) }) },
  }),
  fromCurrent: (_, { body }) => ({ success: true as const, updated: sentFields(body) }),
  check: ({ url }) => url === undefined || checkAddress('/url', url),
});

/** The same answers in an envelope; simulated ones are the example. */
const same = (endpoint: Endpoint) => earlier({ ...endpoint, simulate: (input) => exampleFor(endpoint, input) });

/** Webhooks of the earlier variant, in the order of its documentation. */
export const EARLIER_WEBHOOKS: readonly Endpoint[] = [
  createEarlierWebhook,
  same(listWebhooks),
  same(getWebhook),
  updateEarlierWebhook,
  same(deleteWebhook),
  same({ ...testWebhook, body: EarlierWebhookTest.optional() }),
  same(listAttempts),
  same(redeliver),
];

/** Throws `bad_request` for a receiver's address that is refused on any machine; does not resolve its name. */
export function checkAddress(pointer: string, url: string): void {
  const receiver = parseReceiverUrl(url);
  if (typeof receiver === 'string') throw new ApiError('bad_request', `${pointer}: ${receiver}`);
}
