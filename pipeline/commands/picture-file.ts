import { windowBbox } from '../../schemas/geo/lattice.ts';
import { ATTRIBUTIONS } from '../../schemas/provenance.ts';
import { DETECTION_MIN_MM, EVENT_MIN_MM } from '../../schemas/size.ts';
import type { GridPicture } from '../picture/picture.ts';
import { readAnyGrid } from '../read/layers.ts';
import { hailField } from '../read/mrms.ts';
import { badFile } from '../read/rejected-item.ts';
import { uncoveredBlocks } from '../read/uncovered.ts';

/** MESH of one scan, or its maximum over the minutes that the name of the product ends with. */
const HAIL_PRODUCT = /^MESH(?:_Max_(\d+)min)?$/;
/** MRMS grids are works of the federal government of the United States. */
const PUBLIC_DOMAIN = 'public domain';

/**
 * What a picture shows of an MRMS file of hail sizes: GRIB2, gzipped or not, or GeoTIFF. Throws BadInput when the file is
 * damaged, holds another product, or lies on another grid.
 */
export async function readGridPicture(bytes: Uint8Array, path: string): Promise<GridPicture> {
  const grid = await readAnyGrid(bytes, path);
  const [name, minutes] = HAIL_PRODUCT.exec(grid.product) ?? [];
  if (name === undefined)
    throw badFile(path, `product ${grid.product}, expected MESH or a maximum such as MESH_Max_1440min`);
  const { window, rowStart, col, tenths } = hailField(grid, path);
  const period_min = minutes === undefined ? null : Number(minutes);
  const least_tenths = 10 * (period_min === null ? DETECTION_MIN_MM : EVENT_MIN_MM);
  const pixels: { row: number; col: number; estimated_size_mm: number }[] = [];
  for (let row = 0; row < window.rows; row++)
    for (let i = rowStart[row] as number; i < (rowStart[row + 1] as number); i++)
      if (tenths[i] >= least_tenths)
        pixels.push({ row: window.row0 + row, col: col[i], estimated_size_mm: tenths[i] / 10 });
  return {
    kind: 'grid',
    product: grid.product,
    period_min,
    data_time: grid.scan_time,
    simulated: grid.simulated,
    attribution: grid.simulated ? ATTRIBUTIONS.simulated : `${ATTRIBUTIONS.observed}, ${PUBLIC_DOMAIN}`,
    pixels,
    uncovered: uncoveredBlocks(grid),
    lattice: window.lattice,
    bounds: windowBbox(window),
  };
}
