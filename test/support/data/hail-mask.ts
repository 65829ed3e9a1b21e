import type { HailField, ScanInput } from '../../../pipeline/grid.ts';
import { CELL_GROW_MM } from '../../../schemas/size.ts';

/**
 * Where real rain-rate frames show hail. MRMS caps the rate at 2.12 in/h where its MESH is above zero (NSSL's note on the
 * hail cap): 53.8 mm/h exactly marks hail cores, rates above it are rain without hail.
 */
const HAIL_CAP_TENTHS = 538;
/** Rates from here on are cores of heavy rain, hail or not: what other trackers and nowcasts are compared on. */
const CORE_TENTHS = 500;
/** 50 mm/h stands for 19 mm of hail. */
const RATE_PER_SIZE = 2.63;
/**
 * The mask has no sizes: 19 mm at its edge, and so much more with each pixel inwards. The largest hail of the one real MESH
 * scan falls to half within 2 to 4 pixels; half of a 38 mm core within 4 is 5 mm a pixel.
 */
const EDGE_TENTHS = 190;
const TENTHS_PER_PIXEL = 50;

/**
 * Ways to read hail out of rain. `hail`: the mask of the hail cap, with the sizes above. `cores`: rates from 50 mm/h on, as
 * hail of rate / 2.63. `rain`: every rate as hail of rate / 2.63.
 */
export const STAND_INS = ['hail', 'cores', 'rain'] as const;
export type StandIn = (typeof STAND_INS)[number];

/** Rain from here on shows how its pattern moves: what is lighter is wide, slow to match and smooth. */
const PATTERN_TENTHS = 50;

/** The rates whose pattern shows how rain moves. */
export function patternField(rates: HailField): HailField {
  return pixelsWhere(rates, (tenths) => tenths >= PATTERN_TENTHS);
}

/** Neighbours of the hail cap, tenths to either side, and how many times their mean count marks the cap as a mask of hail. */
const CAP_NEIGHBOURS = 5;
const CAP_EXCESS = 5;

/**
 * True where the hail cap stands out among its neighbours: fields of other makers have no mask of hail. Those that come in few
 * classes have no neighbours.
 */
export function hasHailMask(fields: readonly HailField[]): boolean {
  let [capped, neighbours] = [0, 0];
  for (const { tenths } of fields)
    for (const value of tenths) {
      if (value === HAIL_CAP_TENTHS) capped += 1;
      else if (Math.abs(value - HAIL_CAP_TENTHS) <= CAP_NEIGHBOURS) neighbours += 1;
    }
  return neighbours > 0 && capped >= (CAP_EXCESS * neighbours) / (2 * CAP_NEIGHBOURS);
}

/** A scan of hail alone, without any other product. */
export function scanOfMesh(scan_time: number, mesh: HailField, simulated: boolean): ScanInput {
  const companions = {};
  return { scan_time, simulated, mesh, companions, uncovered: null, probsevere: null, products: ['MESH'] };
}

/** A frame of rain rates as a scan of hail, without companions; no pixel where the stand-in sees none. */
export function standInScan(scan_time: number, rates: HailField, standIn: StandIn): ScanInput {
  return scanOfMesh(scan_time, standInField(rates, standIn), false);
}

/** The field of sizes that stands for a field of rain rates. */
export function standInField(rates: HailField, standIn: StandIn): HailField {
  if (standIn === 'hail') return withDepths(pixelsWhere(rates, (tenths) => tenths === HAIL_CAP_TENTHS));
  const from = standIn === 'cores' ? CORE_TENTHS : Math.ceil(10 * CELL_GROW_MM * RATE_PER_SIZE);
  const field = pixelsWhere(rates, (tenths) => tenths >= from);
  return { ...field, tenths: field.tenths.map((tenths) => Math.floor(tenths / RATE_PER_SIZE)) };
}

function pixelsWhere(field: HailField, keeps: (tenths: number) => boolean): HailField {
  const rowStart = new Uint32Array(field.window.rows + 1);
  const kept: number[] = [];
  for (let row = 0; row < field.window.rows; row++) {
    for (let pixel = field.rowStart[row]; pixel < field.rowStart[row + 1]; pixel++)
      if (keeps(field.tenths[pixel])) kept.push(pixel);
    rowStart[row + 1] = kept.length;
  }
  return {
    ...field,
    rowStart,
    col: Uint16Array.from(kept, (pixel) => field.col[pixel]),
    tenths: Uint16Array.from(kept, (pixel) => field.tenths[pixel]),
  };
}

/** Sizes by the distance to the edge, in steps to any of the eight neighbours. */
function withDepths(mask: HailField): HailField {
  const rowOf = new Uint16Array(mask.col.length);
  for (let row = 0; row < mask.window.rows; row++) rowOf.fill(row, mask.rowStart[row], mask.rowStart[row + 1]);
  const placeOf = (pixel: number) => rowOf[pixel] * mask.window.cols + mask.col[pixel] - mask.window.col0;
  let inside = new Set(mask.col.keys().map(placeOf));
  const depth = new Uint8Array(mask.col.length);
  while (inside.size > 0) {
    const shell = inside;
    for (const pixel of mask.col.keys()) if (shell.has(placeOf(pixel))) depth[pixel] = depth[pixel] + 1;
    inside = new Set([...shell].filter((place) => isSurrounded(place, shell, mask.window.cols)));
  }
  return { ...mask, tenths: Uint16Array.from(depth, (steps) => EDGE_TENTHS + TENTHS_PER_PIXEL * (steps - 1)) };
}

function isSurrounded(place: number, shell: ReadonlySet<number>, cols: number): boolean {
  for (const row of [-cols, 0, cols]) for (const col of [-1, 0, 1]) if (!shell.has(place + row + col)) return false;
  return true;
}
