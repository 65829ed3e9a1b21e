import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { CONUS } from '../../schemas/geo/position.ts';
import { textQuery } from '../http/decode.ts';
import { roundedPosition } from '../rules/rounded.ts';
import { readEndpoint } from '../server/endpoint.ts';

/** Longest time and largest answer of the geocoder. */
export const GEOCODER_MS = 3_000;
const GEOCODER_BYTES = 500_000;
const PLACES_MAX = 5;
/** Answers in memory, and for how long. */
const KEPT = { max: 1_000, ttl: 24 * 3_600_000 };
const LONGEST_TEXT = 200;
/** Whose data Photon serves; its answers do not say it. */
const OPEN_STREET_MAP = '© OpenStreetMap contributors';

const { west, south, east, north } = CONUS;
const box = `${west},${south},${east},${north}`;
/** Parameters of a search by the end of the geocoder's path: Photon, Pelias, Nominatim. */
const SEARCHES = {
  '/api': { text: 'q', limit: 'limit', lang: 'en', bbox: box },
  '/v1/search': {
    ...{ text: 'text', limit: 'size', 'boundary.rect.min_lat': south, 'boundary.rect.max_lat': north },
    ...{ 'boundary.rect.min_lon': west, 'boundary.rect.max_lon': east },
  },
  '/search': { text: 'q', limit: 'limit', format: 'jsonv2', 'accept-language': 'en', viewbox: box, bounded: 1 },
};

const words = z.string().nullish();
/** Answer of Photon and of Pelias, which writes labels. */
const Features = z.object({
  geocoding: z.object({ attribution: words }).optional(),
  features: z.array(
    z.object({
      geometry: z.object({ coordinates: z.array(z.number()).min(2) }),
      properties: z.object({
        ...{ label: words, name: words, housenumber: words, street: words },
        city: words,
        state: words,
      }),
    }),
  ),
});
/** Answer of Nominatim. */
const Results = z.array(
  z.object({ lat: z.coerce.number(), lon: z.coerce.number(), display_name: z.string(), licence: words }),
);

const Place = z.object({ label: z.string(), lat: z.number(), lon: z.number() });
const Found = z.object({
  places: z.array(Place),
  attribution: z.string().nullable(),
  available: z.boolean().meta({ description: 'False while the geocoder does not answer.' }),
});

/** GET /v1/places?q=…, for the search box of the map: what the geocoder of the operator (HAIL_GEOCODER_URL) finds in CONUS. */
export function searchPlaces(geocoder_url: string, user_agent: string, failed: (error: unknown) => void) {
  const kept = new LRUCache<string, z.infer<typeof Found>>({
    ...KEPT,
    fetchMethod: (text) => placesIn(geocoder_url, user_agent, text),
  });
  return readEndpoint({
    route: 'GET /v1/places',
    group: 'Account',
    summary: 'Places of a text',
    description: 'Addresses and places in CONUS that the geocoder of the operator finds.',
    scope: null,
    query: z.object({ q: textQuery({ max: LONGEST_TEXT }) }),
    reply: Found,
    price: () => null,
    answer: async ({ query: { q } }) => {
      const found = await kept.fetch((q ?? '').trim().toLowerCase()).catch((error: unknown) => void failed(error));
      return { body: found ?? { places: [], attribution: null, available: false } };
    },
  });
}

async function placesIn(geocoder_url: string, user_agent: string, text: string): Promise<z.infer<typeof Found>> {
  const url = new URL(geocoder_url);
  const end = (['/api', '/v1/search', '/search'] as const).find((path) => url.pathname.endsWith(path)) ?? '/search';
  const { text: name, limit, ...rest } = SEARCHES[end];
  for (const [key, value] of Object.entries({ [name]: text, [limit]: PLACES_MAX, ...rest }))
    url.searchParams.set(key, String(value));
  const headers = { Accept: 'application/json', 'User-Agent': user_agent };
  const answer = await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(GEOCODER_MS) });
  if (!answer.ok) throw new Error(`geocoder ${url.host} answers ${answer.status}, expected 200`);
  const found: unknown = JSON.parse(await boundedText(answer));
  return {
    ...(Array.isArray(found) ? fromResults(Results.parse(found)) : fromFeatures(Features.parse(found))),
    available: true,
  };
}

async function boundedText({ body, url }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > GEOCODER_BYTES)
      throw new Error(`geocoder ${new URL(url).host} answers more than ${GEOCODER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function fromResults(results: z.infer<typeof Results>) {
  const places = results.map(({ display_name, ...at }) => ({ label: display_name, ...roundedPosition(at) }));
  return { places, attribution: results[0]?.licence ?? OPEN_STREET_MAP };
}

function fromFeatures({ features, geocoding }: z.infer<typeof Features>) {
  const places = features.map(({ geometry: { coordinates }, properties }) => {
    const { label, name, housenumber, street, city, state } = properties;
    const line = [housenumber, street].filter(Boolean).join(' ');
    const parts = [...new Set([name, line, city, state])].filter(Boolean);
    const [lon = 0, lat = 0] = coordinates;
    return { label: label ?? parts.join(', '), ...roundedPosition({ lat, lon }) };
  });
  return { places, attribution: geocoding?.attribution ?? OPEN_STREET_MAP };
}
