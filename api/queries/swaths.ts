import { LRUCache } from 'lru-cache';
import type { Edition } from '../published/catalog.ts';
import type { Engine } from '../published/duckdb.ts';
import { memoize } from '../published/memoize.ts';
import type { Region } from '../rules/region.ts';
import { type DrawnTier, tierBounds } from '../rules/swath-tiers.ts';
import { drawSwath } from './draw-swath.ts';
import { countDetections, type DetectionCounts, readMaximum } from './swath-pixels.ts';

/** Asks for the footprint of a storm date. */
interface SwathQuestion {
  readonly date: string;
  readonly region: Region;
  readonly min_size_mm: number;
  readonly simplify_m: number;
}

/** Footprint of a storm date in a region, and the detections behind it. */
export interface SwathAnswer extends DetectionCounts {
  readonly tiers: readonly DrawnTier[];
}

/** Answers in memory per engine, and positions of their geometries altogether: 70 bytes each. */
const ANSWERS_MAX = { max: 64, maxSize: 400_000 } as const;

const answersBy = new WeakMap<Engine, LRUCache<string, Promise<SwathAnswer>>>();

/** Tables that a swath is made of. */
export const SWATH_TABLES = ['day-max', 'detections'] as const;

/**
 * Footprint and detections of a storm date in a region. The same question about the same version of the data is computed once
 * for all that ask it; failures are forgotten.
 */
export function swathOf(engine: Engine, edition: Edition, question: SwathQuestion): Promise<SwathAnswer> {
  const { date, region, min_size_mm, simplify_m } = question;
  const version = edition.version(SWATH_TABLES, [date]);
  const key = JSON.stringify([version, date, region.bbox, region.state, min_size_mm, simplify_m]);
  const answers = answersBy.get(engine) ?? new LRUCache({ ...ANSWERS_MAX, sizeCalculation: () => 1 });
  answersBy.set(engine, answers);
  return memoize(answers, key, async () => {
    const answer = await computeSwath(engine, edition, question);
    const positions = answer.tiers.reduce((sum, { geometry }) => sum + positionsOf(geometry), 1);
    answers.set(key, Promise.resolve(answer), { size: positions });
    return answer;
  });
}

async function computeSwath(engine: Engine, edition: Edition, question: SwathQuestion): Promise<SwathAnswer> {
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

function positionsOf(geometry: DrawnTier['geometry']): number {
  return geometry.reduce((sum, rings) => sum + rings.reduce((inner, ring) => inner + ring.length, 0), 0);
}
