import { inflateSync } from 'node:zlib';
import type { GeoTIFFImage } from 'geotiff';
import { BadInput } from '../error.ts';

/** TIFF compression codes of deflate. */
export const DEFLATE = [8, 32946];

/** The GeoTIFF library, loaded when the first GeoTIFF is read, which is never on the MRMS path; its deflate is bounded. */
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
 * as a float: over blocks of 1e-300 pixels the library walks for ever, although their bytes come to a reasonable number.
 */
export function checkSides(image: GeoTIFFImage, subject: string): void {
  for (const [name, pixels] of [
    ['width', image.getWidth()],
    ['height', image.getHeight()],
    ['block width', image.getTileWidth()],
    ['block height', image.getTileHeight()],
  ] as const)
    if (!Number.isInteger(pixels) || pixels < 1)
      throw new BadInput('read', subject, `tiff ${name} of ${pixels} pixels, expected a whole number from 1`);
}
