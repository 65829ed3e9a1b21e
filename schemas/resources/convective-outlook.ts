import { z } from 'zod';
import { SPC_CATEGORIES } from '../reference/spc-categories.ts';
import { OUTLOOK_HAZARDS } from '../tables/feeds.ts';
import * as wire from './fields.ts';
import { MultiPolygonGeometry, PolygonGeometry } from './geometry.ts';

const hazard = (what: string) =>
  wire
    .percent(
      `${what} within 25 miles of the point: that of the innermost contour. 0: the forecast was issued and the point lies outside of every contour. Null: it was not issued or has not come, or an area of it could not be read.`,
    )
    .nullable();

/** Convective outlook of the Storm Prediction Center for a point and a day. */
export const ConvectiveOutlook = wire.resource('ConvectiveOutlook', {
  category: z.enum(SPC_CATEGORIES).nullable().meta({
    description: 'Highest category at the point, days 1 to 3; null outside of every area, and without a product.',
  }),
  category_label: z.string().nullable().meta({
    description: 'The category in words; "No thunderstorm area" outside of every area; null where none is known.',
  }),
  hail_probability_pct: hazard('Probability of hail of an inch or more'),
  hail_significant: z.boolean().nullable().meta({
    description:
      'Inside the area of significant hail: SIGN until March 2026, CIG1 and up since. False also where the forecast has no such area at all. Null as above.',
  }),
  tornado_probability_pct: hazard('Probability of a tornado'),
  wind_probability_pct: hazard('Probability of damaging wind'),
  severe_probability_pct: wire
    .percent(
      'Combined probability of severe weather, where the product has one: day 3, and days 4 to 8 as 15, 30 or null outside of the areas.',
    )
    .nullable(),
});
export type ConvectiveOutlook = z.infer<typeof ConvectiveOutlook>;

/** An area of a convective outlook, wherever it lies. */
export const OutlookAreaShape = wire.resource('OutlookAreaShape', {
  hazard: z.enum(OUTLOOK_HAZARDS).meta({ description: 'Layer that it belongs to.' }),
  label: z.string().meta({ description: 'Label of the source, such as SLGT or 0.15.' }),
  name: z.string().nullable().meta({ description: 'Name of a category, such as Slight Risk; null for others.' }),
  probability_pct: wire.percent('Probability within the area; null for a category or an intensity.').nullable(),
  geometry: MultiPolygonGeometry,
});
export type OutlookAreaShape = z.infer<typeof OutlookAreaShape>;

/** Answer of GET /v1/outlooks/spc. */
export const SpcOutlookAnswer = wire.resource('SpcOutlook', {
  location: wire.askedPoint(),
  day: z.int().min(1).max(8).meta({ description: 'Day of the outlook, as asked.' }),
  outlook: ConvectiveOutlook,
  note: wire.outsideNote(),
  issue_time: wire
    .time('When the forecast was issued, the earliest of its layers; null without a product of this day.')
    .nullable(),
  valid_time: wire.time('From when on all of its layers hold; null without a product.').nullable(),
  expire_time: wire.time('Until when all of its layers hold; null without a product.').nullable(),
  has_extended_risk: z.boolean().nullable().meta({
    description: 'An area of days 4 to 8 lies at the point; null where none does and one of those days is not known.',
  }),
  fetched_at: wire
    .time(
      'When the newest of the layers came; without a product of this day until when outlooks are known to be complete; null while none was ever fed.',
    )
    .nullable(),
  areas: z.array(OutlookAreaShape).optional().meta({
    description: 'With areas=true alone: all areas of the product, of the whole country, lowest first within a layer.',
  }),
});
export type SpcOutlookAnswer = z.infer<typeof SpcOutlookAnswer>;

/** The same as GeoJSON. */
export const SpcOutlookFeature = wire.resource('SpcOutlookFeature', {
  type: z.literal('Feature'),
  geometry: PolygonGeometry.meta({ description: 'The geohash cell of four characters that holds the point.' }),
  properties: SpcOutlookAnswer,
});
export type SpcOutlookFeature = z.infer<typeof SpcOutlookFeature>;

export const SPC_OUTLOOK_EXAMPLE: wire.Example<typeof SpcOutlookAnswer> = {
  query: { lat: '35.22', lon: '-97.44' },
  reply: {
    location: { lat: 35.22, lon: -97.44 },
    day: 1,
    outlook: {
      category: 'ENH',
      category_label: 'Enhanced Risk',
      hail_probability_pct: 30,
      hail_significant: true,
      tornado_probability_pct: 5,
      wind_probability_pct: 15,
      severe_probability_pct: null,
    },
    note: null,
    issue_time: '2026-05-01T19:54:00Z',
    valid_time: '2026-05-01T20:00:00Z',
    expire_time: '2026-05-02T12:00:00Z',
    has_extended_risk: false,
    fetched_at: '2026-05-01T19:58:10Z',
  },
};
