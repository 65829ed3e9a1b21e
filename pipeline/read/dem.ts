import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { inflateSync } from 'node:zlib';
import type { GeoTIFFImage } from 'geotiff';
import { KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import { BadInput } from '../error.ts';
import type { HeightGrid } from '../grid.ts';
import { badFile } from './rejected-item.ts';

/** Heights closer together than this are averaged: farther than 16 km from a radar its beam is wider, km. */
const CELL_KM = 0.25;
/** Nothing on land or sea floor lies outside these, m: a value that does is a void that the file does not declare. */
const HEIGHT_MIN_M = -12_000;
const HEIGHT_MAX_M = 9000;
/** Geographic coordinate systems that are the same within 2 m: WGS84, NAD83, WGS84 with height. */
const WGS84 = [4326, 4269, 4979];
const GEOGRAPHIC = 2;
const DEGREE = 9102;
const METRE = 9001;
const USER_DEFINED = 32767;
const PIXEL_IS_POINT = 2;
/** TIFF compression codes of deflate. */
const DEFLATE = [8, 32946];
/** Largest tile or strip; usual ones have some hundred kilobytes. */
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;
/** Bytes decoded at a time, unless a single block is larger. */
const PIECE_BYTES = 32 * 1024 * 1024;

/** A terrain model that is open; `readRows` throws BadInput where the file turns out to be damaged. */
export interface Dem extends HeightGrid {
  /** File name without its folder. */
  readonly file: string;
  /** Spacing of its heights from north to south, arc-seconds, before any averaging. */
  readonly step_arcsec: number;
  readonly close: () => Promise<void>;
}

/**
 * Opens a terrain model: first band of a GeoTIFF, north up, on WGS84 longitudes and latitudes, heights in metres. Heights
 * closer together than about 250 m are averaged in square groups; unknown ones (NaN, the file's nodata value, no height on
 * earth) are left out of the average. `in_metres` states the unit where the file does not.
 *
 * Throws BadInput, with the value found, when the file is anything else; errors of the file system pass through.
 */
export async function openDem(path: string, in_metres: boolean): Promise<Dem> {
  const { fromFile } = await tiffLibrary();
  return explained(path, async () => {
    // The library would wait on a pipe without end.
    if (!(await stat(path)).isFile()) throw badFile(path, 'not a regular file, expected one');
    const tiff = await fromFile(path);
    try {
      const image = await tiff.getImage();
      checkHeights(image, path, in_metres);
      await checkBlocks(image, path);
      return { file: basename(path), ...gridOf(image, path), close: async () => void (await tiff.close()) };
    } catch (error) {
      await tiff.close();
      throw error;
    }
  });
}

/** The GeoTIFF library with a bounded deflate. */
async function tiffLibrary() {
  const library = await import('geotiff');
  // The library's own inflate has no bound: a small tile could unfold to gigabytes.
  class BoundedDeflate extends library.BaseDecoder {
    override decodeBlock(block: ArrayBufferLike): ArrayBufferLike {
      const { tileWidth, tileHeight, bitsPerSample } = this.parameters;
      // One band: its bits are a number, or a list of one.
      const maxOutputLength = Math.max(1, Math.ceil((tileWidth * tileHeight * Number(bitsPerSample)) / 8));
      return new Uint8Array(inflateSync(new Uint8Array(block), { maxOutputLength })).buffer;
    }
  }
  library.addDecoder(DEFLATE, async () => BoundedDeflate);
  return library;
}

/** Errors of the library are faults of the file; those of the file system are not. */
async function explained<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const isOfTheDisk = (cause as NodeJS.ErrnoException).syscall !== undefined;
    if (cause instanceof BadInput || isOfTheDisk) throw cause;
    throw badFile(path, `is no GeoTIFF that can be read: ${cause instanceof Error ? cause.message : cause}`, cause);
  }
}

/** Throws BadInput unless the file has heights in metres on longitudes and latitudes. */
function checkHeights(image: GeoTIFFImage, path: string, in_metres: boolean): void {
  const bad = (reason: string) => badFile(path, reason);
  const keys = image.getGeoKeys() ?? {};
  const system = keys.GeographicTypeGeoKey;
  if (keys.ProjectedCSTypeGeoKey !== undefined || (keys.GTModelTypeGeoKey ?? GEOGRAPHIC) !== GEOGRAPHIC)
    throw bad(
      `has a projected coordinate system (${keys.ProjectedCSTypeGeoKey ?? `model type ${keys.GTModelTypeGeoKey}`}), expected longitudes and latitudes on WGS84 (EPSG:4326)`,
    );
  if (system === undefined || !WGS84.includes(system))
    throw bad(`has coordinate system ${system ?? 'none'}, expected EPSG:4326 or 4269`);
  const angle = keys.GeogAngularUnitsGeoKey ?? DEGREE;
  if (angle !== DEGREE && angle !== USER_DEFINED) throw bad(`has angular unit ${angle}, expected degrees (${DEGREE})`);
  const unit = keys.VerticalUnitsGeoKey;
  if (unit !== undefined && unit !== METRE) throw bad(`has heights in unit ${unit}, expected metres (${METRE})`);
  if (unit === undefined && !in_metres)
    throw bad('does not say the unit of its heights, expected metres; if they are, say so with --metres');
  if (image.getSamplesPerPixel() !== 1) throw bad(`has ${image.getSamplesPerPixel()} bands, expected one of heights`);
}

/**
 * Throws BadInput unless image and blocks (tiles or strips) are whole numbers of pixels, blocks fit the memory, and the file holds all
 * of them. A directory may state a side as a float: the library walks over blocks of 1e-300 pixels without end. Missing values of a
 * file that ends early it would read as zeros.
 */
