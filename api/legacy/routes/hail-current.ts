import { z } from 'zod';
import { latitudeQuery, longitudeQuery, radiusQuery } from '../../http/decode.ts';
import { listStorms } from '../../routes/storms.ts';
import { earlierRead } from '../endpoint.ts';
import { EARLIER_STORMS_EXAMPLE } from '../examples.ts';
import { EarlierStorms } from '../resources.ts';
import { simulatedStorms } from '../simulated-data.ts';

/** GET /legacy/v1/hail/current?lat=35.22&lng=-97.44 */
export const earlierHailCurrent = earlierRead(listStorms, {
  path: '/hail/current',
  summary: 'Storms with hail around a point',
  description:
    'Tracked storm cells as the newest scan shows them, nearest first: those of GET /v1/storms. Hail without a tracked storm, in its first scan or too small, is not listed. An empty list says nothing about now while no scans come: GET /legacy/v1/health tells. direction_deg is the direction towards which a storm moves.',
  params: null,
  query: z.object({
    lat: latitudeQuery(),
    lng: longitudeQuery(),
    radius_km: radiusQuery({ max: 150, default: 25 }),
  }),
  body: null,
  data: EarlierStorms,
  example: EARLIER_STORMS_EXAMPLE,
  toCurrent: ({ query: { lat, lng, radius_km } }) => ({
    params: null,
    query: { lat, lon: lng, radius_km, detail: 'standard' },
    body: null,
  }),
  fromCurrent: ({ cells }) =>
    cells.map(({ track_id, lat, lon, scan_time, motion, hail }) => ({
      storm_id: track_id,
      coordinates: { lat, lng: lon },
      mesh_size_mm: hail.estimated_size_mm,
      probability: hail.ml_probability,
      detected_at: scan_time,
      direction_deg: motion.direction_deg,
      speed_kph: motion.speed_kmh,
    })),
  simulate: ({ query, now_ms }) => simulatedStorms(query, now_ms),
});
