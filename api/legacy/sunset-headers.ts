import type { Headers } from '../http/reply.ts';
import type { Records } from '../metering/records.ts';
import { isOutage } from '../store/errors.ts';
import { readSunset, type Sunset } from './sunset.ts';

/** How long the dates stay in memory: a change by the operator takes effect after that. */
const MEMORY_MS = 1_000;

/** Reads the headers Deprecation and Sunset, at most once a second; empty while the operator has set no end of the variant. */
export function rememberSunsetHeaders(
  records: Pick<Records, 'reader'>,
  common: Headers,
  monotonic_ms: () => number,
): () => Promise<Headers> {
  let known: Promise<Headers> | null = null;
  let until_ms = Number.NEGATIVE_INFINITY;

  const read = async (before: Promise<Headers> | null): Promise<Headers> => {
    try {
      return headersOf(await readSunset(records.reader), common);
    } catch (error) {
      // The last known dates still hold; the answer itself reports that the records are out of reach.
      if (!isOutage(error)) throw error;
      return before ?? {};
    }
  };

  return async () => {
    if (known !== null && monotonic_ms() < until_ms) return known;
    until_ms = monotonic_ms() + MEMORY_MS;
    const reading = read(known);
    known ??= reading; // no answer is sent before the first read
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
