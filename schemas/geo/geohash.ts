import ngeohash from 'ngeohash';

/** Geohash of a position with the given number of characters. */
export function geohash(lat: number, lon: number, characters: number): string {
  return ngeohash.encode(lat, lon, characters);
}
