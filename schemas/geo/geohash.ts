import ngeohash from 'ngeohash';
import type { Bbox } from './position.ts';

/** Geohash of a position with the given number of characters. */
export function geohash(lat: number, lon: number, characters: number): string {
  return ngeohash.encode(lat, lon, characters);
}

/** Box of a geohash. */
export function geohashBox(hash: string): Bbox {
  const [south, west, north, east] = ngeohash.decode_bbox(hash);
  return [west, south, east, north];
}
