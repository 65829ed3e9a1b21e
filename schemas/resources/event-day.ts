import { z } from 'zod';
import {
  wireCount,
  wireDataAsOf,
  wireDatesWithoutData,
  wireKm2,
  wireLat,
  wireLon,
  wireMm,
  wireTime,
} from './fields.ts';
import { RegionBox } from './region-box.ts';

const date = (description: string) => z.iso.date().meta({ description });

/** One storm date on which a region had a detection of at least 19 mm; every figure counts such detections only. */
export const EventDay = z.object({
  event_date: date('Storm date.'),
  cell_count: wireCount(
    'Tracked storms, or cells without a track, with a detection >= 19 mm in the region; 0 when the hail belonged to no storm cell.',
  ),
  max_size_mm: wireMm('Largest detection of the region.'),
  n_detections: wireCount('Detections >= 19 mm of the region: pixels, counted in every scan.'),
  affected_area_km2: wireKm2('Geodesic area of the convex hull of all pixels >= 19 mm of the region.'),
  centroid: z.object({ lat: wireLat(), lon: wireLon() }).meta({ description: 'Centre of that hull, inside it.' }),
  first_detected: wireTime('First scan with a detection >= 19 mm in the region.'),
  last_detected: wireTime('Last scan with a detection >= 19 mm in the region.'),
  swath_url: z.string().meta({
    description: 'Path of the swaths of the date in the region: the same n_detections and max_size_mm.',
  }),
});
export type EventDay = z.infer<typeof EventDay>;

/** Answer of GET /v1/events. */
export const Events = z.object({
  date_range: z.object({ start: date('First storm date, as asked.'), end: date('Last storm date, as asked.') }),
  area_method: z.literal('convex_hull').meta({
    description: 'How affected_area_km2 is made: the hull of two storms far apart is far larger than both.',
  }),
  min_size_mm: wireMm('Smallest detection that counts in any figure of a row: 19.'),
  region: z.object({ bbox: RegionBox }),
  events: z.array(EventDay).meta({ description: 'Oldest first.' }),
  event_count: wireCount('Days listed.'),
  dates_without_data: wireDatesWithoutData(),
  data_as_of: wireDataAsOf(),
});
export type Events = z.infer<typeof Events>;
