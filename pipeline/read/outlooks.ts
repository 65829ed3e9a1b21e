import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { rewind } from '@turf/rewind';
import { z } from 'zod';
import { type MultiPolygon, type Ring, signedArea } from '../../schemas/geo/rings.ts';
import { findConflicts } from '../../schemas/geo/validity.ts';
import { multiPolygonFromWkt, multiPolygonToWkt } from '../../schemas/geo/wkt.ts';
import { isInOutlookDomain, OUTLOOK_DOMAIN } from '../../schemas/reference/outlook-domain.ts';
import { categoryRank } from '../../schemas/reference/spc-categories.ts';
import type { OutlookHazard, OutlookPart, SpcOutlook } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, MS_PER_HOUR, timestamp, utcDate } from '../../schemas/time.ts';
import { positionsOf } from './polygon.ts';
import {
  badFile,
  firstFault,
  MAX_FUTURE_MS,
  quoted,
  type ReadItems,
  readFeatures,
  readItems,
  utcTime,
} from './rejected-item.ts';

/** Positions of one area: the check for crossings costs little more than their number. */
const MAX_POSITIONS = 20_000;

/** Layer of a file, which only its name states. */
interface OutlookLayer {
  readonly day: number;
  readonly hazard: OutlookHazard;
  readonly part: OutlookPart;
}

const HAZARDS: Readonly<Record<string, OutlookHazard>> = {
  torn: 'tornado',
  hail: 'hail',
  wind: 'wind',
  prob: 'any_severe',
};

const LAYER_NAME =
  /(?:^|\/)day(?:([1-3])otlk_|([4-8]))(?:\d{8}_(?:\d{4}_)?)?(?:cat|(sig|cig)?(torn|hail|wind|prob))(?:\.(?:no)?lyr)?\.geojson$/;

/**
 * Layer of a file by its name, such as `day1otlk_cat.lyr.geojson`, `day2otlk_20250605_1730_sighail.nolyr.geojson` or
 * `day4prob.lyr.geojson`; null for another name.
 */
export function outlookLayerOf(name: string): OutlookLayer | null {
  const found = LAYER_NAME.exec(name);
  if (found === null) return null;
  const [, short, long, significant, word] = found;
  const day = Number(short ?? long);
  if (word === undefined) return { day, hazard: 'categorical', part: 'all' };
  return { day, hazard: HAZARDS[word], part: significant === undefined ? 'probabilities' : 'significant' };
}

const TIME = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})$/;
const Time = z.string().regex(TIME);
const Properties = z.object({
  LABEL: z.string().max(60),
  LABEL2: z.string().max(200).nullish(),
  VALID: Time,
  EXPIRE: Time,
  ISSUE: Time,
  /** Author of the forecast; the simulator writes its own name. */
  SOURCE: z.string().max(60).nullish(),
});
const Geometry = z.object({ type: z.string(), coordinates: z.unknown(), geometries: z.array(z.unknown()) }).partial();
const Feature = z.object({ geometry: z.unknown(), properties: Properties });

const LABEL = /^(?:0\.\d{2}|SIGN|CIG\d|TSTM|MRGL|SLGT|ENH|MDT|HIGH)$/;

/**
 * Areas of one GeoJSON layer of a convective outlook. A feature without label or area, by which a layer states that it is
 * empty, gives a row without label and geometry. Features that cannot be used are rejected, and the other rows are marked as
 * not complete; a layer whose levels do not nest keeps no area. Winding does not matter. Throws BadInput for another file, and for a
 * file without a usable feature.
 */
export function readOutlookGeoJson(
  bytes: Uint8Array,
  subject: string,
  layer: OutlookLayer,
  received_ms: number,
): ReadItems<SpcOutlook> {
  const features = readFeatures(bytes, subject, 'the geojson of an outlook');
  if (features.length === 0) throw badFile(subject, 'no features, expected at least one with an issue time');
  const { rows, set_aside, others } = readItems(features, (feature) => readFeature(feature, layer, received_ms));
  if (rows.length === 0) throw badFile(subject, `no feature can be used, the first because ${set_aside[0]?.reason}`);
  const areas = rows.filter(({ label }) => label !== null);
  const stray = levelFault(areas);
  if (stray !== null) {
    const empty = { ...rows[0], label: null, probability_pct: null, geometry: null, is_complete: false };
    return { rows: [empty], set_aside: [...set_aside, { item: 'levels', reason: stray }], others };
  }
  const kept = areas.length > 0 ? areas : rows.slice(0, 1);
  return { rows: kept.map((row) => ({ ...row, is_complete: set_aside.length === 0 })), set_aside, others };
}

