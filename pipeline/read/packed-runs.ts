import type { Grid } from '../grid.ts';

/** Runs of grids that have few of them: a scan reads its MESH grid twice, and the second time is free. */
const remembered = new WeakMap<Grid['packed'], Uint32Array>();
/** A quiet CONUS grid has 16,000 runs, a composite of a wide rain area 740,000. */
const MAX_REMEMBERED = 65_536;

/**
 * Calls back with stretches [from, to) of packed numbers that together cover all of them, in order: in each, every word
 * of four bytes is the same. A word holds four numbers of 8 bits, two of 16 or one of 32. The numbers must not change
 * between two calls.
 */
export function forEachRun(packed: Grid['packed'], visit: (from: number, to: number) => void): void {
  const perWord = 4 / packed.BYTES_PER_ELEMENT;
  const whole = packed.byteOffset % 4 === 0 ? Math.floor(packed.length / perWord) : 0;
  const known = remembered.get(packed);
  if (known) for (const [r, k] of known.entries()) visit(k * perWord, (known[r + 1] ?? whole) * perWord);
  // Signed: the engine keeps unsigned words of 32 bits as floats.
  else if (whole > 0) findRuns(packed, new Int32Array(packed.buffer, packed.byteOffset, whole), visit);
  for (let i = whole * perWord; i < packed.length; i++) visit(i, i + 1);
}

function findRuns(packed: Grid['packed'], words: Int32Array, visit: (from: number, to: number) => void): void {
  const perWord = 4 / packed.BYTES_PER_ELEMENT;
  const starts: number[] = [];
  for (let k = 0; k < words.length; ) {
    if (starts.length <= MAX_REMEMBERED) starts.push(k);
    const end = endOfRun(words, k);
    visit(k * perWord, end * perWord);
    k = end;
  }
  if (starts.length <= MAX_REMEMBERED) remembered.set(packed, Uint32Array.from(starts));
}

/** Index behind the last of the words that are equal to word `k` and follow it without a gap; eight are compared at once. */
function endOfRun(words: Int32Array, k: number): number {
  const word = words[k];
  const last = words.length - 8;
  let end = k + 1;
  while (
    end <= last &&
    ((words[end] ^ word) |
      (words[end + 1] ^ word) |
      (words[end + 2] ^ word) |
      (words[end + 3] ^ word) |
      (words[end + 4] ^ word) |
      (words[end + 5] ^ word) |
      (words[end + 6] ^ word) |
      (words[end + 7] ^ word)) ===
      0
  )
    end += 8;
  while (end < words.length && words[end] === word) end++;
  return end;
}
