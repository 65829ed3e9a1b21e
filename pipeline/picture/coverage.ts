import { LATTICES } from '../../schemas/geo/lattice.ts';

import type { Bbox } from '../../schemas/geo/position.ts';
import { type MultiPolygon, type Ring, traceMultiPolygon } from '../../schemas/geo/rings.ts';
import { BASEMAP } from '../../schemas/palette.ts';
import type { UncoveredBlocks } from '../grid.ts';
import type { MapView } from './map-view.ts';
import { element, polygonPath } from './svg.ts';

const HATCH = 'unseen';
const HATCH_PX = 7;
/** Longest straight side of an outline: parallels are curved on the map. */
const LONGEST_SIDE_DEG = 1;

/** Area that no radar covers, hatched: blocks of the grid, and everything outside it. */
export function drawUncovered(view: MapView, blocks: UncoveredBlocks, bounds: Bbox): string {
  const [west, south, east, north] = bounds;
  const grid: Ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
  const { x, y, width, height } = view.area;
  const d = [
    `M${x} ${y}h${width}v${height}h${-width}Z`,
    polygonPath(view, [[refined(grid)]]),
    polygonPath(
      view,
      uncoveredArea(blocks, bounds).map((polygon) => polygon.map(refined)),
    ),
  ].join('');
  return element('path', { d, 'fill-rule': 'evenodd', fill: `url(#${HATCH})` });
}

/** The hatching, and the ground under it. */
export const HATCHING = element(
  'pattern',
  { id: HATCH, width: HATCH_PX, height: HATCH_PX, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
  [
    element('rect', { width: HATCH_PX, height: HATCH_PX, fill: BASEMAP.outside, opacity: 0.75 }),
    element('path', { d: `M0 0V${HATCH_PX}`, stroke: BASEMAP.border, 'stroke-width': 2 }),
  ].join(''),
);

/** Swatch of the hatching for the legend. */
export function drawHatch(x: number, y: number): string {
  return element('rect', { x, y: y - 8, width: 34, height: 16, fill: `url(#${HATCH})`, stroke: BASEMAP.border });
}

/** Outline of uncovered blocks; the last blocks of a grid may be cut by its bounds. */
function uncoveredArea({ north, west, step_deg, runs }: UncoveredBlocks, bounds: Bbox): MultiPolygon {
  const blocks = runs.flatMap(([row, start, end]) =>
    Array.from({ length: end - start }, (_, i) => ({ row, col: start + i })),
  );
  const outline = traceMultiPolygon({
    lattice: LATTICES.conus,
    rows: blocks.map(({ row }) => row),
    cols: blocks.map(({ col }) => col),
  });
  // The outline counts blocks as pixels of CONUS, whatever their lattice, from its north-western corner on.
  const { step: unit_deg, west: first_lon, north: first_lat } = LATTICES.conus;
  const scale = step_deg / unit_deg;
  return outline.map((polygon) =>
    polygon.map((ring) =>
      ring.map(([lon, lat]) => [
        Math.min(west + scale * ((lon as number) - first_lon), bounds[2]),
        Math.max(north - scale * (first_lat - (lat as number)), bounds[1]),
      ]),
    ),
  );
}

/** A ring with further positions on its long sides. */
function refined(ring: Ring): Ring {
  return ring.flatMap((corner, i) => {
    const [lon, lat] = corner as [number, number];
    const [nextLon, nextLat] = (ring[i + 1] ?? corner) as [number, number];
    const pieces = Math.max(1, Math.ceil(Math.hypot(nextLon - lon, nextLat - lat) / LONGEST_SIDE_DEG));
    return Array.from({ length: pieces }, (_, k) => [
      lon + ((nextLon - lon) * k) / pieces,
      lat + ((nextLat - lat) * k) / pieces,
    ]);
  });
}