/** Degrees by which an edge that two levels share differs between them, and by which the border of the country is drawn differently. */
const SHARED_EDGE_DEG = 0.1;
const BORDER_DEG = 0.5;

/**
 * Why the levels of a layer cannot be: one has a corner beyond the level below. Null where each lies in the one below, in its holes
 * where the layer cuts the higher levels out of the lower, or along the border of the country that both share.
 */
function levelFault(areas: readonly SpcOutlook[]): string | null {
  // Areas of intensity are no levels.
  const rankOf = ({ label, probability_pct }: SpcOutlook) => categoryRank(label ?? '') ?? probability_pct;
  const byRank = Map.groupBy(
    areas.filter((area) => rankOf(area) !== null),
    (area) => Number(rankOf(area)),
  );
  const levels = Array.from(byRank, ([rank, rows]) => {
    return {
      rank,
      label: rows[0].label,
      polygons: rows.flatMap(({ geometry }) => multiPolygonFromWkt(geometry ?? '')),
    };
  }).sort((a, b) => a.rank - b.rank);
  for (const [index, { label, polygons }] of levels.slice(1).entries()) {
    const below = { type: 'MultiPolygon' as const, coordinates: levels[index].polygons };
    const stray = polygons.flat(2).find((corner) => {
      const is_in = around(corner, SHARED_EDGE_DEG).some((place) => booleanPointInPolygon(place, below));
      const sides = around(corner, BORDER_DEG).map(([lon, lat]) => isInOutlookDomain({ lat, lon }));
      return !is_in && new Set(sides).size === 1;
    });
    if (stray !== undefined)
      return `${label} has the corner ${stray.join(' ')} beyond ${levels[index].label}, expected each level within the one below`;
  }
  return null;
}

/** A place, and those so many degrees to its four sides. */
function around([lon = 0, lat = 0]: readonly number[], far: number): [lon: number, lat: number][] {
  return [
    [lon, lat],
    [lon - far, lat],
    [lon + far, lat],
    [lon, lat - far],
    [lon, lat + far],
  ];
}

/** Row of an area, and why polygons of it cannot be used, which leaves the others. */
function readFeature(feature: unknown, { day, hazard, part }: OutlookLayer, received_ms: number) {
  const parsed = Feature.safeParse(feature);
  if (!parsed.success) return firstFault(parsed.error, 'feature');
  const { properties } = parsed.data;
  const { ISSUE, VALID, EXPIRE } = properties;
  const [issue_time, valid_time, expire_time] = [ISSUE, VALID, EXPIRE].map((text) => utcTime(text, TIME));
  if (issue_time === null || valid_time === null || expire_time === null)
    return `times are ${ISSUE}, ${VALID}, ${EXPIRE}, expected YYYYMMDDHHMM`;
  if (issue_time > received_ms + MAX_FUTURE_MS) return `issued ${ISSUE}, which lies in the future`;
  const wrong_times = faultOfTimes(day, issue_time, valid_time, expire_time);
  if (wrong_times !== null) return wrong_times;
  const areas = polygonsOf(parsed.data.geometry);
  if (typeof areas === 'string') return areas;
  const { polygons, refused } = areas;
  const label = properties.LABEL.trim();
  const has_area = polygons.length > 0;
  if (has_area && !LABEL.test(label)) return `label is ${quoted(label)}, expected one of an outlook`;
  const row: SpcOutlook = {
    forecast_date: utcDate(expire_time - MS_PER_DAY),
    day,
    hazard,
    part,
    label: has_area ? label : null,
    probability_pct: has_area && /^0\.\d{2}$/.test(label) ? Number(label.slice(2)) : null,
    issue_time,
    valid_time,
    expire_time,
    fetched_at: received_ms,
    is_complete: true,
    geometry: has_area ? multiPolygonToWkt(polygons) : null,
    data_source: properties.SOURCE === 'simulated' ? 'simulated' : 'observed',
  };
  return { row, polygon_faults: refused };
}

