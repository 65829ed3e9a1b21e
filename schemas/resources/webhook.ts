import { z } from 'zod';
import { ANY_EVENT_TYPES, EVENT_TYPES } from '../webhook-events.ts';
import * as wire from './fields.ts';

const WEBHOOK_STATUSES = ['active', 'paused', 'disabled'] as const;
/** Longest address of a receiver, characters. */
export const URL_LENGTH_MAX = 2048;

const id = z.string().meta({ description: 'Identifier, `wh_` and a ULID.' });
const url = z.string().meta({ description: 'Where events are sent, https.' });
const status = z.enum(WEBHOOK_STATUSES).meta({
  description: '`disabled`: given up after ten distinct events in a row whose delivery failed.',
});
const events = z.array(z.enum(EVENT_TYPES));

/** A subset of the event types, each once. */
const wantedEvents = events
  .min(1)
  .transform((types) => EVENT_TYPES.filter((type) => types.includes(type)))
  .meta({ description: 'Event types to send; every type when left out.' });

/** Endpoint that receives events of a business. */
export const Webhook = wire.resource('Webhook', {
  id,
  url,
  secret: z.string().meta({ description: 'Masked, its last four characters shown.' }),
  events: z
    .array(z.enum(ANY_EVENT_TYPES))
    .meta({ description: 'Event types that are sent; those of the earlier variant where it was made there.' }),
  status,
  success_count: wire.count('Attempts that were answered with 2xx.'),
  failure_count: wire.count('Attempts that failed.'),
  consecutive_failures: wire.count('Distinct events in a row whose first attempt failed.'),
});
export type Webhook = z.infer<typeof Webhook>;

export const Webhooks = wire.resource('Webhooks', {
  webhooks: z.array(Webhook).meta({ description: 'Oldest first.' }),
  count: wire.count('Webhooks of the business.'),
});

export const WebhookCreation = wire.resource('WebhookCreation', {
  url: z.string().meta({ description: `Address, https, at most ${URL_LENGTH_MAX} characters, of a public host.` }),
  events: wantedEvents.nullish(),
});

export const WebhookCreated = wire.resource('WebhookCreated', {
  webhook_id: id,
  secret: z.string().meta({ description: '`whsec_` and base64 of 32 bytes. Shown this once.' }),
  url,
  events: events.meta({ description: 'Event types that are sent.' }),
  status,
});

export const WebhookUpdate = wire.resource('WebhookUpdate', {
  url: z.string().optional().meta({ description: 'New address; events that are being retried go there too.' }),
  events: wantedEvents.optional(),
  status: z
    .enum(WEBHOOK_STATUSES)
    .optional()
    .meta({ description: '`active` resets the count of failures in a row; the others drop what is being retried.' }),
});

export const WebhookUpdated = wire.resource('WebhookUpdated', {
  success: z.literal(true),
  updated: z
    .array(z.enum(['url', 'events', 'status']))
    .meta({ description: 'Fields that were sent, also where they changed nothing.' }),
});

export const WebhookDeleted = wire.resource('WebhookDeleted', { success: z.literal(true) });

export const WebhookTest = wire.resource('WebhookTest', {
  event: z.enum(EVENT_TYPES).nullish().meta({ description: 'Type to send; `alert.created` when left out.' }),
});

export const WebhookTested = wire.resource('WebhookTested', {
  success: z.boolean().meta({ description: 'The answer was 2xx.' }),
  status_code: z.int().nullable().meta({ description: 'Status of the answer; null when there was none.' }),
  delivery_id: z.string().meta({ description: '`whd_` and the ULID of the event.' }),
  error: z.literal('webhook_unreachable').optional().meta({ description: 'Present when nothing answered.' }),
  message: z.string().optional().meta({ description: 'Present when nothing answered: why, for people.' }),
});

const EXAMPLE_ID = 'wh_01KAJ3W9QZ6R8V2T4X5Y7A9B0C';

