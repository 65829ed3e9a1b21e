import { stat } from 'node:fs/promises';
import { inflateSync } from 'node:zlib';
import type { GeoTIFFImage } from 'geotiff';
import { badFile } from './rejected-item.ts';

/** TIFF compression codes of deflate. */
const DEFLATE = [8, 32946];

/** The GeoTIFF library with a bounded deflate. It is loaded when the first GeoTIFF is read, which is never on the MRMS path. */
export async function tiffLibrary(): Promise<typeof import('geotiff')> {
  const library = await import('geotiff');
  // The library's own inflate has no bound: a small tile could unfold to gigabytes.
  class BoundedDeflate extends library.BaseDecoder {
    override decodeBlock(block: ArrayBufferLike): ArrayBufferLike {
      const { tileWidth, tileHeight, bitsPerSample } = this.parameters;
      const bits =
        typeof bitsPerSample === 'number' ? bitsPerSample : Array.from(bitsPerSample).reduce((a, b) => a + b, 0);
      const maxOutputLength = Math.max(1, Math.ceil((tileWidth * tileHeight * bits) / 8));
      const unfolded = inflateSync(new Uint8Array(block), { maxOutputLength });
      return new Uint8Array(unfolded).buffer;
    }
  }
  library.addDecoder(DEFLATE, async () => BoundedDeflate);
  return library;
}

/**
 * Throws BadInput unless image and blocks (tiles or strips) are whole numbers of pixels. A directory may state any of them
 * as a float: the library walks over blocks of 1e-300 pixels without end, although their bytes come to a reasonable number.
 */
export function checkSides(image: GeoTIFFImage, subject: string): void {
  for (const [name, pixels] of [
    ['width', image.getWidth()],
    ['height', image.getHeight()],
    ['block width', image.getTileWidth()],
    ['block height', image.getTileHeight()],
  ] as const)
    if (!Number.isInteger(pixels) || pixels < 1)
      throw badFile(subject, `tiff ${name} of ${pixels} pixels, expected a whole number from 1`);
}

/** Largest tile or strip; usual ones have some hundred kilobytes. */
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;
/** Bytes decoded at a time, unless a single block is larger. */
const PIECE_BYTES = 32 * 1024 * 1024;

/** A rectangle of a file's values, row by row. */
interface Piece {
  readonly row0: number;
  readonly col0: number;
  readonly width: number;
  readonly values: ArrayLike<number>;
}

/** Throws BadInput when one block of the file would fill the memory. */
export function checkBlocks(image: GeoTIFFImage, path: string): void {
  const bytes = image.getTileWidth() * image.getTileHeight() * image.getBytesPerPixel();
  if (!(bytes > 0 && bytes <= MAX_BLOCK_BYTES))
    throw badFile(
      path,
      `has blocks of ${bytes} bytes, expected at most ${MAX_BLOCK_BYTES}: tile it, or give it strips of a few rows`,
    );
}

/** Throws BadInput when the file ends before its last block: the library would read the missing values as zeros. */
export async function checkFits(image: GeoTIFFImage, path: string): Promise<void> {
  const { size } = await stat(path);
  const kind = image.isTiled ? 'Tile' : 'Strip';
  const offsets = (await image.fileDirectory.loadValue(`${kind}Offsets`)) as ArrayLike<number | bigint>;
  const counts = (await image.fileDirectory.loadValue(`${kind}ByteCounts`)) as ArrayLike<number | bigint>;
  let end = 0;
  for (let i = 0; i < offsets.length; i++) end = Math.max(end, Number(offsets[i]) + Number(counts[i]));
  if (!(end <= size)) throw badFile(path, `ends at byte ${size}, expected ${end}: it is cut off`);
}

/** Values of the rows `top` to `bottom` - 1, in pieces that follow the blocks of the file. */
export async function* readPieces(image: GeoTIFFImage, top: number, bottom: number): AsyncGenerator<Piece> {
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
