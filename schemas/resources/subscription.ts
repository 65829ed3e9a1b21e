import { z } from 'zod';
import { Alert } from './alert.ts';
import * as wire from './fields.ts';

const SUBSCRIPTION_STATUSES = ['active', 'paused'] as const;

/** Limits of a subscription's parameters; a longer name is cut. */
export const SUBSCRIPTION_LIMITS = {
  radius_km: { min: 1, max: 100, default: 25 },
  min_size_mm: { min: 10, max: 200, default: 25 },
  name: 100,
} as const;
/** Alerts in the detail of a subscription. */
export const RECENT_ALERTS = 20;

const id = z.string().meta({ description: 'Identifier, `sub_` and a ULID.' });
const status = z.enum(SUBSCRIPTION_STATUSES).meta({ description: 'Nothing is raised or sent while it is paused.' });

const circle = {
  id,
  name: z.string().meta({ description: 'Label; empty when none was given.' }),
  lat: wire.lat('Latitude of the centre, 5 decimals.'),
  lon: wire.lon('Longitude of the centre, 5 decimals.'),
  radius_km: wire.km('Radius within which hail counts.'),
  min_size_mm: wire.mm('Size from which hail counts.'),
  webhook_url: z.string().meta({ description: 'Where events are sent, https.' }),
};

/** A circle whose hail raises alerts. */
export const Subscription = wire.resource('Subscription', {
  ...circle,
  status,
  trigger_count: wire.count('Alerts raised so far.'),
  created_at: wire.written('When it was made.'),
  last_triggered_at: wire.time('First detection of the last alert; null before the first.').nullable(),
});
export type Subscription = z.infer<typeof Subscription>;

export const SubscriptionDetail = Subscription.extend({
  recent_alerts: z.array(Alert).meta({ description: `The last ${RECENT_ALERTS} alerts, newest first.` }),
}).meta({ id: 'SubscriptionDetail' });

export const Subscriptions = wire.resource('Subscriptions', {
  subscriptions: z.array(Subscription).meta({ description: 'Oldest first.' }),
  count: wire.pageCount,
  next_cursor: wire.nextCursor,
});

export const SubscriptionCreated = wire.resource('SubscriptionCreated', {
  ...circle,
  webhook_secret: z.string().meta({ description: '`whsec_` and base64 of 32 bytes. Shown this once.' }),
  status,
});

export const SubscriptionDeleted = wire.resource('SubscriptionDeleted', { success: z.literal(true) });

const { radius_km, min_size_mm } = SUBSCRIPTION_LIMITS;
const NAME = `Label, cut after ${SUBSCRIPTION_LIMITS.name} characters.`;
const text = z.string().transform((given) => [...given].slice(0, SUBSCRIPTION_LIMITS.name).join(''));
const radius = z.number().min(radius_km.min).max(radius_km.max);
const size = z.number().min(min_size_mm.min).max(min_size_mm.max);
const SIZE = 'Size from which hail counts, mm.';

/** The two names of the threshold. */
const threshold = {
  min_size_mm: size.optional().meta({ description: SIZE, unit: 'mm' }),
  min_mesh_mm: size.optional().meta({ description: 'The same by its older name.', unit: 'mm' }),
};

interface Threshold {
  readonly min_size_mm?: number | undefined;
  readonly min_mesh_mm?: number | undefined;
}

/** The threshold under whichever name it was given; undefined without any. */
export function thresholdOf(body: Threshold): number | undefined {
  return body.min_size_mm ?? body.min_mesh_mm;
}

const agrees = (body: Threshold) =>
  body.min_size_mm === undefined || body.min_mesh_mm === undefined || body.min_size_mm === body.min_mesh_mm;
const DISAGREES = { error: 'differs from min_size_mm, expected one of the two', path: ['min_mesh_mm'] };

export const SubscriptionCreation = z
  .object({
    lat: wire.bodyLat('Latitude of the centre, WGS84.'),
    lon: wire.bodyLon('Longitude of the centre, WGS84.'),
    webhook_url: z.string().meta({ description: 'Where events are sent, https, of a public host.' }),
    radius_km: radius.default(radius_km.default).meta({ description: 'Radius within which hail counts.', unit: 'km' }),
    ...threshold,
    name: text.default('').meta({ description: NAME }),
  })
  .refine(agrees, DISAGREES)
  .meta({ id: 'SubscriptionCreation' });

export const SubscriptionUpdate = z
  .object({
    name: text
      .refine((name) => name.trim() !== '', { error: 'is blank, expected a name' })
      .optional()
      .meta({ description: NAME }),
    radius_km: radius.optional().meta({ description: 'Radius within which hail counts.', unit: 'km' }),
    ...threshold,
    webhook_url: z
      .string()
      .optional()
      .meta({ description: 'New address; events that are being retried go there too.' }),
    status: status.optional(),
  })
  .refine(agrees, DISAGREES)
  .meta({ id: 'SubscriptionUpdate' });

const EXAMPLE_ID = 'sub_01KAJ3W9QZ6R8V2T4X5Y7A9B0C';

const EXAMPLE_CIRCLE = {
  id: EXAMPLE_ID,
  name: 'Depot',
  lat: 35.4676,
  lon: -97.5164,
  radius_km: 25,
  min_size_mm: 25,
  webhook_url: 'https://hooks.example.com/hail',
};

export const SUBSCRIPTION_EXAMPLE: Subscription = {
  ...EXAMPLE_CIRCLE,
  status: 'active',
  trigger_count: 3,
  created_at: '2026-05-01T17:20:11.030Z',
  last_triggered_at: '2026-05-01T20:12:00Z',
};

export const LIST_ALERTS_EXAMPLE: wire.Example<typeof Subscriptions> = {
  query: { limit: '1' },
  reply: { subscriptions: [SUBSCRIPTION_EXAMPLE], count: 1, next_cursor: EXAMPLE_ID },
};

export const CREATE_ALERT_EXAMPLE: wire.Example<typeof SubscriptionCreated> = {
  body: { lat: 35.4676, lon: -97.5164, webhook_url: 'https://hooks.example.com/hail', name: 'Depot' },
  reply: {
    ...EXAMPLE_CIRCLE,
    webhook_secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=',
    status: 'active',
  },
};

export const GET_ALERT_EXAMPLE: wire.Example<typeof SubscriptionDetail> = {
  reply: {
    ...SUBSCRIPTION_EXAMPLE,
    recent_alerts: [
      {
        alert_id: 'alt_01KAJ4D2M8N6P4R2T0V8X6Z4B2',
        status: 'resolved',
        threat_level: 'CLEAR',
        triggered_at: '2026-05-01T20:12:00Z',
        resolved_at: '2026-05-01T20:58:00Z',
        estimated_size_mm: 31.4,
        max_size_mm: 44.2,
        confidence: 0.71,
        location: { lat: 35.445, lon: -97.505 },
        track_id: '20260501-2h9x0c1k4m7pq',
      },
    ],
  },
};
