import { LRUCache } from 'lru-cache';
import { detectionQuality } from '../../schemas/geo/beam.ts';
import type { Blockage } from '../../schemas/geo/blockage.ts';
import { isOnLattice } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { groundM } from '../../schemas/reference/terrain.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import type { DetectionQualityBlock } from '../../schemas/resources/detection-quality.ts';
import type { TerrainModel } from '../published/terrain.ts';
import { rounded } from './rounded.ts';

/**
 * Detection quality of a place in a month, 1 to 12, from the WSR-88D sites and the table of freezing levels on days with
 * hail; the pipeline computes its confidence from the same. Without a terrain model no beam is blocked. A place off the lattice,
 * where no data can exist, is never covered.
 */
export function qualityAt(position: Position, month: number, terrain: Blockage | null) {
  const { covered, ...block } = detectionQuality(position, {
    sites: WSR88D,
    freezing_level_km: hailDayFreezingLevelKm(position.lat, month),
    ground_m: groundM(position, terrain),
    blockage: terrain?.blocked,
  });
  const { components, nearest_radar } = block;
  const shown: DetectionQualityBlock = {
    ...block,
    components: {
      sample_coverage: rounded(components.sample_coverage, 3),
      beam_blockage: rounded(components.beam_blockage, 3),
      dual_pol_availability: rounded(components.dual_pol_availability, 3),
    },
    nearest_radar: nearest_radar && { id: nearest_radar.id, distance_km: rounded(nearest_radar.distance_km, 2) },
  };
  return { covered: covered && isOnLattice(position), block: shown };
}

/** Most blocks kept by terrain: a block takes 0.2 ms, and one answer may need hundreds. */
const KEPT_MAX = 20_000;
const NO_TERRAIN = {};
const kept = new WeakMap<object, LRUCache<string, DetectionQualityBlock>>();

export function pixelQuality(position: Position, month: number, terrain: Blockage | null): DetectionQualityBlock {
  const blocks = kept.get(terrain ?? NO_TERRAIN) ?? new LRUCache({ max: KEPT_MAX });
  kept.set(terrain ?? NO_TERRAIN, blocks);
  const key = `${position.lat} ${position.lon} ${month}`;
  const block = blocks.get(key) ?? qualityAt(position, month, terrain).block;
  blocks.set(key, block);
  return block;
}

/** Month of the year, 1 to 12, of an instant. */
export function monthOfYear(time_ms: number): number {
  return new Date(time_ms).getUTCMonth() + 1;
}

/** Note that explains the index and its terrain model. */
export function qualityNote(terrain: TerrainModel | null, isReached: boolean): string {
  const prior = 'A prior from radar geometry and the height of the freezing level, not a measured hit rate. ';
  if (!isReached) return `${prior}No radar lies within 230 km: nothing is sampled.`;
  if (terrain === null) return `${prior}No terrain model is loaded: beam_blockage is 1.`;
  const outside = WSR88D.filter(({ id }) => !terrain.radars.has(id)).length;
  const unknown = outside === 0 ? '' : `; ${outside} of ${WSR88D.length} radars lie outside it and count as unblocked`;
  return `${prior}Beam blockage is computed from the terrain model ${terrain.file} (${Number(terrain.step_arcsec.toPrecision(3))} arc-seconds)${unknown}.`;
}
