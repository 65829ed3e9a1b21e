/** Bytes that begin a PMTiles archive of version 3. */
const MAGIC = Buffer.from('PMTiles\x03', 'latin1');
/** Place of the number of addressed tiles in its header. */
const ADDRESSED_TILES_AT = 72;

/** True when bytes begin like a PMTiles archive of version 3. */
export function isPmtiles(archive: Uint8Array): boolean {
  return MAGIC.equals(archive.subarray(0, MAGIC.length));
}

/** Number of tiles that a PMTiles archive addresses, by its header. */
export function addressedTiles(archive: Uint8Array): number {
  return Number(Buffer.from(archive.buffer, archive.byteOffset, archive.length).readBigUInt64LE(ADDRESSED_TILES_AT));
}
