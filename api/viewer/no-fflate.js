/**
 * Stands in for fflate, which pmtiles only calls in browsers without DecompressionStream; MapLibre runs in none of them.
 * @returns {never}
 */
export function decompressSync() {
  throw new Error('this browser cannot decompress gzip, expected DecompressionStream');
}
