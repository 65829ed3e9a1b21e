import { z } from 'zod';
import { ASSUMPTIONS } from '../../schemas/assumptions.ts';
import * as wire from '../../schemas/resources/fields.ts';
import { Health } from '../../schemas/resources/health.ts';
import { SUBSCRIPTION_LIMITS } from '../../schemas/resources/subscription.ts';
import { WebhookCreated, WebhookCreation, WebhookUpdate } from '../../schemas/resources/webhook.ts';
import { EARLIER_EVENT_TYPES } from '../../schemas/webhook-events.ts';
import { DAMAGE_ESTIMATES, TRENDS_OF_YEARS } from './rules.ts';

/** Resources of the earlier variant of the interface, as its `data` holds them. */
export const EarlierPosition = z.object({ lat: wire.lat(), lng: wire.lon('Longitude, 5 decimals.') });

export const EarlierStorms = z
  .array(
    z.object({
      storm_id: z.string().meta({ description: 'Tracked storm cell.' }),
      coordinates: EarlierPosition,
      mesh_size_mm: wire.mm('Largest MESH of the cell in the scan.'),
      probability: wire.probability('Probability of hail >= 25.4 mm with this storm within 60 minutes.').nullable(),
      detected_at: wire.time('Observation time of the scan.'),
      direction_deg: wire.direction('Direction towards which it moves, 0 = north, clockwise.').nullable(),
      speed_kph: wire.speed('Speed of motion.').nullable(),
    }),
  )
  .meta({ id: 'EarlierStorms', description: 'Nearest first.' });
export type EarlierStorms = z.infer<typeof EarlierStorms>;

export const EarlierForecast = z
  .array(
    z.object({
      time: wire.time('End of the hour.'),
      probability: wire
        .probability(
          `Probability of hail >= 25 mm within 40 km in the hour; null where nothing is known. ${ASSUMPTIONS.hourly_steps}`,
        )
        .nullable(),
      max_size_mm: wire.mm('Median of the largest stone, given hail; null below a probability of .02.').nullable(),
      confidence: wire.probability(
        `0.9 for the first hour, falling evenly to 0.4 for the 48th. ${ASSUMPTIONS.confidence}`,
      ),
    }),
  )
  .meta({ id: 'EarlierForecast', description: 'In order.' });
export type EarlierForecast = z.infer<typeof EarlierForecast>;

export const EarlierHistory = z
  .array(
    z.object({
      date: z.string().meta({ description: 'Storm date.' }),
      max_size_mm: wire.mm('Largest hail of the date within 25 km.'),
      duration_minutes: wire.minutes('How long hail lasted at the place of that hail.'),
      damage_estimate: z
        .enum(DAMAGE_ESTIMATES)
        .meta({ description: 'By the size: below 19, from 19, 25, 38 and 63 mm.' }),
      storm_id: z.string().nullable().meta({ description: 'Storm of that hail; null where none was tracked.' }),
    }),
  )
  .meta({ id: 'EarlierHistory', description: 'Newest first.' });
export type EarlierHistory = z.infer<typeof EarlierHistory>;

const subscriptionId = z.string().meta({ description: 'Identifier, `sub_` and a ULID.' });
const threshold = wire.mm('Size from which hail counts.');
const status = z.enum(['active', 'paused']);

export const EarlierSubscriptionCreation = z.object({
  location: z.object({
    lat: z.number().min(-90).max(90).meta({ description: 'Latitude of the centre, WGS84.', unit: 'deg' }),
    lng: z.number().min(-180).max(180).meta({ description: 'Longitude of the centre, WGS84.', unit: 'deg' }),
  }),
  threshold_mm: z
    .number()
    .min(SUBSCRIPTION_LIMITS.min_size_mm.min)
    .max(SUBSCRIPTION_LIMITS.min_size_mm.max)
    .meta({ description: 'Size from which hail within 25 km counts, mm.', unit: 'mm' }),
  webhook_url: z.string().meta({ description: 'Where events are sent, https, of a public host.' }),
});

export const EarlierSubscriptionCreated = z
  .object({
    id: subscriptionId,
    status,
    location: EarlierPosition,
    threshold_mm: threshold,
    webhook_url: z.string().meta({ description: 'Where events are sent, https.' }),
    webhook_secret: z.string().meta({ description: '`whsec_` and base64 of 32 bytes. Shown this once.' }),
    created_at: wire.written('When it was made.'),
  })
  .meta({ id: 'EarlierSubscriptionCreated' });

