/** Source of independent uniform draws in [0, 1). */
export type Draw = () => number;

/** Mixes a 32-bit value into a 32-bit hash (MurmurHash3 body, its finaliser left to `finish`). */
export function mix(hash: number, value: number): number {
  let k = Math.imul(value, 0xcc9e2d51);
  k = (k << 15) | (k >>> 17);
  let h = hash ^ Math.imul(k, 0x1b873593);
  h = (h << 13) | (h >>> 19);
  return (Math.imul(h, 5) + 0xe6546b64) | 0;
}

/** Finaliser of MurmurHash3: an unsigned 32-bit hash in which every bit depends on every bit of the input. */
export function finish(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Unsigned 32-bit hash of whole numbers up to 2^53 in absolute value: the same key gives the same number everywhere. */
export function hashOf(...key: number[]): number {
  let h = 0x2545f491;
  for (const part of key) h = mix(mix(h, part | 0), Math.floor(part / 2 ** 32));
  return finish(h);
}

/** Uniform number in [0, 1), a function of the key. */
export function uniformOf(...key: number[]): number {
  return hashOf(...key) / 2 ** 32;
}

/** Stream of uniform draws, a function of the key (xoshiro128**, seeded by hashes of the key). */
export function drawsOf(...key: number[]): Draw {
  let a = hashOf(1, ...key);
  let b = hashOf(2, ...key);
  let c = hashOf(3, ...key);
  let d = hashOf(4, ...key) | 1;
  return () => {
    const five = Math.imul(b, 5);
    const result = Math.imul((five << 7) | (five >>> 25), 9);
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = (d << 11) | (d >>> 21);
    return (result >>> 0) / 2 ** 32;
  };
}

export function between(draw: Draw, low: number, high: number): number {
  return low + (high - low) * draw();
}

/** Standard normal draw (Box and Muller, the cosine half). */
export function normal(draw: Draw): number {
  const radius = Math.sqrt(-2 * Math.log(1 - draw()));
  return radius * Math.cos(2 * Math.PI * draw());
}

export function lognormal(draw: Draw, median: number, ln_sd: number): number {
  return median * Math.exp(ln_sd * normal(draw));
}

/** Gamma draw of shape 2: the sum of two exponentials. */
export function gamma2(draw: Draw, mean: number): number {
  return (-mean / 2) * (Math.log(1 - draw()) + Math.log(1 - draw()));
}

/** Poisson draw: number of exponential waits that fit into the mean; for means up to a few hundred. */
export function poisson(draw: Draw, mean: number): number {
  let count = 0;
  let reached = -Math.log(1 - draw());
  while (reached < mean) {
    reached -= Math.log(1 - draw());
    count += 1;
  }
  return count;
}
