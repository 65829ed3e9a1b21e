import { z } from 'zod';
import { geohash, geohashBox } from '../../schemas/geo/geohash.ts';
import { boxRing } from '../../schemas/geo/position.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { categoryName } from '../../schemas/reference/spc-categories.ts';
import {
  type OutlookAreaShape,
  SPC_OUTLOOK_EXAMPLE,
  SpcOutlookAnswer,
  SpcOutlookFeature,
} from '../../schemas/resources/convective-outlook.ts';
import { GEOJSON_TYPE } from '../../schemas/resources/geometry.ts';
import { type SpcOutlook, spcOutlooks } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, monthOf, timestamp, utcDate } from '../../schemas/time.ts';
import { booleanQuery, enumQuery, integerQuery, pointQuery } from '../http/decode.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { readTable } from '../queries/sql.ts';
import { polygonsOf } from '../rules/areas.ts';
import { EXTENDED_DAYS, hasExtendedRisk, outlookAt, outlookOfDay, outlookShapes } from '../rules/outlook.ts';
import { outsideNote } from '../rules/outside.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

export const listOutlooks = readEndpoint({
  route: 'GET /v1/outlooks/spc',
  group: 'Outlooks and warnings',
  summary: 'Convective outlook of a day at a point',
  description:
    "What the Storm Prediction Center's convective outlook of a day says of a point: category and probabilities within 25 miles, days 1 to 3 by hazard as far as the product has them (that of day 3 has one combined probability), days 4 to 8 as one combined probability. Nothing is derived. Day 1 is the one that runs, from the last 12 UTC on, as in GET /v1/hail/outlook. The product is that of the newest issue that covers the date, which may be one of the day before. Without any, because none was issued, it has not come, or no feed ever brought outlooks, the answer has null in all of outlook and in the three times. format=geojson answers a Feature whose geometry is the geohash cell of four characters that holds the point; the outlook is that of the point.",
  scope: 'outlooks:read',
  query: z.object({
    ...pointQuery,
    day: integerQuery({ min: 1, max: 8, default: 1, description: 'Day of the outlook, 1 is today.' }),
    areas: booleanQuery(false, { description: 'true adds all areas of the product, to be drawn on a map.' }),
    format: enumQuery(['json', 'geojson'], 'json', { description: 'geojson answers a Feature.' }),
  }),
  reply: SpcOutlookAnswer,
  other_replies: { [GEOJSON_TYPE]: SpcOutlookFeature },
  example: SPC_OUTLOOK_EXAMPLE,
  price: flatPrice('outlooks.spc', 5),
  plan: ({ edition }) => ({ dates: [], collection: edition.collection('outlooks') }),
  answer: async ({ query, now_ms, plan: { collection }, services: { engine } }) => {
    const { lat, lon, day, format } = query;
    const note = outsideNote('outlooks', query);
    const areas = collection === null || note !== null ? [] : await outlookAreas(engine, collection, now_ms);
    const product = outlookOfDay(areas, day, now_ms);
    const extended = EXTENDED_DAYS.map((one) => (one === day ? product : outlookOfDay(areas, one, now_ms)));
    const used = [product, ...extended].flat();
    const body: SpcOutlookAnswer = {
      location: roundedPosition(query),
      day,
      outlook: outlookAt(product, query),
      note,
      issue_time: timeOf(product, 'issue_time', Math.min),
      valid_time: timeOf(product, 'valid_time', Math.max),
      expire_time: timeOf(product, 'expire_time', Math.min),
      has_extended_risk: hasExtendedRisk(extended, query),
      fetched_at:
        timeOf(product, 'fetched_at', Math.max) ?? (collection === null ? null : timestamp(collection.as_of_ms)),
      ...(query.areas ? { areas: outlookShapes(product).map(areaResource) } : {}),
    };
    const provenances = used.length > 0 ? used.map(({ data_source }) => data_source) : (collection?.source ?? []);
    const provenance = combineProvenances([provenances].flat());
    if (format === 'json') return { body, provenance };
    const cell = boxRing(geohashBox(geohash(lat, lon, 4)));
    const feature: SpcOutlookFeature = {
      type: 'Feature',
      geometry: {
        type: 'Polygon',
        coordinates: [cell.map((position) => position.map((degrees) => rounded(degrees, 6)))],
      },
      properties: body,
    };
    return { type: GEOJSON_TYPE, body: feature, provenance };
  },
});

/** An outlook of day 1 may have begun yesterday; one of day 8 begins a week from now, and months are cut by that day. */
const REACH_MS = { past: 2 * MS_PER_DAY, ahead: 9 * MS_PER_DAY } as const;
const IN_FORCE = `WHERE expire_time > epoch_ms($2::BIGINT) ORDER BY ${spcOutlooks.order}`;

/** Areas of every outlook that has not expired at an instant. */
function outlookAreas(engine: Queries, { paths }: CollectionEdition, at_ms: number): Promise<SpcOutlook[]> {
  const [first, last] = [at_ms - REACH_MS.past, at_ms + REACH_MS.ahead].map((time_ms) => monthOf(utcDate(time_ms)));
  return readTable(engine, spcOutlooks, paths(first, last), IN_FORCE, [Math.floor(at_ms)]);
}

function areaResource(area: ReturnType<typeof outlookShapes>[number]): OutlookAreaShape {
  const { hazard, label, probability_pct } = area;
  const position = (at: readonly number[]) => at.map((degrees) => rounded(degrees, 4));
  const coordinates = polygonsOf(area).map((rings) => rings.map((ring) => ring.map(position)));
  return {
    hazard,
    label: label ?? '',
    name: categoryName(label ?? ''),
    probability_pct: probability_pct === null ? null : rounded(probability_pct, 1),
    geometry: { type: 'MultiPolygon', coordinates },
  };
}

/** A time of all layers of a product: the oldest or the newest of theirs; null without layers. */
function timeOf(
  product: readonly SpcOutlook[],
  field: 'issue_time' | 'valid_time' | 'expire_time' | 'fetched_at',
  pick: typeof Math.min,
): string | null {
  return product.length === 0 ? null : timestamp(pick(...product.map((area) => area[field])));
}
