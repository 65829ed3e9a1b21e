import { z } from 'zod';
import { geohash, geohashBox } from '../../schemas/geo/geohash.ts';
import { boxRing, type Position } from '../../schemas/geo/position.ts';
import { outlookDate } from '../../schemas/outlook-day.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import {
  categoryName,
  categoryRank,
  hailIntensityLabels,
  SPC_CATEGORIES,
} from '../../schemas/reference/spc-categories.ts';
import {
  type ConvectiveOutlook,
  type OutlookAreaShape,
  SPC_OUTLOOK_EXAMPLE,
  SpcOutlookAnswer,
  SpcOutlookFeature,
} from '../../schemas/resources/convective-outlook.ts';
import { GEOJSON_TYPE } from '../../schemas/resources/geometry.ts';
import { type OutlookHazard, type OutlookPart, type SpcOutlook, spcOutlooks } from '../../schemas/tables/feeds.ts';
import { addDays, MS_PER_DAY, monthOf, timestamp, utcDate } from '../../schemas/time.ts';
import { booleanQuery, enumQuery, integerQuery, pointQuery } from '../http/decode.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { readTable } from '../queries/sql.ts';
import { type HasGeometry, hasGeometry, holds, polygonsOf } from '../rules/areas.ts';
import { outsideNote } from '../rules/outside.ts';
import { rounded, roundedPosition, roundedRings } from '../rules/rounded.ts';
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
    const geometry = { type: 'Polygon' as const, coordinates: roundedRings([cell], 6) };
    const feature: SpcOutlookFeature = { type: 'Feature', geometry, properties: body };
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
  const coordinates = polygonsOf(area).map((rings) => roundedRings(rings, 4));
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

/** Days of the outlook with one combined probability and no category. */
const EXTENDED_DAYS = [4, 5, 6, 7, 8] as const;
const NO_AREA = 'No thunderstorm area';

/**
 * The product of a day at an instant, 1 for the one that is running: the areas of the newest issue that covers its date, whichever
 * day that was of the issue; none where no issue does.
 */
export function outlookOfDay(areas: readonly SpcOutlook[], day: number, at_ms: number): SpcOutlook[] {
  const date = addDays(outlookDate(at_ms), day - 1);
  const issued = areas.filter(({ forecast_date, issue_time }) => forecast_date === date && issue_time <= at_ms);
  const [newest] = issued.toSorted((a, b) => b.issue_time - a.issue_time);
  return issued.filter((area) => area.day === newest?.day && area.data_source === newest.data_source);
}

/** A product at a point; all fields are null for an empty product. */
function outlookAt(product: readonly SpcOutlook[], point: Position): ConvectiveOutlook {
  const percent = (hazard: OutlookHazard) => probabilityAt(layerOf(product, hazard), point, 0);
  const { category, category_label } = categoryAt(layerOf(product, 'categorical'), point);
  return {
    category,
    category_label,
    hail_probability_pct: percent('hail'),
    hail_significant: isSignificantAt(product, point),
    tornado_probability_pct: percent('tornado'),
    wind_probability_pct: percent('wind'),
    // From day 4 on a point outside of the areas is one whose probability is too low or too uncertain to be given.
    severe_probability_pct: probabilityAt(layerOf(product, 'any_severe'), point, (product[0]?.day ?? 0) < 4 ? 0 : null),
  };
}

/** Whether any of the products of days 4 to 8 has an area at a point; null where none has and one of them is not known. */
function hasExtendedRisk(products: readonly (readonly SpcOutlook[])[], point: Position): boolean | null {
  const layers = products.map((product) => layerOf(product, 'any_severe'));
  if (layers.some((layer) => areasAt(layer, point).length > 0)) return true;
  return layers.every(isWhole) ? false : null;
}

/** Areas of a layer, without those of files that hold another part of it. */
function layerOf(product: readonly SpcOutlook[], wanted: OutlookHazard, other: OutlookPart = 'significant') {
  return product.filter(({ hazard, part }) => hazard === wanted && part !== other);
}

/** True for a layer whose areas were all accepted: what such a layer does not show is not forecast. */
function isWhole(layer: readonly SpcOutlook[]): boolean {
  return layer.length > 0 && layer.every(({ is_complete }) => is_complete);
}

function areasAt(layer: readonly SpcOutlook[], point: Position): SpcOutlook[] {
  return layer.filter((area) => hasGeometry(area) && holds(area, point));
}

/** Areas of a product with a shape, layer by layer, the lowest category or probability first: drawn in this order none is hidden. */
function outlookShapes(product: readonly SpcOutlook[]): (SpcOutlook & HasGeometry)[] {
  const rank = ({ label, probability_pct }: SpcOutlook) => categoryRank(label ?? '') ?? probability_pct ?? 0;
  return product
    .filter(hasGeometry)
    .toSorted((a, b) => (a.hazard === b.hazard ? rank(a) - rank(b) : a.hazard < b.hazard ? -1 : 1));
}

function categoryAt(layer: readonly SpcOutlook[], point: Position) {
  const ranks = areasAt(layer, point).map(({ label }) => categoryRank(label ?? '') ?? 0);
  const category = SPC_CATEGORIES[Math.max(0, ...ranks) - 1];
  if (category !== undefined) return { category, category_label: categoryName(category) };
  return { category: null, category_label: isWhole(layer) ? NO_AREA : null };
}

/** The highest probability at a point, percent; `outside` where a whole layer shows none. */
function probabilityAt(layer: readonly SpcOutlook[], point: Position, outside: 0 | null): number | null {
  const here = areasAt(layer, point).flatMap(({ probability_pct }) => probability_pct ?? []);
  if (here.length > 0) return Math.max(...here);
  return isWhole(layer) ? outside : null;
}

/** Layers of a product of day 1 or 2, whose areas of significant hail are a file that is only there while there is any. */
const HAZARDS_OF_A_PRODUCT: readonly OutlookHazard[] = ['categorical', 'tornado', 'hail', 'wind'];

/** Whether a point lies in an area of significant hail, by the labels of the time of the forecast. */
function isSignificantAt(product: readonly SpcOutlook[], point: Position): boolean | null {
  const layer = layerOf(product, 'hail', 'probabilities');
  const intense = areasAt(layer, point).filter(({ probability_pct }) => probability_pct === null);
  if (intense.some(({ label, valid_time }) => hailIntensityLabels(valid_time).includes(label ?? ''))) return true;
  const is_known = layer.length === 0 ? isWholeIssue(product) : isWhole(layer);
  return intense.length === 0 && is_known ? false : null;
}

/** True when every layer of a product is there, whole and of one issue, apart from those of significant severity. */
function isWholeIssue(product: readonly SpcOutlook[]): boolean {
  const layers = HAZARDS_OF_A_PRODUCT.map((hazard) => layerOf(product, hazard));
  return layers.every(isWhole) && new Set(layers.flat().map(({ issue_time }) => issue_time)).size === 1;
}
