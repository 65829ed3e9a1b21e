import type { Edition } from '../catalog.ts';
import type { Engine } from '../duckdb.ts';
import type { Region } from '../rules/region.ts';
import { type DrawnTier, tierBounds } from '../rules/swath-tiers.ts';
import { drawSwath } from './draw-swath.ts';
import { countDetections, type DetectionCounts, readMaximum } from './swath-pixels.ts';

/** What a swath is asked for. */
export interface SwathQuestion {
  readonly date: string;
  readonly region: Region;
  readonly min_size_mm: number;
  readonly simplify_m: number;
}

/** Footprint of a storm date in a region, and the detections it stands on. */
export interface SwathAnswer extends DetectionCounts {
  readonly tiers: readonly DrawnTier[];
}

/** Answers remembered per engine, and positions of their geometries altogether: 70 bytes each. */
const ANSWERS_KEPT = 64;
const POSITIONS_KEPT = 400_000;

interface Kept {
  readonly answer: Promise<SwathAnswer>;
  positions: number;
}

const keptBy = new WeakMap<Engine, Map<string, Kept>>();

/** Tables that a swath is made of. */
export const SWATH_TABLES = ['day-max', 'detections'] as const;

/**
 * Footprint and detections of a storm date in a region. The same question about the same version of the data is worked out
 * once, however often and however many at a time ask it; failures are forgotten.
 */
export function swathOf(engine: Engine, edition: Edition, question: SwathQuestion): Promise<SwathAnswer> {
  const { date, region, min_size_mm, simplify_m } = question;
  const version = edition.version(SWATH_TABLES, [date]);
  const key = JSON.stringify([version, date, region.bbox, region.state, min_size_mm, simplify_m]);
  const kept = keptBy.get(engine) ?? new Map<string, Kept>();
  keptBy.set(engine, kept);
  const found = kept.get(key);
  if (found !== undefined) {
    kept.delete(key);
    kept.set(key, found); // most lately asked last
    return found.answer;
  }
  const made: Kept = { answer: workOut(engine, edition, question), positions: 0 };
  kept.set(key, made);
  made.answer.then(
    ({ tiers }) => {
      made.positions = tiers.reduce((sum, { geometry }) => sum + positionsOf(geometry), 0);
      forget(kept);
    },
    () => kept.delete(key),
  );
  return made.answer;
}

async function workOut(engine: Engine, edition: Edition, question: SwathQuestion): Promise<SwathAnswer> {
  const { date, region, min_size_mm, simplify_m } = question;
  const { window, runs, bbox } = region;
  const [lowest] = tierBounds(min_size_mm);
  if (window === null) return { tiers: [], n_detections: 0, max_size_mm: null, at_bound: new Map() };
  const pathsOf = (table: string, from_mm: number) => edition.paths(table, [date], { bbox, min_size_mm: from_mm });
  const [counts, pixels] = await Promise.all([
    countDetections(engine, pathsOf('detections', min_size_mm), { window, runs }, min_size_mm),
    lowest === undefined
      ? null
      : readMaximum(engine, pathsOf('day-max', lowest.threshold_mm), { window, runs }, lowest.threshold_mm),
  ]);
  const tiers = pixels === null || pixels.mm.length === 0 ? [] : await drawSwath(pixels, min_size_mm, simplify_m);
  return { ...counts, tiers };
}

/** Drops the answers asked for longest ago until the rest is small enough. */
function forget(kept: Map<string, Kept>): void {
  let positions = 0;
  for (const one of kept.values()) positions += one.positions;
  for (const [key, one] of kept) {
    if (kept.size <= ANSWERS_KEPT && positions <= POSITIONS_KEPT) return;
    kept.delete(key);
    positions -= one.positions;
  }
}

function positionsOf(geometry: DrawnTier['geometry']): number {
  return geometry.reduce((sum, rings) => sum + rings.reduce((inner, ring) => inner + ring.length, 0), 0);
}
