import type { Position } from '../../schemas/geo/position.ts';
import {
  categoryName,
  categoryRank,
  hailIntensityLabels,
  SPC_CATEGORIES,
} from '../../schemas/reference/spc-categories.ts';
import type { ConvectiveOutlook } from '../../schemas/resources/convective-outlook.ts';
import type { OutlookHazard, OutlookPart, SpcOutlook } from '../../schemas/tables/feeds.ts';
import { addDays, stormDate } from '../../schemas/time.ts';
import { type HasGeometry, hasGeometry, holds } from './areas.ts';

/** Days of the outlook with one combined probability and no category. */
export const EXTENDED_DAYS = [4, 5, 6, 7, 8] as const;
const NO_AREA = 'No thunderstorm area';

/** Hour of UTC at which the days of outlooks begin. */
const DAY_START_HOUR = 12;

/** Date of the day of outlooks that is running: that of the last 12 UTC. Earlier days are over. */
export function runningOutlookDate(at_ms: number): string {
  return stormDate(at_ms, DAY_START_HOUR);
}

/**
 * The product of a day at an instant, 1 for the one that is running: the areas of the newest issue that covers its date, whichever
 * day that was of the issue; none where no issue does.
 */
export function outlookOfDay(areas: readonly SpcOutlook[], day: number, at_ms: number): SpcOutlook[] {
  const date = addDays(runningOutlookDate(at_ms), day - 1);
  const issued = areas.filter(({ forecast_date, issue_time }) => forecast_date === date && issue_time <= at_ms);
  const [newest] = issued.toSorted((a, b) => b.issue_time - a.issue_time);
  return issued.filter((area) => area.day === newest?.day && area.data_source === newest.data_source);
}

/** A product at a point; all fields are null for an empty product. */
export function outlookAt(product: readonly SpcOutlook[], point: Position): ConvectiveOutlook {
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
export function hasExtendedRisk(products: readonly (readonly SpcOutlook[])[], point: Position): boolean | null {
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
export function outlookShapes(product: readonly SpcOutlook[]): (SpcOutlook & HasGeometry)[] {
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
