import { z } from 'zod';
import { boxRing } from '../geo/position.ts';
import { SIZE_CATEGORIES } from '../size.ts';
import * as wire from './fields.ts';
import { MultiPolygonGeometry } from './geometry.ts';
import { RegionBox } from './region-box.ts';

const storm_date = z.iso.date().meta({ description: 'Storm date.' });

const geometry = MultiPolygonGeometry.meta({
  description: 'GeoJSON, longitude before latitude; always valid, shells counter-clockwise.',
});

/** The footprint of everything at or above a size. */
const SwathTier = wire.resource('SwathTier', {
  threshold_mm: wire.mm('Lower bound; the tier holds everything at or above it.'),
  category: z.enum(SIZE_CATEGORIES).meta({ description: 'Size category of the bound.' }),
  area_km2: wire.km2('Sum of the exact pixel areas before simplification: authoritative.'),
  geometry,
});

const SwathQuery = z.object({
  bbox: RegionBox.nullable(),
  state: z.string().nullable().meta({ description: 'USPS code as asked; null without.' }),
  min_size_mm: wire.mm('Smallest size that counts.'),
  simplify_m: z.number().meta({ description: 'As used: clamped to 0..5000.', unit: 'm' }),
});

/** Answer of GET /v1/hail/swaths. */
export const Swaths = wire.resource('Swaths', {
  date: storm_date,
  query: SwathQuery,
  active: z.boolean().meta({ description: 'True when the region has a detection of at least min_size_mm.' }),
  n_detections: wire.count('Detections of the region of at least min_size_mm: pixels, counted in every scan.'),
  max_size_mm: wire.mm('Largest of them; null without any.').nullable(),
  dates_without_data: wire.datesWithoutData(),
  note: wire.outsideNote(),
  data_as_of: wire.dataAsOf(),
  tiers: z.array(SwathTier).meta({ description: 'Smallest bound first; a tier without coverage is absent.' }),
  geometry_validity_note: z.string().meta({ description: 'What holds for the geometries.' }),
});
export type Swaths = z.infer<typeof Swaths>;

/** The same as GeoJSON: one Feature per tier, smallest bound first, so that the largest hail draws on top. */
export const SwathCollection = wire.resource('SwathCollection', {
  type: z.literal('FeatureCollection'),
  features: z.array(
    z.object({
      type: z.literal('Feature'),
      geometry,
      properties: z.object({
        date: storm_date,
        ...SwathTier.omit({ geometry: true }).shape,
        max_size_mm: wire.mm('Largest detection of the tier; null without any.').nullable(),
        n_detections: wire.count('Detections at or above the bound.'),
      }),
    }),
  ),
  dates_without_data: wire.datesWithoutData(),
  note: wire.outsideNote(),
  data_as_of: wire.dataAsOf(),
  query: SwathQuery,
});
export type SwathCollection = z.infer<typeof SwathCollection>;

export const VALIDITY_NOTE =
  'Every geometry is a valid MultiPolygon. Tiers nest; after simplification a tier may reach out of the next lower one by up to simplify_m.';

export const SWATHS_EXAMPLE: wire.Example<typeof Swaths> = {
  query: { date: '2026-05-01', state: 'OK' },
  reply: {
    date: '2026-05-01',
    query: {
      bbox: { minLat: 33.61657, maxLat: 37.00124, minLon: -103.00246, maxLon: -94.43073 },
      state: 'OK',
      min_size_mm: 19,
      simplify_m: 500,
    },
    active: true,
    n_detections: 12,
    max_size_mm: 24.6,
    dates_without_data: [],
    note: null,
    data_as_of: '2026-05-01T23:58:00Z',
    tiers: [
      {
        threshold_mm: 19,
        category: 'nickel',
        area_km2: 4.1,
        geometry: { type: 'MultiPolygon', coordinates: [[boxRing([-97.5, 35.2, -97.48, 35.22])]] },
      },
    ],
    geometry_validity_note: VALIDITY_NOTE,
  },
};
