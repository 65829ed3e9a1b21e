import type { Readable } from 'node:stream';
import { ApiError } from './errors.ts';

/** Files that may be open for answers at once: well below what a process may open, which is often 1,024. */
const TOTAL_MAX = 256;
/** How many of them for one address, so that slow readers there do not keep the others out. */
const PER_ADDRESS_MAX = 64;
const RETRY_AFTER_S = 1;

/** Files that are being sent. */
export interface OpenStreams {
  /** Opens one more for a client's address; it counts until it is closed. Throws ApiError overloaded when there are too many. */
  readonly open: (address: string, make: () => Promise<Readable>) => Promise<Readable>;
  /** Number of files that are open. */
  readonly count: () => number;
}

/** Bounds of concurrent streams, in all and for each address. */
export function openStreams(total_max = TOTAL_MAX, per_address_max = PER_ADDRESS_MAX): OpenStreams {
  const perAddress = new Map<string, number>();
  let total = 0;
  return {
    count: () => total,
    open: async (address, make) => {
      const own = perAddress.get(address) ?? 0;
      if (total >= total_max || own >= per_address_max)
        throw new ApiError(
          'overloaded',
          'too many files are being read at once',
          { 'Retry-After': String(RETRY_AFTER_S) },
          { reason: 'open_files' },
        );
      total += 1;
      perAddress.set(address, own + 1);
      const release = () => {
        total -= 1;
        const left = (perAddress.get(address) ?? 1) - 1;
        if (left === 0) perAddress.delete(address);
        else perAddress.set(address, left);
      };
      try {
        const stream = await make();
        stream.once('close', release);
        return stream;
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}
