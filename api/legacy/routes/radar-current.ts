import { z } from 'zod';
import type { Position } from '../../../schemas/geo/position.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import type { ScanTiles } from '../../../schemas/resources/tile-frame.ts';
import { timestamp } from '../../../schemas/time.ts';
import { latitudeQuery, longitudeQuery, wordsQuery } from '../../http/decode.ts';
import { archiveUrl, newestReflectivity, type PublicAddresses } from '../../published/archives/tile-archives.ts';
import type { Edition } from '../../published/catalog.ts';
import { getScanTiles } from '../../routes/tiles.ts';
import { nearestWithin } from '../../rules/nearest.ts';
import { earlierRead } from '../endpoint.ts';
import { EARLIER_RADAR_EXAMPLE } from '../examples.ts';
import { EarlierRadar, RADAR_PRODUCTS, type RadarProduct } from '../resources.ts';

type Picture = EarlierRadar['products'][number];

/** Half of the way round the Earth: some radar is nearer. */
const ANYWHERE_KM = 20_100;
const NO_SCAN = 'No scan is published.';
const NO_REFLECTIVITY = 'No picture of reflectivity is published.';
const NO_VELOCITY = 'The source of the scans, NOAA MRMS, publishes no velocity.';
const SIMULATED = 'Simulated answers have no pictures.';

/** GET /legacy/v1/radar/current?lat=35.22&lng=-97.44&products=mesh */
export const earlierRadarCurrent = earlierRead(getScanTiles, {
  path: '/radar/current',
  summary: 'Newest radar pictures at a point',
  description:
    'The nearest WSR-88D radar, and for each product the archive of the newest scan. The archives cover all radars, are public and never change: this call only tells where they are.',
  params: null,
  query: z.object({
    lat: latitudeQuery(),
    lng: longitudeQuery(),
    products: wordsQuery(RADAR_PRODUCTS, { description: 'Products, between commas.' }),
  }),
  body: null,
  data: EarlierRadar,
  example: EARLIER_RADAR_EXAMPLE,
  toCurrent: () => ({ params: null, query: { date: null }, body: null }),
  fromCurrent: async (tiles, { query: { lat, lng, products }, edition, services }) => {
    const pictures: Readonly<Record<RadarProduct, Omit<Picture, 'type'>>> = {
      reflectivity: await reflectivityOf(edition, services),
      velocity: none(NO_VELOCITY),
      mesh: meshOf(tiles),
    };
    return {
      station: stationOf({ lat, lon: lng }),
      products: products.map((type) => ({ type, ...pictures[type] })),
    };
  },
  simulate: ({ query: { lat, lng, products } }) => ({
    station: stationOf({ lat, lon: lng }),
    products: products.map((type) => ({ type, ...none(SIMULATED) })),
  }),
});

function stationOf(position: Position): string {
  const nearest = nearestWithin(position, WSR88D, ANYWHERE_KM);
  if (nearest === null) throw new TypeError('there is no radar on Earth');
  return nearest.item.id;
}

function meshOf({ frames }: ScanTiles): Omit<Picture, 'type'> {
  const newest = frames.at(-1);
  return newest === undefined ? none(NO_SCAN) : { timestamp: newest.scan_time, tile_url: newest.url, note: null };
}

async function reflectivityOf(edition: Edition, addresses: PublicAddresses): Promise<Omit<Picture, 'type'>> {
  const newest = await newestReflectivity(edition);
  if (newest === null) return none(NO_REFLECTIVITY);
  return {
    timestamp: timestamp(newest.scan_time),
    tile_url: archiveUrl(addresses, newest.path, newest.file.path),
    note: null,
  };
}

function none(note: string): Omit<Picture, 'type'> {
  return { timestamp: null, tile_url: null, note };
}
