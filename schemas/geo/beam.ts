import geodesic from 'geographiclib-geodesic';
import { distanceKm, roughDistanceKm } from './distance.ts';
import type { Position } from './position.ts';

/** Radius of the earth on which radar beams are straight, km: 4/3 of 6371 km. */
const BEAM_EARTH_KM = (4 / 3) * 6371;
/** Half-power width of the WSR-88D beam, degrees. */
const BEAM_WIDTH_DEG = 0.925;
/** Tilts of the precipitation volumes VCP 12 and 212, degrees. */
export const TILTS_DEG = [0.5, 0.9, 1.3, 1.8, 2.4, 3.1, 4.0, 5.1, 6.4, 8.0, 10.0, 12.5, 15.6, 19.5] as const;
const LOWEST_TILT_DEG = TILTS_DEG[0];
/** Range of a radar, km. */
export const REACH_KM = 230;
/** Number of nearest radars considered. */
const RADARS = 3;
/** A beam blocked by more than this share is not used. */
const BLOCKED_MAX = 0.5;
/** Layer of hail growth above the freezing level, and where its weight is largest, km. */
const LAYER_KM = 8;
const LAYER_PEAK_KM = 3.3;
/** Step of the integral over the layer, km. */
const STEP_KM = 0.05;
/** Mosaics interpolate across gaps between tilts over about this height, km. */
const GAP_SCALE_KM = 1;
/** Beams wider than about this smear a hail core, km. */
const WIDTH_SCALE_KM = 3;
/** Bottom of the lowest beam, km above ground, from which melting below the beam is missed in part, and in full. */
const UNSEEN_FROM_KM = 1.5;
const UNSEEN_TO_KM = 4;
const UNSEEN_FACTOR = 0.6;
/** Full dual-polarisation value up to the first distance, half of it at the reach, km. */
const DUAL_POL_FULL_KM = 150;
/** Index below which a place counts as not covered. */
const COVERED_MIN = 0.1;

/** Words for an index, with the index from which each applies, best first. */
const WORDS = [
  { word: 'excellent', from: 0.8 },
  { word: 'good', from: 0.6 },
  { word: 'fair', from: 0.35 },
  { word: 'limited', from: 0 },
] as const;
export type DetectionWord = (typeof WORDS)[number]['word'];

/** Beam width below which a resolution applies, km. */
const RESOLUTIONS = [
  { text: 'fine (<1 km)', below_km: 1 },
  { text: 'standard (1-2 km)', below_km: 2 },
  { text: 'coarse (>2 km)', below_km: Number.POSITIVE_INFINITY },
] as const;
export type Resolution = (typeof RESOLUTIONS)[number]['text'];

/** A radar: position on WGS84, height of the antenna above sea level. */
export interface Antenna extends Position {
  readonly id: string;
  readonly antenna_m: number;
}

/** How well weather radar can see hail at a place: a prior from physics and geometry, not a measured hit rate. */
export interface DetectionQuality {
  /** Index 0..1, two decimals. */
  readonly hdqi: number;
  /** False without a radar within 230 km, or with an index below .10. */
  readonly covered: boolean;
  readonly detection_word: DetectionWord;
  readonly resolution: Resolution;
  readonly components: {
    readonly sample_coverage: number;
    readonly beam_blockage: number;
    readonly dual_pol_availability: number;
  };
  /** Nearest site at any distance; null without any site. */
  readonly nearest_radar: { readonly id: string; readonly distance_km: number } | null;
  /** Centre of the lowest usable beam above the ground; null without a radar within 230 km. */
  readonly beam_height_m: number | null;
  /** Above sea level. */
  readonly freezing_level_m: number;
}

/** Share of a beam that terrain blocks on its way to a distance along the ground, 0..1: the running maximum along the ray. */
export type BlockedShare = (site_id: string, azimuth_deg: number, distance_km: number, tilt_deg: number) => number;

interface QualityInput {
  readonly sites: readonly Antenna[];
  /** Height of the 0 C level above sea level, km. */
  readonly freezing_level_km: number;
  /** Height of the ground at the place above sea level. */
  readonly ground_m: number;
  /** Absent: no beam is blocked. */
  readonly blockage?: BlockedShare | undefined;
}

/** A beam over a place: heights above its antenna, km; bottom and top lie half a width from the centre. */
export interface Beam {
  readonly centre_km: number;
  readonly bottom_km: number;
  readonly top_km: number;
  /** Distance between the half-power points. */
  readonly width_km: number;
}

/**
 * Height above the antenna at a distance along a beam, km.
 * Source: Doviak & Zrnic, standard refraction: sqrt(r^2 + ae^2 + 2 r ae sin e) - ae with ae = 4/3 of the earth's radius.
 */
