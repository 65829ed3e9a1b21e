import { z } from 'zod';
import { SIZE_CATEGORIES } from '../size.ts';
import * as wire from './fields.ts';
import { RegionBox } from './region-box.ts';

const storm_date = z.iso.date().meta({ description: 'Storm date.' });

const MultiPolygonGeometry = z
  .object({
    type: z.literal('MultiPolygon'),
    coordinates: z.array(z.array(z.array(z.array(z.number())))),
  })
  .meta({ description: 'GeoJSON, longitude before latitude; always valid, shells counter-clockwise.' });

const sizeCategory = z.enum(SIZE_CATEGORIES).meta({ description: 'Size category of the bound.' });
const threshold_mm = wire.mm('Lower bound; the tier holds everything at or above it.');
const area_km2 = wire.km2('Sum of the exact pixel areas before simplification: authoritative.');

/** The footprint of everything at or above a size. */
export const SwathTier = z.object({ threshold_mm, category: sizeCategory, area_km2, geometry: MultiPolygonGeometry });
export type SwathTier = z.infer<typeof SwathTier>;

const SwathQuery = z.object({
  bbox: RegionBox,
  state: z.string().nullable().meta({ description: 'USPS code as asked; null without.' }),
  min_size_mm: wire.mm('Smallest size that counts.'),
  simplify_m: z.number().meta({ description: 'As used: clamped to 0..5000.', unit: 'm' }),
});

/** Answer of GET /v1/hail/swaths. */
export const Swaths = z.object({
  date: storm_date,
  query: SwathQuery,
  active: z.boolean().meta({ description: 'True when the region has a detection of at least min_size_mm.' }),
  n_detections: wire.count('Detections of the region of at least min_size_mm: pixels, counted in every scan.'),
  max_size_mm: wire.mm('Largest of them; null without any.').nullable(),
  dates_without_data: wire.datesWithoutData(),
  data_as_of: wire.dataAsOf(),
  tiers: z.array(SwathTier).meta({ description: 'Smallest bound first; a tier without coverage is absent.' }),
  geometry_validity_note: z.string().meta({ description: 'What holds for the geometries.' }),
});
export type Swaths = z.infer<typeof Swaths>;

/** The same as GeoJSON: one Feature per tier, smallest bound first, so that the largest hail draws on top. */
export const SwathCollection = z.object({
  type: z.literal('FeatureCollection'),
  features: z.array(
    z.object({
      type: z.literal('Feature'),
      geometry: MultiPolygonGeometry,
      properties: z.object({
        date: storm_date,
        threshold_mm,
        category: sizeCategory,
        area_km2,
        max_size_mm: wire.mm('Largest detection of the tier; null without any.').nullable(),
        n_detections: wire.count('Detections at or above the bound.'),
      }),
    }),
  ),
  dates_without_data: wire.datesWithoutData(),
  data_as_of: wire.dataAsOf(),
  query: SwathQuery,
});
export type SwathCollection = z.infer<typeof SwathCollection>;