export const EarlierSubscription = z
  .object({
    id: subscriptionId,
    status,
    threshold_mm: threshold,
    recent_alerts: z
      .array(
        z.object({
          alert_id: z.string().meta({ description: 'Identifier, `alt_` and a ULID.' }),
          triggered_at: wire.time('First detection.'),
          mesh_size_mm: wire.mm('Size of the detection that raised it.'),
          storm_id: z.string().nullable().meta({ description: 'Storm that raised it; null where none was tracked.' }),
        }),
      )
      .meta({ description: 'The last 20 alerts, newest first.' }),
  })
  .meta({ id: 'EarlierSubscription' });
export type EarlierSubscription = z.infer<typeof EarlierSubscription>;

export const EarlierSubscriptionCancelled = z
  .object({ id: subscriptionId, status: z.literal('cancelled'), cancelled_at: wire.time('When it was.') })
  .meta({ id: 'EarlierSubscriptionCancelled' });

export const EarlierRisk = z
  .object({
    location_id: z.string().meta({ description: 'Identifier, `loc_` and a ULID.' }),
    risk_score: z
      .int()
      .min(0)
      .max(100)
      .nullable()
      .meta({ description: 'Climatological score of the place; null where it is not known.', unit: '1' }),
    annual_hail_days: wire
      .number('Expected days a year with hail >= 19 mm within 10 km; null where it is not known.', 'd')
      .nullable(),
    trend: z.enum(TRENDS_OF_YEARS).meta({
      description:
        'Days with hail >= 19 mm within 10 km in the last two years against those before, each by the storm dates there are: more than 20 % more, or less. Stable where there is nothing to compare.',
    }),
    last_event: z
      .object({
        date: z.string().meta({ description: 'Storm date.' }),
        max_size_mm: wire.mm('Largest hail of the date within 10 km.'),
      })
      .nullable()
      .meta({ description: 'The newest such day; null without any.' }),
  })
  .meta({ id: 'EarlierRisk' });
export type EarlierRisk = z.infer<typeof EarlierRisk>;

/** State of the service. */
export const EarlierHealth = Health.extend({
  api_variant: z.literal('legacy').meta({ description: 'Variant of the interface that answers.' }),
}).meta({ id: 'EarlierHealth' });

export const RADAR_PRODUCTS = ['reflectivity', 'velocity', 'mesh'] as const;
export type RadarProduct = (typeof RADAR_PRODUCTS)[number];

export const EarlierRadar = z
  .object({
    station: z.string().meta({ description: 'Nearest WSR-88D radar.' }),
    products: z
      .array(
        z.object({
          type: z.enum(RADAR_PRODUCTS).meta({ description: 'As asked for.' }),
          timestamp: wire.time('Observation time of the picture; null without one.').nullable(),
          tile_url: z
            .string()
            .nullable()
            .meta({ description: 'PMTiles archive of the newest scan, for anyone; null without one.' }),
          note: z.string().nullable().meta({ description: 'Why there is no picture; null where there is one.' }),
        }),
      )
      .meta({ description: 'In the order asked for.' }),
  })
  .meta({ id: 'EarlierRadar' });
export type EarlierRadar = z.infer<typeof EarlierRadar>;

const eventTypes = z.array(z.enum(EARLIER_EVENT_TYPES));

/** A subset of the event types of the earlier variant, each once. */
const wantedEvents = eventTypes
  .min(1)
  .transform((types) => EARLIER_EVENT_TYPES.filter((type) => types.includes(type)))
  .meta({ description: 'Event types to send; every type when left out.' });

export const EarlierWebhookCreation = WebhookCreation.extend({ events: wantedEvents.nullish() });
export const EarlierWebhookUpdate = WebhookUpdate.extend({ events: wantedEvents.optional() });
export const EarlierWebhookCreated = WebhookCreated.extend({
  events: eventTypes.meta({ description: 'Event types that are sent.' }),
});

export const EarlierWebhookTest = z.object({
  event: z.enum(EARLIER_EVENT_TYPES).nullish().meta({ description: 'Type to send; `alert.created` when left out.' }),
});
