/**
 * Replaces fflate, which pmtiles calls only in browsers without DecompressionStream. MapLibre does not run in those browsers.
 */
export function decompressSync(): never {
  throw new Error('this browser cannot decompress gzip, expected DecompressionStream');
}
