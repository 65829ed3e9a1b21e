import { z } from 'zod';
import { ANY_EVENT_TYPES } from '../webhook-events.ts';
import type { Example } from './example.ts';
import * as wire from './fields.ts';

/** Reasons of a failed attempt as clients see them; a refused address counts as `connect`. */
export const DELIVERY_ERRORS = ['dns', 'connect', 'tls', 'timeout', 'http_status'] as const;

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

export const DELIVERIES_EXAMPLE: Example<typeof Deliveries> = {
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

export const REDELIVER_EXAMPLE: Example<typeof Redelivered> = {
  reply: {
    success: true,
    status_code: 200,
    delivery_id: 'whd_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
    redelivered_from: 'whd_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  },
};