async function checkBlocks(image: GeoTIFFImage, path: string): Promise<void> {
  const sides = [image.getWidth(), image.getHeight(), image.getTileWidth(), image.getTileHeight()];
  if (!sides.every((pixels) => Number.isInteger(pixels) && pixels >= 1))
    throw badFile(path, `has sides and blocks of ${sides.join(', ')} pixels, expected whole numbers from 1`);
  const bytes = image.getTileWidth() * image.getTileHeight() * image.getBytesPerPixel();
  if (!(bytes > 0 && bytes <= MAX_BLOCK_BYTES))
    throw badFile(
      path,
      `has blocks of ${bytes} bytes, expected at most ${MAX_BLOCK_BYTES}: tile it, or give it strips of a few rows`,
    );
  const { size } = await stat(path);
  const kind = image.isTiled ? 'Tile' : 'Strip';
  const offsets = (await image.fileDirectory.loadValue(`${kind}Offsets`)) as ArrayLike<number | bigint>;
  const counts = (await image.fileDirectory.loadValue(`${kind}ByteCounts`)) as ArrayLike<number | bigint>;
  let end = 0;
  for (let i = 0; i < offsets.length; i++) end = Math.max(end, Number(offsets[i]) + Number(counts[i]));
  if (!(end <= size)) throw badFile(path, `ends at byte ${size}, expected ${end}: it is cut off`);
}

function gridOf(image: GeoTIFFImage, path: string): HeightGrid & { readonly step_arcsec: number } {
  const [rows, cols] = [image.getHeight(), image.getWidth()];
  const turned = image.fileDirectory.getValue('ModelTransformation');
  const [tied_lon, tied_lat] = image.getOrigin() as [number, number];
  const [lon_step, down] = image.getResolution() as [number, number];
  const lat_step = -down;
  // The library takes the position of the tie point for that of the corner, whichever pixel is tied.
  const [tied_col, tied_row] = image.fileDirectory.getValue('ModelTiepoint') ?? [0, 0];
  const [west, north] = [tied_lon - tied_col * lon_step, tied_lat + tied_row * lat_step];
  if (turned || !(lon_step > 0 && lat_step > 0 && rows * lat_step <= 181 && cols * lon_step <= 361))
    throw badFile(
      path,
      turned
        ? 'is placed by a transformation, expected a corner and a step'
        : `has ${rows} x ${cols} pixels of ${lat_step} x ${lon_step} degrees from the north-west corner, expected no more than the earth`,
    );
  // The corner of an area, or the centre of a point: the grid starts at the centre of the first group.
  const inset = image.getGeoKeys()?.GTRasterTypeGeoKey === PIXEL_IS_POINT ? 0.5 : 0;
  const group = Math.max(1, Math.floor(CELL_KM / (lat_step * KM_PER_DEG_EQUATOR)));
  const across = Math.max(1, Math.floor(CELL_KM / (lon_step * KM_PER_DEG_EQUATOR)));
  const grid = { rows: Math.ceil(rows / group), cols: Math.ceil(cols / across) };
  return {
    ...grid,
    north_lat: north - (group / 2 - inset) * lat_step,
    west_lon: west + (across / 2 - inset) * lon_step,
    lat_step_deg: group * lat_step,
    lon_step_deg: across * lon_step,
    step_arcsec: lat_step * 3600,
    readRows: (first, count) => explained(path, () => averagedRows(image, group, across, first, count)),
  };
}

/** Means of the known heights of each group of `group` x `across` heights; a group without any is NaN. */
async function averagedRows(
  image: GeoTIFFImage,
  group: number,
  across: number,
  first: number,
  count: number,
): Promise<Float32Array[]> {
  const cols = Math.ceil(image.getWidth() / across);
  const sums = Array.from({ length: count }, () => new Float32Array(cols));
  const known = Array.from({ length: count }, () => new Uint16Array(cols));
  const nodata = image.getGDALNoData();
  const top = first * group;
  const bottom = Math.min(image.getHeight(), (first + count) * group);
  for await (const { row0, col0, width, values } of readPieces(image, top, bottom)) {
    for (let i = 0; i < values.length; i++) {
      const height_m = values[i];
      if (!(height_m >= HEIGHT_MIN_M && height_m <= HEIGHT_MAX_M) || height_m === nodata) continue;
      const row = Math.floor((row0 + Math.floor(i / width)) / group) - first;
      const col = Math.floor((col0 + (i % width)) / across);
      sums[row][col] += height_m;
      known[row][col]++;
    }
  }
  for (const [row, sum] of sums.entries()) for (let col = 0; col < cols; col++) sum[col] /= known[row][col];
  return sums;
}

/** Values of the rows `top` to `bottom` - 1, in rectangles that follow the blocks of the file, each row by row. */
async function* readPieces(image: GeoTIFFImage, top: number, bottom: number) {
  const [blockRows, blockCols] = [image.getTileHeight(), image.getTileWidth()];
  const blocks = Math.floor(PIECE_BYTES / (blockRows * blockCols * image.getBytesPerPixel()));
  const pieceCols = blockCols * Math.max(1, blocks);
  for (let row0 = top; row0 < bottom; ) {
    const end = Math.min(bottom, (Math.floor(row0 / blockRows) + 1) * blockRows);
    for (let col0 = 0; col0 < image.getWidth(); col0 += pieceCols) {
      const right = Math.min(image.getWidth(), col0 + pieceCols);
      const [values] = await image.readRasters({ window: [col0, row0, right, end], samples: [0] });
      yield { row0, col0, width: right - col0, values: values as ArrayLike<number> };
    }
    row0 = end;
  }
}
