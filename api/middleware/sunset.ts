import { type Headers, setHeaders } from '../http/reply.ts';
import { isOutage } from '../records/failures.ts';
import type { Records } from '../records/records.ts';
import { readSunset, type Sunset } from '../records/sunset.ts';
import type { Middleware } from '../state.ts';

/** How long the dates are taken from memory: what an operator sets is on answers after that. */
const MEMORY_MS = 1_000;

/** Tells on every answer of the earlier variant from when on it is deprecated and may be gone, where the operator has set that. */
export function sunsetHeaders(
  records: Pick<Records, 'reader'>,
  common: Headers,
  monotonic_ms: () => number,
): Middleware {
  let known: Sunset | null = null;
  let until_ms = Number.NEGATIVE_INFINITY;

  const sunset = async (): Promise<Sunset | null> => {
    if (monotonic_ms() < until_ms) return known;
    until_ms = monotonic_ms() + MEMORY_MS;
    try {
      known = await readSunset(records.reader);
    } catch (error) {
      // What was known still holds; that the records are out of reach is told by the answer itself.
      if (!isOutage(error)) throw error;
    }
    return known;
  };

  return async (ctx, next) => {
    await next();
    if (ctx.state.variant !== 'earlier') return;
    const dates = await sunset();
    if (dates === null) return;
    setHeaders(ctx.res, {
      Deprecation: `@${Date.parse(dates.deprecated) / 1000}`,
      Sunset: new Date(dates.sunset).toUTCString(),
      'Access-Control-Expose-Headers': `${common['Access-Control-Expose-Headers']}, Deprecation, Sunset`,
    });
  };
}
