import terrain from '../../data/reference/terrain.json' with { type: 'json' };
import { heightAt } from '../geo/heights.ts';
import type { Position } from '../geo/position.ts';

/**
 * Height of the ground above sea level, m, from a coarse model of the lattice; sea level outside it. Nine in ten airports lie within
 * 60 m of it east of 102 W, within 230 m west of it. Source: data/reference/README.md.
 */
export function groundM({ lat, lon }: Position): number {
  return heightAt(terrain, terrain.heights_m, lat, lon) || 0;
}
