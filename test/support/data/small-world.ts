import type { Window } from '../../../schemas/geo/lattice.ts';
import { worldOver } from './world.ts';

const WINDOW: Window = { row0: 1930, col0: 3240, rows: 90, cols: 90 };

/**
 * The evening over 90 x 90 pixels around the radar KTLX, with tracks on each side of midnight and some that cross it: enough for
 * questions of order, faults and files, at less than half the work of the tiny world.
 */
export const { rawScans, scansBetween, midnight } = worldOver(WINDOW);

/** Six scans, three on each side of midnight: enough for questions of order, at half the work of `midnight`. */
export const aroundMidnight = () => scansBetween('23:54', '00:06');
