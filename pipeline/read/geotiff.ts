import type { GeoTIFFImage } from 'geotiff';
import { LATTICE, type Window } from '../../schemas/geo/lattice.ts';
import { BadInput } from '../error.ts';
import type { Grid } from '../grid.ts';
import { isProductValue, PRODUCTS, type Product, productValueWords } from './products.ts';
import { badFile } from './rejected-item.ts';
import { checkSides, DEFLATE, tiffLibrary } from './tiff.ts';

/** Product and time of a GeoTIFF, which the file itself does not state. */
interface GeotiffOrigin {
  /** Product name as in the public bucket. */
  readonly product: string;
  /** Epoch milliseconds. */
  readonly scan_time: number;
}

/** Largest row of tiles, or strip, in bytes, checked before it is inflated; real ones have 15 MB. */
const MAX_ROW_OF_BLOCKS_BYTES = 32 * 1024 * 1024;
const UNCOMPRESSED = 1;

/**
 * One product on a window of the lattice, from a GeoTIFF made of an MRMS grid: first
 * band, values in tenths after rounding, sentinels in the data; NaN and the file's own nodata value become "no coverage".
 *
 * Throws BadInput when the product is unknown, the file is no GeoTIFF without or with deflate compression, its pixels
 * do not lie on the lattice, or its values are no tenths.
 */
export async function readGeotiff(bytes: Uint8Array, subject: string, origin: GeotiffOrigin): Promise<Grid> {
  const product = PRODUCTS.find(({ name }) => name === origin.product);
  if (!product) throw badFile(subject, `product '${origin.product}' is unknown, expected an MRMS product`);
  checkDirectory(bytes, subject);
  try {
    const image = await openImage(bytes);
    checkSides(image, subject);
    const window = latticeWindow(image, subject);
    checkBlocks(image, subject);
    return {
      product: product.name,
      unit: product.unit,
      scan_time: origin.scan_time,
      simulated: false,
      window,
      packed: await packTenths(image, window, product, subject),
      reference: referenceOf(product),
      binary_scale: 0,
      decimal_scale: 1,
      no_coverage: product.no_coverage,
      missing: product.missing,
      missing_as: product.missing_as,
    };
  } catch (cause) {
    if (cause instanceof BadInput) throw cause;
    throw badFile(subject, `geotiff cannot be read: ${cause instanceof Error ? cause.message : cause}`, cause);
  }
}

/** Bytes per value of the TIFF field types 1 to 12. */
const TYPE_BYTES = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8];

/** Throws BadInput for a first directory whose entries reach beyond the file, before the library allocates memory for them. */
function checkDirectory(bytes: Uint8Array, subject: string): void {
  const bad = (reason: string) => badFile(subject, `tiff ${reason}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const mark = bytes.length < 8 ? '' : String.fromCharCode(bytes[0], bytes[1]);
  const little = mark === 'II';
  if ((mark !== 'II' && mark !== 'MM') || view.getUint16(2, little) !== 42)
    throw bad('has no header, expected II or MM and 42');
  const start = view.getUint32(4, little);
  if (start + 2 > bytes.length) throw bad(`directory at byte ${start}, expected before the end at ${bytes.length}`);
  const entries = view.getUint16(start, little);
  if (start + 2 + 12 * entries > bytes.length) throw bad(`directory of ${entries} entries reaches beyond the file`);
  for (let k = 0; k < entries; k++) {
    const at = start + 2 + 12 * k;
    const size = (TYPE_BYTES[view.getUint16(at + 2, little)] ?? 8) * view.getUint32(at + 4, little);
    const from = size <= 4 ? at + 8 : view.getUint32(at + 8, little);
    if (from + size > bytes.length)
      throw bad(`entry ${view.getUint16(at, little)} of ${size} bytes reaches beyond the file of ${bytes.length}`);
  }
}

async function openImage(bytes: Uint8Array): Promise<GeoTIFFImage> {
  const { fromArrayBuffer } = await tiffLibrary();
  return (await fromArrayBuffer(new Uint8Array(bytes).buffer)).getImage();
}

/** Edges of real files are off by 1e-8 degrees at the far corner; a hundredth of a pixel is plenty. */
const TOLERANCE_PX = 0.01;

function latticeWindow(image: GeoTIFFImage, subject: string): Window {
  const edges = image.getBoundingBox() as [number, number, number, number];
  const [west, south, east, north] = edges;
  const rows = image.getHeight();
  const cols = image.getWidth();
  const { step } = LATTICE;
  const row0 = Math.round((LATTICE.north - north) / step);
  const col0 = Math.round((west - LATTICE.west) / step);
  const off = [
    north - (LATTICE.north - row0 * step),
    south - (LATTICE.north - (row0 + rows) * step),
    west - (LATTICE.west + col0 * step),
    east - (LATTICE.west + (col0 + cols) * step),
  ];
  const inside = row0 >= 0 && col0 >= 0 && row0 + rows <= LATTICE.rows && col0 + cols <= LATTICE.cols;
  if (!inside || off.some((degrees) => !(Math.abs(degrees) <= TOLERANCE_PX * step)))
    throw badFile(
      subject,
      `${rows} x ${cols} pixels over ${west},${south},${east},${north}, expected a window of the CONUS lattice of ${LATTICE.rows} x ${LATTICE.cols} pixels of ${step} degree`,
    );
  return { row0, col0, rows, cols };
}

function checkBlocks(image: GeoTIFFImage, subject: string): void {
  const compression = image.fileDirectory.getValue('Compression') ?? UNCOMPRESSED;
  if (compression !== UNCOMPRESSED && !DEFLATE.includes(Number(compression)))
    throw badFile(subject, `tiff compression ${compression}, expected none or deflate`);
  const across = Math.ceil(image.getWidth() / image.getTileWidth());
  const bytes = across * image.getTileWidth() * image.getTileHeight() * image.getBytesPerPixel();
  if (!(bytes > 0 && bytes <= MAX_ROW_OF_BLOCKS_BYTES))
    throw badFile(subject, `tiff rows of blocks of ${bytes} bytes, expected at most ${MAX_ROW_OF_BLOCKS_BYTES}`);
}

/** Tenths below the product's lowest value: its sentinels, and for reflectivity everything genuine below zero. */
function referenceOf(product: Product): number {
  return 10 * Math.min(product.no_coverage, product.missing ?? 0, product.low);
}

/** Reads one row of blocks after the other, so that no more than that is held as floats. */
async function packTenths(
  image: GeoTIFFImage,
  { rows, cols }: Window,
  product: Product,
  subject: string,
): Promise<Uint16Array> {
  const packed = new Uint16Array(rows * cols);
  const reference = referenceOf(product);
  const nodata = image.getGDALNoData();
  const blockRows = image.getTileHeight();
  for (let top = 0; top < rows; top += blockRows) {
    const bottom = Math.min(rows, top + blockRows);
    const [band] = await image.readRasters({ window: [0, top, cols, bottom], samples: [0] });
    const values = band as Float64Array;
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      const gone = Number.isNaN(value) || value === nodata;
      const tenths = gone ? 10 * product.no_coverage : Math.round(10 * value);
      const x = tenths - reference;
      if (!isProductValue(product, tenths / 10) || x > 0xffff || (!gone && Math.abs(10 * value - tenths) > 0.01))
        throw badFile(
          subject,
          `value ${value} at row ${top + Math.floor(i / cols)}, column ${i % cols}, expected tenths, ${productValueWords(product)}`,
        );
      packed[top * cols + i] = x;
    }
  }
  return packed;
}