export function beamHeightKm(range_km: number, tilt_deg: number): number {
  const sine = Math.sin((tilt_deg * Math.PI) / 180);
  return Math.sqrt(range_km ** 2 + BEAM_EARTH_KM ** 2 + 2 * range_km * BEAM_EARTH_KM * sine) - BEAM_EARTH_KM;
}

/** The beam of a tilt above a place at a distance along the ground. */
export function beamAt(ground_km: number, tilt_deg: number): Beam {
  const angle = ground_km / BEAM_EARTH_KM;
  const range_km = (BEAM_EARTH_KM * Math.sin(angle)) / Math.cos((tilt_deg * Math.PI) / 180 + angle);
  const centre_km = beamHeightKm(range_km, tilt_deg);
  const width_km = (range_km * BEAM_WIDTH_DEG * Math.PI) / 180;
  return { centre_km, bottom_km: centre_km - width_km / 2, top_km: centre_km + width_km / 2, width_km };
}

/**
 * Share 0..1 of a beam that terrain blocks: `terrain_m` is the height of the ground over the beam's centre (negative
 * below it), `radius_m` half the beam's width. Source: Bech et al. 2003, eq. 2.
 */
export function partialBlockage(terrain_m: number, radius_m: number): number {
  if (terrain_m <= -radius_m) return 0;
  if (terrain_m >= radius_m) return 1;
  const y = terrain_m / radius_m;
  return (y * Math.sqrt(1 - y * y) + Math.asin(y) + Math.PI / 2) / Math.PI;
}

interface View {
  readonly site: Antenna;
  /** Height of the antenna above the ground of the place, negative below it. */
  readonly antenna_above_km: number;
  readonly distance_km: number;
  readonly azimuth_deg: number;
}

/**
 * Detection quality at a place.
 *
 * The three nearest radars within 230 km are sampled with the tilts of VCP 12/212 in the layer where hail grows. Radars whose
 * lowest beam terrain blocks are left out where the others see more without them.
 */
export function detectionQuality(position: Position, input: QualityInput): DetectionQuality {
  const { freezing_level_km } = input;
  const { nearest, views } = lookAround(position, input);
  const blocked = (view: View, tilt_deg: number) =>
    input.blockage?.(view.site.id, view.azimuth_deg, view.distance_km, tilt_deg) ?? 0;
  const { index, used, components } = bestSight(views, (view) => 1 - blocked(view, LOWEST_TILT_DEG), freezing_level_km);
  const hdqi = Math.round(100 * Math.min(1, Math.max(0, index))) / 100;
  const heights_km = views.flatMap((view) => lowestUsable(view, blocked));
  const width_km = Math.min(...used.map((view) => beamAt(view.distance_km, LOWEST_TILT_DEG).width_km));
  return {
    hdqi,
    covered: hdqi >= COVERED_MIN,
    detection_word: WORDS.find(({ from }) => hdqi >= from)?.word ?? 'limited',
    resolution: RESOLUTIONS.find(({ below_km }) => width_km < below_km)?.text ?? 'coarse (>2 km)',
    components,
    nearest_radar: nearest && { id: nearest.site.id, distance_km: nearest.distance_km },
    // A beam that reaches the place is above the ground, although a coarse ground may be higher.
    beam_height_m: heights_km.length > 0 ? Math.round(1000 * Math.max(0, Math.min(...heights_km))) : null,
    freezing_level_m: Math.round(freezing_level_km * 1000),
  };
}

/** Combined view of some of the radars; the index is not yet rounded. */
interface Sight {
  readonly index: number;
  readonly used: readonly View[];
  readonly components: DetectionQuality['components'];
}

/** View of no radar. */
const NOTHING: Sight = {
  index: -1,
  used: [],
  components: { sample_coverage: 0, beam_blockage: 0, dual_pol_availability: 0 },
};

/**
 * The combination of radars with the largest index; `free` is the unblocked share of a radar's lowest beam. All radars
 * together sample most, but the most blocked one in use lowers the index, so each share is tried as the threshold for use.
 * With that, more blockage never raises the index, and an additional radar never lowers it.
 */
function bestSight(views: readonly View[], free: (view: View) => number, freezing_level_km: number): Sight {
  const shares = [...new Set(views.map(free))].sort((a, b) => b - a);
  const sights = shares.map((share) => {
    const used = views.filter((view) => free(view) >= share);
    return sightOf(used, share, freezing_level_km);
  });
  return sights.reduce((best, sight) => (sight.index > best.index ? sight : best), NOTHING);
}