/** Margin of the issue time, hours: outlooks are issued before the 12 UTC at which their day starts, on day 1 after it as well. */
const ISSUE_SPREAD_H = 12;
const DAY_1_AFTER_H = 24;
const NOON_MS = MS_PER_DAY / 2;

/**
 * Why times are not those of an outlook of a day, 1 to 8; null when they are. A day ends at 12 UTC. Day 1 is issued from 06 UTC before it
 * to 01 UTC within it and may begin at its issue; day 2 at about 07 and 17:30 UTC of the day before, day 3 at 08 and 19:30 UTC two
 * days before, days 4 to 8 at about 09 UTC, three to seven days before; each of them is whole.
 */
function faultOfTimes(day: number, issue_time: number, valid_time: number, expire_time: number): string | null {
  const start_ms = expire_time - MS_PER_DAY;
  const span = `valid from ${timestamp(valid_time)} to ${timestamp(expire_time)}`;
  if (expire_time % MS_PER_DAY !== NOON_MS) return `${span}, expected an end at 12 UTC`;
  const is_within = day === 1 ? valid_time >= start_ms && valid_time < expire_time : valid_time === start_ms;
  if (!is_within) return `${span}, expected ${day === 1 ? 'at most' : 'just'} a day`;
  const lead_h = (start_ms - issue_time) / MS_PER_HOUR - 24 * (day - 1);
  const is_timely = lead_h > (day === 1 ? -DAY_1_AFTER_H : -ISSUE_SPREAD_H) && lead_h < ISSUE_SPREAD_H;
  return is_timely ? null : `issued ${timestamp(issue_time)} and ${span}, which is not day ${day} then`;
}

/** Polygons of a geometry, and why others cannot be used; the reason alone when every polygon is broken. */
function polygonsOf(geometry: unknown): { polygons: MultiPolygon; refused: string[] } | string {
  const { type, coordinates, geometries } = Geometry.safeParse(geometry ?? {}).data ?? {};
  if (geometry === null || geometries?.length === 0) return { polygons: [], refused: [] };
  if (type !== 'Polygon' && type !== 'MultiPolygon')
    return `geometry is ${quoted(type ?? geometry)}, expected a multipolygon or nothing`;
  const given = type === 'Polygon' ? [coordinates] : coordinates;
  if (!Array.isArray(given)) return 'geometry has no coordinates';
  const polygons: MultiPolygon = [];
  const refused: string[] = [];
  for (const polygon of given) {
    const checked = checkedRings(polygon);
    if (typeof checked === 'string') refused.push(checked);
    else polygons.push(checked);
  }
  return polygons.length === 0 && refused[0] !== undefined ? refused[0] : { polygons, refused };
}

/** Rings of a polygon, wound as RFC 7946 has it, or the reason why they make none. */
function checkedRings(polygon: unknown): Ring[] | string {
  if (!Array.isArray(polygon) || polygon.length === 0) return `polygon is ${quoted(polygon)}, expected rings`;
  const rings: Ring[] = [];
  let positions = 0;
  for (const ring of polygon) {
    if (!Array.isArray(ring)) return `ring is ${quoted(ring)}, expected positions`;
    positions += ring.length;
    if (positions > MAX_POSITIONS) return `more than ${MAX_POSITIONS} positions`;
    const checked = positionsOf(ring);
    if (typeof checked === 'string') return checked;
    rings.push(checked);
  }
  const { coordinates } = rewind({ type: 'Polygon' as const, coordinates: rings }) as { coordinates: Ring[] };
  const [conflict] = findConflicts([coordinates]);
  if (conflict !== undefined) return conflict.reason;
  if (Math.abs(signedArea(coordinates[0])) > Math.abs(signedArea(OUTLOOK_DOMAIN)))
    return 'polygon is larger than the area that outlooks are made for';
  return coordinates;
}
