import { type Headers, setHeaders } from '../http/reply.ts';
import { readSunset, type Sunset } from '../legacy/sunset.ts';
import type { Records } from '../metering/records.ts';
import type { Middleware } from '../state.ts';
import { isOutage } from '../store/errors.ts';

/** How long the dates are taken from memory: what an operator sets is on answers after that. */
const MEMORY_MS = 1_000;

/** Headers that tell from when on the earlier variant is deprecated and may be gone; none where the operator has not set that. */
export type SunsetHeaders = () => Promise<Headers>;

/** Reads the dates where they were not read a moment ago. */
export function rememberSunset(
  records: Pick<Records, 'reader'>,
  common: Headers,
  monotonic_ms: () => number,
): SunsetHeaders {
  let known: Promise<Headers> | null = null;
  let until_ms = Number.NEGATIVE_INFINITY;

  const read = async (before: Promise<Headers> | null): Promise<Headers> => {
    try {
      return headersOf(await readSunset(records.reader), common);
    } catch (error) {
      // What was known still holds; that the records are out of reach is told by the answer itself.
      if (!isOutage(error)) throw error;
      return before ?? {};
    }
  };

  return async () => {
    if (known !== null && monotonic_ms() < until_ms) return known;
    until_ms = monotonic_ms() + MEMORY_MS;
    const reading = read(known);
    known ??= reading; // nobody answers before anything is known
    await reading;
    known = reading;
    return known;
  };
}

function headersOf(dates: Sunset | null, common: Headers): Headers {
  if (dates === null) return {};
  return {
    Deprecation: `@${Date.parse(dates.deprecated) / 1000}`,
    Sunset: new Date(dates.sunset).toUTCString(),
    'Access-Control-Expose-Headers': `${common['Access-Control-Expose-Headers']}, Deprecation, Sunset`,
  };
}

/** Puts them on every answer of the earlier variant. */
export function tellSunset(sunset: SunsetHeaders): Middleware {
  return async (ctx, next) => {
    await next();
    if (ctx.state.variant === 'earlier') setHeaders(ctx.res, await sunset());
  };
}
