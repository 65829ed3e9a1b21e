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

/** Scans of an evening between two months, over the same pixels. */
export const betweenMonths = worldOver(WINDOW, ['2026-03-31', '2026-04-01']).scansBetween;

/** Scans around the midnight after that of `scansBetween`, over the same pixels. */
export const nextMidnight = () => worldOver(WINDOW, ['2026-05-02', '2026-05-03']).midnight();
