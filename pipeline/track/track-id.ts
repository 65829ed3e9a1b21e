import { MS_PER_DAY, utcDate } from '../../schemas/time.ts';

const MASK_64 = (1n << 64n) - 1n;

/** Bijective hash of 64-bit numbers: one step of SplitMix64 (Steele et al. 2014). */
function mix64(value: bigint): bigint {
  let z = (value + 0x9e3779b97f4a7c15n) & MASK_64;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK_64;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK_64;
  return z ^ (z >> 31n);
}

/**
 * Identifier of the track that starts with a cell, or with a part of one that several tracks share: UTC date of its
 * first scan and a base36 hash of the scan's time of day, the cell's index and the part's number, for example
 * `20190610-2h9x0c1k4m7pq`. It depends on no later scan and on no setting. Different tracks never share an id: the hash is
 * bijective up to a million cells per scan.
 */
export function trackId(first_scan_time: number, first_cell_index: number, part = 0): string {
  const time_of_day = BigInt(first_scan_time % MS_PER_DAY);
  const hash = mix64((time_of_day << 36n) | (BigInt(first_cell_index) << 16n) | BigInt(part));
  return `${utcDate(first_scan_time).replaceAll('-', '')}-${hash.toString(36)}`;
}
