import { z } from 'zod';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import type { ScanTiles } from '../../../schemas/resources/tile-frame.ts';
import { MS_PER_HOUR, timestamp } from '../../../schemas/time.ts';
import { integerQuery, latitudeQuery, longitudeQuery, radiusQuery, wordsQuery } from '../../http/decode.ts';
import { archiveUrl, newestReflectivity, type PublicAddresses } from '../../published/archives/tile-archives.ts';
import type { Edition } from '../../published/catalog.ts';
import { getHailForecast } from '../../routes/hail-forecast.ts';
import { listStorms } from '../../routes/storms.ts';
import { getScanTiles } from '../../routes/tiles.ts';
import { nearestWithin } from '../../rules/nearest.ts';
import { readEndpoint } from '../../server/endpoint.ts';
import { earlier, earlierOf, takenOver } from '../endpoint.ts';
import {
  EarlierForecast,
  EarlierRadar,
  EarlierStorms,
  forecastConfidence,
  RADAR_PRODUCTS,
  type RadarProduct,
} from '../resources.ts';
import { simulatedForecast, simulatedStorms } from '../simulated-data.ts';

const AT = { lat: '35.22', lng: '-97.44' };

/** GET /legacy/v1/hail/current?lat=35.22&lng=-97.44 */
export const earlierHailCurrent = earlierOf(listStorms, {
  path: '/v1/hail/current',
  summary: 'Storms with hail around a point',
  description:
    'Tracked storm cells as the newest scan shows them, nearest first: those of GET /v1/storms. Hail without a tracked storm, in its first scan or too small, is not listed. An empty list says nothing about now while no scans come: GET /legacy/v1/health tells. direction_deg is the direction towards which a storm moves.',
  query: z.object({
    lat: latitudeQuery(),
    lng: longitudeQuery(),
    radius_km: radiusQuery({ max: 150, default: 25 }),
  }),
  reply: EarlierStorms,
  asked: { query: AT },
  toCurrent: ({ query: { lat, lng, radius_km } }) => ({
    query: { lat, lon: lng, radius_km, detail: 'standard' as const },
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

/** GET /legacy/v1/hail/forecast?lat=35.22&lng=-97.44&hours=6 */
export const earlierHailForecast = earlierOf(getHailForecast, {
  path: '/v1/hail/forecast',
  summary: 'Hail of the next hours at a point',
  description:
    'The hours of GET /v1/hail/forecast, the current one included. There is no forecast beyond the reach of the runs or outside the area of the model: the list is then shorter than requested, or empty, which does not mean that no hail is expected.',
  query: z.object({
    lat: latitudeQuery(),
    lng: longitudeQuery(),
    hours: integerQuery({ min: 1, max: 48, default: 12, description: 'Hours to tell, the running one included.' }),
  }),
  reply: EarlierForecast,
  asked: { query: { ...AT, hours: '2' } },
  toCurrent: ({ query: { lat, lng, hours } }) => ({ query: { lat, lon: lng, hours } }),
  fromCurrent: ({ hourly }, { now_ms }) =>
    hourly.map(({ valid_time, hail_probability, estimated_size_mm }) => ({
      time: valid_time,
      probability: hail_probability,
      max_size_mm: estimated_size_mm,
      confidence: forecastConfidence(Math.ceil((Date.parse(valid_time) - now_ms) / MS_PER_HOUR)),
    })),
  simulate: ({ query, now_ms }) => simulatedForecast(query, now_ms),
});

type Picture = Omit<EarlierRadar['products'][number], 'type'>;

/** Half of the way round the Earth: some radar is nearer. */
const ANYWHERE_KM = 20_100;
/** The question for the newest pictures. */
const NEWEST = { params: null, query: { date: null }, body: null };

const RadarQuestion = z.object({
  lat: latitudeQuery(),
  lng: longitudeQuery(),
  products: wordsQuery(RADAR_PRODUCTS, { description: 'Products, between commas.' }),
});

/** GET /legacy/v1/radar/current?lat=35.22&lng=-97.44&products=mesh */
export const earlierRadarCurrent = earlier(
  readEndpoint({
    ...takenOver(getScanTiles),
    route: 'GET /v1/radar/current',
    summary: 'Newest radar pictures at a point',
    description:
      'The nearest WSR-88D radar, and for each product the archive of the newest scan. The archives cover all radars, are public and never change: this call only tells where they are.',
    query: RadarQuestion,
    reply: EarlierRadar,
    price: () => getScanTiles.price(NEWEST),
    plan: (input) => getScanTiles.plan?.({ ...input, ...NEWEST }) ?? { dates: [] },
    answer: async ({ query, ...input }) => {
      const { body } = await getScanTiles.answer({ ...input, ...NEWEST });
      const pictures: Readonly<Record<RadarProduct, Picture>> = {
        reflectivity: await reflectivityOf(input.edition, input.services),
        velocity: none('The source of the scans, NOAA MRMS, publishes no velocity.'),
        mesh: meshOf(body as ScanTiles),
      };
      return { body: radarAt(query, (type) => pictures[type]) };
    },
    simulate: ({ query }) => radarAt(query, () => none('Simulated answers have no pictures.')),
  }),
  { query: { ...AT, products: 'mesh,velocity' } },
);

function radarAt({ lat, lng, products }: z.infer<typeof RadarQuestion>, pictureOf: (type: RadarProduct) => Picture) {
  const nearest = nearestWithin({ lat, lon: lng }, WSR88D, ANYWHERE_KM);
  if (nearest === null) throw new TypeError('there is no radar on Earth');
  return { station: nearest.item.id, products: products.map((type) => ({ type, ...pictureOf(type) })) };
}

function meshOf({ frames }: ScanTiles): Picture {
  const newest = frames.at(-1);
  if (newest === undefined) return none('No scan is published.');
  return { timestamp: newest.scan_time, tile_url: newest.url, note: null };
}

async function reflectivityOf(edition: Edition, addresses: PublicAddresses): Promise<Picture> {
  const newest = await newestReflectivity(edition);
  if (newest === null) return none('No picture of reflectivity is published.');
  const tile_url = archiveUrl(addresses, 'reflectivity', newest.date, newest.file.path);
  return { timestamp: timestamp(newest.scan_time), tile_url, note: null };
}

function none(note: string): Picture {
  return { timestamp: null, tile_url: null, note };
}
