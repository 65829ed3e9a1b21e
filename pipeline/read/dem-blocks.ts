import { stat } from 'node:fs/promises';
import type { GeoTIFFImage } from 'geotiff';
import { BadInput } from '../error.ts';

/** One tile or strip of more bytes than this is refused; usual ones have some hundred kilobytes. */
const MAX_BLOCK_BYTES = 64 * 1024 * 1024;
/** So much of a file is unfolded at a time, unless a single block is larger. */
const PIECE_BYTES = 32 * 1024 * 1024;

/** A rectangle of a file's values, row by row. */
export interface Piece {
  readonly row0: number;
  readonly col0: number;
  readonly width: number;
  readonly values: ArrayLike<number>;
}

/** Throws BadInput when one block of the file would fill the memory. */
export function checkBlocks(image: GeoTIFFImage, path: string): void {
  const bytes = image.getTileWidth() * image.getTileHeight() * image.getBytesPerPixel();
  if (!(bytes > 0 && bytes <= MAX_BLOCK_BYTES))
    throw new BadInput(
      'read',
      path,
      `has blocks of ${bytes} bytes, expected at most ${MAX_BLOCK_BYTES}: tile it, or give it strips of a few rows`,
    );
}

/** Throws BadInput when the file ends before its last block: what is missing would be read as zeros. */
export async function checkFits(image: GeoTIFFImage, path: string): Promise<void> {
  const { size } = await stat(path);
  const kind = image.isTiled ? 'Tile' : 'Strip';
  const offsets = (await image.fileDirectory.loadValue(`${kind}Offsets`)) as ArrayLike<number | bigint>;
  const counts = (await image.fileDirectory.loadValue(`${kind}ByteCounts`)) as ArrayLike<number | bigint>;
  let end = 0;
  for (let i = 0; i < offsets.length; i++) end = Math.max(end, Number(offsets[i]) + Number(counts[i]));
  if (!(end <= size)) throw new BadInput('read', path, `ends at byte ${size}, expected ${end}: it is cut off`);
}

/** The values of some rows, in pieces that follow the blocks of the file. */
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