function sightOf(used: readonly View[], beam_blockage: number, freezing_level_km: number): Sight {
  const sample_coverage = sampleCoverage(used, freezing_level_km);
  const dual_pol_availability = Math.max(...used.map(({ distance_km }) => dualPol(distance_km)));
  const lowest_km = Math.min(
    ...used.map((view) => view.antenna_above_km + beamAt(view.distance_km, LOWEST_TILT_DEG).bottom_km),
  );
  const index =
    (0.65 * sample_coverage * meltingSeen(lowest_km) +
      0.2 * sample_coverage * beam_blockage +
      0.15 * dual_pol_availability) *
    Math.sqrt(beam_blockage);
  return { index, used, components: { sample_coverage, beam_blockage, dual_pol_availability } };
}

/** The nearest site, and the nearest few within reach, nearest first; equal distances in the order of the list. */
function lookAround(position: Position, { sites, ground_m }: QualityInput): { nearest: View | null; views: View[] } {
  const rough = sites.map((site) => ({ site, rough_km: roughDistanceKm(site, position) }));
  const closest_km = Math.min(...rough.map(({ rough_km }) => rough_km));
  const near = rough
    .filter(({ rough_km }) => rough_km <= 1.01 * Math.max(closest_km, REACH_KM))
    .map(({ site }) => ({
      site,
      antenna_above_km: (site.antenna_m - ground_m) / 1000,
      distance_km: distanceKm(site, position),
      azimuth_deg: azimuthDeg(site, position),
    }))
    .sort((a, b) => a.distance_km - b.distance_km);
  return {
    nearest: near[0] ?? null,
    views: near.filter(({ distance_km }) => distance_km <= REACH_KM).slice(0, RADARS),
  };
}

function azimuthDeg(from: Position, to: Position): number {
  const azimuth = geodesic.Geodesic.WGS84.Inverse(from.lat, from.lon, to.lat, to.lon).azi1 as number;
  return (azimuth + 360) % 360;
}

/** Share of the layer of hail growth that is sampled, weighted with how much hail grows there, 0..1. */
function sampleCoverage(views: readonly View[], freezing_level_km: number): number {
  const sampled = views.map((view) => {
    const beams = TILTS_DEG.map((tilt_deg) => beamAt(view.distance_km, tilt_deg));
    const resolution = Math.exp(-(((beams[0] as Beam).width_km / WIDTH_SCALE_KM) ** 2));
    return (height_km: number) => resolution * sampling(beams, height_km - view.site.antenna_m / 1000);
  });
  let seen = 0;
  let all = 0;
  const steps = Math.round(LAYER_KM / STEP_KM);
  for (let step = 0; step <= steps; step++) {
    const above_km = step * STEP_KM;
    const weight =
      above_km < LAYER_PEAK_KM ? above_km / LAYER_PEAK_KM : (LAYER_KM - above_km) / (LAYER_KM - LAYER_PEAK_KM);
    all += weight;
    seen += weight * Math.max(...sampled.map((at) => at(freezing_level_km + above_km)));
  }
  return seen / all;
}

/** How well tilts sample a height above the antenna: 1 inside a beam, less in a gap between two, 0 outside all. */
function sampling(beams: readonly Beam[], height_km: number): number {
  let gap_km = Number.POSITIVE_INFINITY;
  let below = false;
  let above = false;
  for (const { bottom_km, top_km } of beams) {
    if (height_km >= bottom_km && height_km <= top_km) return 1;
    if (height_km > top_km) below = true;
    else above = true;
    gap_km = Math.min(gap_km, Math.max(bottom_km - height_km, height_km - top_km));
  }
  return below && above ? Math.exp(-((gap_km / GAP_SCALE_KM) ** 2)) : 0;
}

function dualPol(distance_km: number): number {
  return distance_km <= DUAL_POL_FULL_KM
    ? 1
    : 1 - (0.5 * (distance_km - DUAL_POL_FULL_KM)) / (REACH_KM - DUAL_POL_FULL_KM);
}

/** Factor for hail that melts below the lowest beam, by the height of the beam's bottom above the ground. */
function meltingSeen(bottom_km: number): number {
  const share = Math.min(1, Math.max(0, (bottom_km - UNSEEN_FROM_KM) / (UNSEEN_TO_KM - UNSEEN_FROM_KM)));
  return 1 - share * (1 - UNSEEN_FACTOR);
}

/** Height above the ground of the centre of the lowest usable beam; none when terrain blocks all. */
function lowestUsable(view: View, blocked: (view: View, tilt_deg: number) => number): number[] {
  const tilt_deg = TILTS_DEG.find((tilt) => blocked(view, tilt) <= BLOCKED_MAX);
  return tilt_deg === undefined ? [] : [view.antenna_above_km + beamAt(view.distance_km, tilt_deg).centre_km];
}
