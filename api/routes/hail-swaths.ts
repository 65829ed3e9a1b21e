import { z } from 'zod';
import { GEOJSON_TYPE } from '../../schemas/resources/geometry.ts';
import { isOneRegion, ONE_REGION } from '../../schemas/resources/region-box.ts';
import { SWATHS_EXAMPLE, SwathCollection, Swaths, VALIDITY_NOTE } from '../../schemas/resources/swath-tier.ts';
import { timestamp } from '../../schemas/time.ts';
import { bboxQuery, clampedQuery, dateQuery, enumQuery, numberQuery, stateQuery } from '../http/decode.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { SWATH_TABLES, swathOf } from '../queries/swaths.ts';
import { regionOf, shownBox } from '../rules/region.ts';
import { rounded } from '../rules/rounded.ts';
import type { DrawnTier } from '../rules/swath-tiers.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

const SwathsQuery = z
  .object({
    date: dateQuery({ required: true, description: 'Storm date.' }),
    bbox: bboxQuery(),
    state: stateQuery(),
    min_size_mm: numberQuery({
      min: 0,
      max: 200,
      exclusiveMin: true,
      default: 19,
      description: 'Smallest size that counts; tiers start at the first bound from here.',
      unit: 'mm',
    }),
    simplify_m: clampedQuery({
      min: 0,
      max: 5000,
      default: 500,
      description: 'How far a simplified outline may run from the exact one; 0 is exact.',
      unit: 'm',
    }),
    format: enumQuery(['json', 'geojson'], 'json', { description: 'geojson answers a FeatureCollection.' }),
  })
  .refine(isOneRegion, ONE_REGION);

export const getHailSwaths = readEndpoint({
  route: 'GET /v1/hail/swaths',
  group: 'Hail detection',
  summary: 'Footprints of hail per size tier for a storm day',
  description:
    'Polygons of everything at or above each size bound over a storm date, from per-pixel radar estimates. Without bbox or state the region is CONUS. A tier without coverage is absent.',
  scope: 'swaths:read',
  query: SwathsQuery,
  reply: Swaths,
  other_replies: { [GEOJSON_TYPE]: SwathCollection },
  example: SWATHS_EXAMPLE,
  price: flatPrice('hail.swaths', 30),
  plan: ({ query: { date }, edition }) => {
    const dates = [date];
    const as_of_ms = edition.dataAsOf(dates);
    return { dates, as_of_ms, version: `${edition.version(SWATH_TABLES, dates)} ${as_of_ms}` };
  },
  answer: async ({ query, services, edition, plan: { as_of_ms } }) => {
    const { date, min_size_mm, simplify_m } = query;
    const region = regionOf(query);
    const swath = await swathOf(services.engine, edition, { date, region, min_size_mm, simplify_m });
    const data_as_of = timestamp(as_of_ms);
    const dates_without_data = datesWithoutData(edition, date, date, region);
    const { note } = region;
    const echo = { bbox: shownBox(region), state: region.state, min_size_mm, simplify_m };
    const foreign = { dates_without_data, note, data_as_of, query: echo };
    if (query.format === 'geojson') return { type: GEOJSON_TYPE, body: collection(swath, date, foreign) };
    return {
      body: {
        date,
        query: echo,
        active: swath.n_detections > 0,
        n_detections: swath.n_detections,
        max_size_mm: rounded(swath.max_size_mm, 1),
        dates_without_data,
        note,
        data_as_of,
        tiers: swath.tiers.map((tier) => ({ ...tierFields(tier), geometry: geometryOf(tier) })),
        geometry_validity_note: VALIDITY_NOTE,
      },
    };
  },
});

function collection(
  { tiers, at_bound, max_size_mm }: Awaited<ReturnType<typeof swathOf>>,
  date: string,
  foreign: Pick<SwathCollection, 'dates_without_data' | 'note' | 'data_as_of' | 'query'>,
): SwathCollection {
  const features = tiers.map((tier) => {
    const n_detections = at_bound.get(tier.threshold_mm) ?? 0;
    const largest = n_detections === 0 ? null : rounded(max_size_mm, 1);
    return {
      type: 'Feature' as const,
      geometry: geometryOf(tier),
      properties: { date, ...tierFields(tier), max_size_mm: largest, n_detections },
    };
  });
  return { type: 'FeatureCollection', features, ...foreign };
}

function tierFields({ threshold_mm, category, area_km2 }: DrawnTier) {
  return { threshold_mm, category, area_km2: rounded(area_km2, 1) };
}

function geometryOf({ geometry }: DrawnTier) {
  return { type: 'MultiPolygon' as const, coordinates: geometry };
}
