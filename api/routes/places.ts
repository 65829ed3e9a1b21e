import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { CONUS, isInConus } from '../../schemas/geo/position.ts';
import { countByAddress } from '../http/call-limits.ts';
import { textQuery } from '../http/decode.ts';
import { roundedPosition } from '../rules/rounded.ts';
import { readEndpoint } from '../server/endpoint.ts';

/** Longest time and largest answer of the geocoder. */
export const GEOCODER_MS = 3_000;
const GEOCODER_BYTES = 500_000;
/** Questions to the geocoder of all callers together: at once, and in a minute. */
export const ASKED_AT_ONCE = 4;
export const ASKED_PER_MINUTE = 60;
/** How long a geocoder that failed is not asked. */
export const SPARED_MS = 30_000;
const PLACES_MAX = 5;
/** Answers in memory, each of a few kilobytes at most, and for how long. */
const KEPT = { max: 1_000, ttl: 24 * 3_600_000 };
const LONGEST_TEXT = 200;
const LONGEST_LABEL = 300;
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
const credit = z.string().max(LONGEST_LABEL).nullish();
/** Answer of Photon and of Pelias, which writes labels. */
const Features = z.object({
  geocoding: z.object({ attribution: credit }).optional(),
  features: z.array(z.unknown()),
});
const Feature = z
  .object({
    geometry: z.object({ coordinates: z.tuple([z.number(), z.number()], z.unknown()) }),
    properties: z.object({
      ...{ label: words, name: words, housenumber: words, street: words },
      city: words,
      state: words,
    }),
  })
  .transform(({ geometry: { coordinates }, properties }) => {
    const { label, name, housenumber, street, city, state } = properties;
    const line = [housenumber, street].filter(Boolean).join(' ');
    const parts = [...new Set([name, line, city, state])].filter(Boolean);
    const [lon, lat] = coordinates;
    return { label: label ?? parts.join(', '), lat, lon };
  });
/** One of the answer of Nominatim, which is a list. */
const Result = z
  .object({ lat: z.coerce.number(), lon: z.coerce.number(), display_name: z.string() })
  .transform(({ display_name, ...at }) => ({ label: display_name, ...at }));
const Licensed = z.object({ licence: credit });

const Place = z.object({ label: z.string().min(1).max(LONGEST_LABEL), lat: z.number(), lon: z.number() });
const PlaceInConus = z.union([Feature, Result]).pipe(Place.refine(isInConus));
const Found = z.object({
  places: z.array(Place),
  attribution: z.string().nullable(),
  available: z.boolean().meta({ description: 'False while the geocoder does not answer, or is asked too often.' }),
});

/** GET /v1/places?q=…, for the search box of the map: what the geocoder of the operator (HAIL_GEOCODER_URL) finds in CONUS. */
export function searchPlaces(geocoder_url: string, user_agent: string, failed: (error: unknown) => void) {
  const countQuestion = countByAddress();
  let running = 0;
  let spared_until_ms = 0;
  const ask = async (text: string) => {
    if (running === ASKED_AT_ONCE || performance.now() < spared_until_ms) return undefined;
    running += 1;
    try {
      const { retry_after_s } = await countQuestion(geocoder_url, ASKED_PER_MINUTE);
      return retry_after_s === null ? await placesIn(geocoder_url, user_agent, text) : undefined;
    } catch (error) {
      spared_until_ms = performance.now() + SPARED_MS;
      failed(error);
      return undefined;
    } finally {
      running -= 1;
    }
  };
  const kept = new LRUCache<string, z.infer<typeof Found>>({ ...KEPT, fetchMethod: ask });
  const q = textQuery({ max: LONGEST_TEXT })
    .transform((text) => (text ?? '').trim().toLowerCase())
    .refine((text) => text !== '', 'is blank or missing, expected an address or a place');
  return readEndpoint({
    route: 'GET /v1/places',
    group: 'Account',
    summary: 'Places of a text',
    description: 'Addresses and places in CONUS that the geocoder of the operator finds.',
    scope: 'tiles:read',
    query: z.object({ q }),
    reply: Found,
    price: () => null,
    answer: async ({ query, services }) => ({
      body: (await kept.fetch(query.q)) ?? { places: [], attribution: null, available: false },
      // For the map of this service: pages of other sites have no geocoder here.
      headers: { 'Access-Control-Allow-Origin': new URL(services.base_url).origin },
    }),
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
  return placesOf(JSON.parse(await boundedText(answer)));
}

/** Places of an answer. One that is no point in CONUS, or has no label or a longer one than is shown, is passed over. */
function placesOf(found: unknown): z.infer<typeof Found> {
  const { features, geocoding } = Features.parse(Array.isArray(found) ? { features: found } : found);
  const places = features.slice(0, PLACES_MAX).flatMap((item) => PlaceInConus.safeParse(item).data ?? []);
  const credited = geocoding?.attribution ?? Licensed.safeParse(features[0]).data?.licence;
  return {
    places: places.map(({ label, ...at }) => ({ label, ...roundedPosition(at) })),
    attribution: credited ?? OPEN_STREET_MAP,
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
