import { z } from 'zod';
import { ASSUMPTIONS } from '../../schemas/assumptions.ts';
import * as wire from '../../schemas/resources/fields.ts';
import { rounded } from '../rules/rounded.ts';

/** Words of the earlier variant for damage. */
const DAMAGE_ESTIMATES = ['none', 'minor', 'moderate', 'significant', 'severe'] as const;
/** Smallest size of each of these words, mm. */
const FROM_MM = [0, 19, 25, 38, 63];

/** Damage estimate for hail of a size. */
export function damageEstimate(size_mm: number): (typeof DAMAGE_ESTIMATES)[number] {
  return DAMAGE_ESTIMATES[FROM_MM.findLastIndex((from_mm) => size_mm >= from_mm)] ?? 'none';
}

const LAST_HOUR = 48;
const FIRST_CONFIDENCE = 0.9;
const LAST_CONFIDENCE = 0.4;

/** Confidence of an hour of the forecast in the earlier variant: .9 for the first hour, falling evenly to .4 for the 48th. */
export function forecastConfidence(hour: number): number {
  const share = (hour - 1) / (LAST_HOUR - 1);
  return rounded(FIRST_CONFIDENCE + share * (LAST_CONFIDENCE - FIRST_CONFIDENCE), 3);
}

export const TRENDS_OF_YEARS = ['increasing', 'stable', 'decreasing'] as const;

/** Days with hail, and dates with data. */
type DaysOfDates = Readonly<Record<'days' | 'dates', number>>;

/** Fewest dates with data: in less than a year, a season would look like a trend. */
const DATES_MIN = 365;
/** Smallest relative change that is a trend. */
const MARGIN = 0.2;

/** Whether hail days became more or fewer from one span of dates to another, by more than 20 %. */
export function trendOfYears(before: DaysOfDates, recent: DaysOfDates): (typeof TRENDS_OF_YEARS)[number] {
  if (before.dates < DATES_MIN || recent.dates < DATES_MIN) return 'stable';
  const [then, now] = [before.days / before.dates, recent.days / recent.dates];
  if (now > then * (1 + MARGIN)) return 'increasing';
  return now < then * (1 - MARGIN) ? 'decreasing' : 'stable';
}

const listOf = <Shape extends z.ZodRawShape>(id: string, description: string, shape: Shape) =>
  z.array(z.object(shape)).meta({ id, description });

/** Resources of the earlier variant of the interface, as its `data` holds them. */
export const EarlierPosition = z.object({ lat: wire.lat(), lng: wire.lon('Longitude, 5 decimals.') });

export const EarlierStorms = listOf('EarlierStorms', 'Nearest first.', {
  storm_id: z.string().meta({ description: 'Tracked storm cell.' }),
  coordinates: EarlierPosition,
  mesh_size_mm: wire.mm('Largest MESH of the cell in the scan.'),
  probability: wire.probability('Probability of hail >= 25.4 mm with this storm within 60 minutes.').nullable(),
  detected_at: wire.time('Observation time of the scan.'),
  direction_deg: wire.direction('Direction towards which it moves, 0 = north, clockwise.').nullable(),
  speed_kph: wire.speed('Speed of motion.').nullable(),
});
export type EarlierStorms = z.infer<typeof EarlierStorms>;

export const EarlierForecast = listOf('EarlierForecast', 'In order.', {
  time: wire.time('End of the hour.'),
  probability: wire
    .probability(
      `Probability of hail >= 25 mm within 40 km in the hour; null where nothing is known. ${ASSUMPTIONS.hourly_steps}`,
    )
    .nullable(),
  max_size_mm: wire.mm('Median of the largest stone, given hail; null below a probability of .02.').nullable(),
  confidence: wire.probability(`0.9 for the first hour, falling evenly to 0.4 for the 48th. ${ASSUMPTIONS.confidence}`),
});
export type EarlierForecast = z.infer<typeof EarlierForecast>;

export const EarlierHistory = listOf('EarlierHistory', 'Newest first.', {
  date: z.string().meta({ description: 'Storm date.' }),
  max_size_mm: wire.mm('Largest hail of the date within 25 km.'),
  duration_minutes: wire.minutes('How long hail lasted at the place of that hail.'),
  damage_estimate: z.enum(DAMAGE_ESTIMATES).meta({ description: 'By the size: below 19, from 19, 25, 38 and 63 mm.' }),
  storm_id: z.string().nullable().meta({ description: 'Storm of that hail; null where none was tracked.' }),
});
export type EarlierHistory = z.infer<typeof EarlierHistory>;

export const EarlierRisk = wire.resource('EarlierRisk', {
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
});
export type EarlierRisk = z.infer<typeof EarlierRisk>;

export const RADAR_PRODUCTS = ['reflectivity', 'velocity', 'mesh'] as const;
export type RadarProduct = (typeof RADAR_PRODUCTS)[number];

export const EarlierRadar = wire.resource('EarlierRadar', {
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
});
export type EarlierRadar = z.infer<typeof EarlierRadar>;
