import { z } from 'zod';
import * as wire from './fields.ts';
import { RegionBox } from './region-box.ts';

const date = (description: string) => z.iso.date().meta({ description });

/** One storm date on which a region had a detection of at least 19 mm; every figure counts such detections only. */
export const EventDay = wire.resource('EventDay', {
  event_date: date('Storm date.'),
  cell_count: wire.count(
    'Tracked storms, or cells without a track, with a detection >= 19 mm in the region; 0 when the hail belonged to no storm cell.',
  ),
  max_size_mm: wire.mm('Largest detection of the region.'),
  n_detections: wire.count('Detections >= 19 mm of the region: pixels, counted in every scan.'),
  affected_area_km2: wire.km2('Geodesic area of the convex hull of all pixels >= 19 mm of the region.'),
  centroid: z.object({ lat: wire.lat(), lon: wire.lon() }).meta({ description: 'Centre of that hull, inside it.' }),
  first_detected: wire.time('First scan with a detection >= 19 mm in the region.'),
  last_detected: wire.time('Last scan with a detection >= 19 mm in the region.'),
  swath_url: z.string().meta({
    description: 'Path of the swaths of the date in the region: the same n_detections and max_size_mm.',
  }),
});
export type EventDay = z.infer<typeof EventDay>;

/** Answer of GET /v1/events. */
export const Events = wire.resource('Events', {
  date_range: z.object({ start: date('First storm date, as asked.'), end: date('Last storm date, as asked.') }),
  area_method: z.literal('convex_hull').meta({
    description: 'How affected_area_km2 is made: the hull of two storms far apart is far larger than both.',
  }),
  min_size_mm: wire.mm('Smallest detection that counts in any figure of a row: 19.'),
  region: z.object({ bbox: RegionBox.nullable() }),
  events: z.array(EventDay).meta({ description: 'Oldest first.' }),
  event_count: wire.count('Days listed.'),
  dates_without_data: wire.datesWithoutData(),
  note: wire.outsideNote(),
  data_as_of: wire.dataAsOf(),
});
export type Events = z.infer<typeof Events>;

export const EVENTS_EXAMPLE: wire.Example<typeof Events> = {
  query: { date_start: '2026-05-01', date_end: '2026-05-31', bbox: '-98,34,-96,36' },
  reply: {
    date_range: { start: '2026-05-01', end: '2026-05-31' },
    area_method: 'convex_hull',
    min_size_mm: 19,
    region: { bbox: { minLat: 34, maxLat: 36, minLon: -98, maxLon: -96 } },
    events: [
      {
        event_date: '2026-05-01',
        cell_count: 4,
        max_size_mm: 48.5,
        n_detections: 2210,
        affected_area_km2: 1835.6,
        centroid: { lat: 35.21, lon: -97.12 },
        first_detected: '2026-05-01T20:12:00Z',
        last_detected: '2026-05-01T23:58:00Z',
        swath_url: '/v1/hail/swaths?date=2026-05-01&bbox=-98,34,-96,36',
      },
    ],
    event_count: 1,
    dates_without_data: [],
    note: null,
    data_as_of: '2026-05-31T23:58:00Z',
  },
};
