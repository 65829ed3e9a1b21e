import type { Blockage } from '../../schemas/geo/blockage.ts';
import { LATTICE, pixelAreaKm2 } from '../../schemas/geo/lattice.ts';
import { type HailCell, type ImpactBlock, LOOKBACK_MIN, type StormBlock } from '../../schemas/resources/hail-cell.ts';
import { SIZE_BANDS, sizeCategory } from '../../schemas/size.ts';
import type { Detection } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Found, LiveSnapshot, Place } from '../published/live.ts';
import { damageWord, hailDuration, kineticEnergy, terminalVelocity } from './damage.ts';
import { monthOfYear, pixelQuality } from './detection-quality.ts';
import { radarBlock } from './radar-block.ts';
import { rounded } from './rounded.ts';

/** Smallest hail that counts for a duration and a swath area, mm. */
const SEVERE_MM = SIZE_BANDS[0].threshold_mm;

/** Start of the look-back of current conditions, epoch milliseconds. */
export function lookbackStart(now_ms: number): number {
  return now_ms - LOOKBACK_MIN * 60_000;
}

/** Sums the detections of a place up over the scans since an instant; the place has at least one. Sizes are not rounded. */
export function placeHail({ item: place, distance_km }: Found<Place>, sizes: ArrayLike<number>, since_ms: number) {
  const scans = place.scans.filter(({ scan_time }) => scan_time >= since_ms);
  const sizeOf = (index: number) => sizes[index];
  const first = scans[0]?.largest ?? 0;
  const largest = scans.reduce((best, scan) => (sizeOf(scan.largest) >= sizeOf(best) ? scan.largest : best), first);
  return {
    place,
    distance_km,
    /** Index of the largest detection of the look-back; of equals the newest. */
    largest,
    estimated_size_mm: sizeOf(largest),
    ml_predicted_size_mm: Math.max(...scans.map(({ max_ml_mm }) => max_ml_mm)),
    confidence: Math.max(...scans.map(({ max_confidence }) => max_confidence)),
    scan_count: scans.length,
    /** Scans with hail >= 19 mm, oldest first. */
    severe_scans: scans.filter((scan) => sizeOf(scan.largest) >= SEVERE_MM).map(({ scan_time }) => scan_time),
  };
}
export type PlaceHail = ReturnType<typeof placeHail>;

/** A place as the interface shows it, without the advanced blocks. */
export function hailCell(hail: PlaceHail, now_ms: number): HailCell {
  const { geohash5, lat, lon, last_detected } = hail.place;
  return {
    geohash5,
    lat: rounded(lat, 5),
    lon: rounded(lon, 5),
    distance_km: rounded(hail.distance_km, 2),
    age_seconds: Math.max(0, Math.floor((now_ms - last_detected) / 1000)),
    last_detected: timestamp(last_detected),
    scan_count: hail.scan_count,
    hail: {
      estimated_size_mm: rounded(hail.estimated_size_mm, 1),
      ml_predicted_size_mm: rounded(hail.ml_predicted_size_mm, 1),
      size_category: sizeCategory(hail.estimated_size_mm),
      confidence: rounded(hail.confidence, 3),
    },
  };
}

type Advanced = Required<Pick<HailCell, 'radar' | 'storm' | 'impact' | 'detection_quality'>>;

/** Makes the advanced blocks of the places of one answer; `terrain` has the beams that terrain blocks, and the ground. */
export function advancedBlocks(
  snapshot: LiveSnapshot,
  since_ms: number,
  now_ms: number,
  terrain: Blockage | null,
): (hail: PlaceHail) => Advanced {
  const areas = new Map<string, number>();
  const areaOf = (track_id: string) => {
    const area_km2 = areas.get(track_id) ?? severeArea(track_id, snapshot, since_ms);
    areas.set(track_id, area_km2);
    return area_km2;
  };
  return (hail) => {
    const largest = snapshot.detections.at(hail.largest);
    const newest = snapshot.detections.at(hail.place.scans.at(-1)?.largest ?? hail.largest);
    return {
      radar: radarBlock(largest.estimated_size_mm, largest, largest, largest.scan_time, terrain),
      storm: stormBlock(newest, snapshot),
      impact: impactBlock(hail, snapshot, since_ms, newest.track_id === null ? null : areaOf(newest.track_id)),
      detection_quality: pixelQuality(hail.place, monthOfYear(now_ms), terrain),
    };
  };
}

function stormBlock({ scan_time, cell_index, track_id }: Detection, snapshot: LiveSnapshot): StormBlock {
  const cell = snapshot.cell(scan_time, cell_index);
  const seen = (track_id === null ? undefined : snapshot.storm(track_id))?.seen ?? null;
  return {
    track_id: seen?.track_id ?? null,
    area_km2: rounded(cell?.area_km2 ?? null, 1),
    p90_mm: rounded(cell?.p90_mm ?? null, 1),
    major_axis_km: rounded(cell?.major_axis_km ?? null, 2),
    minor_axis_km: rounded(cell?.minor_axis_km ?? null, 2),
    orientation_deg: rounded(cell?.orientation_deg ?? null, 0),
    speed_kmh: rounded(seen?.speed_kmh ?? null, 1),
    direction_deg: wholeDirection(seen?.direction_deg ?? null),
    trend: seen?.trend ?? null,
    age_min: rounded(seen?.duration_min ?? null, 1),
  };
}

/** A direction in whole degrees, 0 to 359. */
export function wholeDirection(direction_deg: number | null): number | null {
  return direction_deg === null ? null : rounded(direction_deg, 0) % 360;
}

/** Kinetic energy is that of the echoes of the lowest beams at the largest hail of each scan of the look-back. */
function impactBlock(
  { place, estimated_size_mm, severe_scans }: PlaceHail,
  { detections }: LiveSnapshot,
  since_ms: number,
  swath_area_km2: number | null,
): ImpactBlock {
  const reflectivities = detections.column('lowest_reflectivity_dbz');
  const echoes = place.scans
    .filter(({ scan_time }) => scan_time >= since_ms)
    .map(({ scan_time, largest }) => ({ scan_time, reflectivity_dbz: reflectivities[largest] ?? null }));
  return {
    hail_duration_min: rounded(hailDuration(severe_scans), 1),
    kinetic_energy_j_m2: rounded(kineticEnergy(echoes), 1),
    terminal_velocity_m_s: rounded(terminalVelocity(estimated_size_mm), 1),
    swath_area_km2: rounded(swath_area_km2, 1),
    roof_damage_potential: damageWord(estimated_size_mm, 'roof'),
    vehicle_damage_potential: damageWord(estimated_size_mm, 'vehicle'),
  };
}

/** Area of the pixels where a track brought hail >= 19 mm since an instant, km2: each pixel once. */
function severeArea(track_id: string, { detections, detectionsOfTrack }: LiveSnapshot, since_ms: number): number {
  const [rows, cols] = [detections.column('row'), detections.column('col')];
  const [sizes, times] = [detections.column('estimated_size_mm'), detections.column('scan_time')];
  const pixels = new Set<number>();
  for (const index of detectionsOfTrack(track_id)) {
    if (sizes[index] < SEVERE_MM || times[index] < since_ms) continue;
    pixels.add(rows[index] * LATTICE.cols + cols[index]);
  }
  let area_km2 = 0;
  for (const pixel of pixels) area_km2 += pixelAreaKm2(Math.floor(pixel / LATTICE.cols));
  return area_km2;
}