const EXAMPLE_URL = 'https://hooks.example.com/hail';

export const WEBHOOK_EXAMPLE: Webhook = {
  id: EXAMPLE_ID,
  url: EXAMPLE_URL,
  secret: 'whsec_****b3Y=',
  events: ['alert.created', 'alert.resolved'],
  status: 'active',
  success_count: 41,
  failure_count: 2,
  consecutive_failures: 0,
};

export const CREATE_WEBHOOK_EXAMPLE: wire.Example<typeof WebhookCreated> = {
  body: { url: EXAMPLE_URL, events: ['alert.created', 'alert.resolved'] },
  reply: {
    webhook_id: EXAMPLE_ID,
    secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=',
    url: EXAMPLE_URL,
    events: ['alert.created', 'alert.resolved'],
    status: 'active',
  },
};

export const TEST_WEBHOOK_EXAMPLE: wire.Example<typeof WebhookTested> = {
  body: { event: 'alert.resolved' },
  reply: { success: true, status_code: 200, delivery_id: 'whd_01KAJ4D2M8N6P4R2T0V8X6Z4B2' },
};

/** Reasons of a failed attempt as clients see them; a refused address counts as `connect`. */
const DELIVERY_ERRORS = ['dns', 'connect', 'tls', 'timeout', 'http_status'] as const;

/** An attempt to deliver an event. */
export const Delivery = wire.resource('Delivery', {
  id: z.string().meta({ description: '`whd_` and a ULID, for the first attempt that of the event.' }),
  event_id: z.string().meta({ description: '`evt_` and a ULID: the `id` of the body.' }),
  event: z.enum(ANY_EVENT_TYPES),
  attempt: wire.count('1 for the first.'),
  status_code: z.int().nullable().meta({ description: 'Status of the answer; null when there was none.' }),
  success: z.boolean().meta({ description: 'The answer was 2xx.' }),
  error: z.enum(DELIVERY_ERRORS).nullable().meta({ description: 'Why it failed; null when it did not.' }),
  redelivered_from: z.string().nullable().meta({ description: 'Delivery that this repeats on request; else null.' }),
  duration_ms: z.int().nonnegative().meta({ description: 'From the look-up of the host to the answer.', unit: 'ms' }),
  next_retry_at: wire.time('When the next attempt is due; null when there is none.').nullable(),
  created_at: wire.written('When the attempt began.'),
});
export type Delivery = z.infer<typeof Delivery>;

export const Deliveries = wire.resource('Deliveries', {
  deliveries: z.array(Delivery).meta({ description: 'Newest first; the last 100 are kept.' }),
  count: wire.count('Deliveries on this page.'),
  next_cursor: z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' }),
});

export const Redelivered = wire.resource('Redelivered', {
  success: z.boolean().meta({ description: 'The answer was 2xx.' }),
  status_code: z.int().nullable().meta({ description: 'Status of the answer; null when there was none.' }),
  delivery_id: z.string().meta({ description: 'The new delivery.' }),
  redelivered_from: z.string().meta({ description: 'The delivery that was repeated.' }),
});

export const DELIVERIES_EXAMPLE: wire.Example<typeof Deliveries> = {
  query: { limit: '1' },
  reply: {
    deliveries: [
      {
        id: 'whd_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
        event_id: 'evt_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
        event: 'alert.created',
        attempt: 1,
        status_code: 503,
        success: false,
        error: 'http_status',
        redelivered_from: null,
        duration_ms: 212,
        next_retry_at: '2026-05-01T20:13:31Z',
        created_at: '2026-05-01T20:13:21.200Z',
      },
    ],
    count: 1,
    next_cursor: 'whd_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
  },
};

export const REDELIVER_EXAMPLE: wire.Example<typeof Redelivered> = {
  reply: {
    success: true,
    status_code: 200,
    delivery_id: 'whd_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
    redelivered_from: 'whd_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  },
};
