import coarse from '../../data/reference/terrain.json' with { type: 'json' };
import type { Blockage } from '../geo/blockage.ts';
import { heightAt } from '../geo/heights.ts';
import type { Position } from '../geo/position.ts';

/**
 * Height of the ground above sea level, m, from a terrain model; where that knows none, from a coarse model of the lattice, and sea
 * level outside it. Nine in ten airports lie within 60 m of the coarse one east of 102 W, within 230 m west of it. Source:
 * data/reference/README.md.
 */
export function groundM(position: Position, terrain: Blockage | null): number {
  const { lat, lon } = position;
  return terrain?.groundM(position) ?? (heightAt(coarse, coarse.heights_m, lat, lon) || 0);
}
