// One run of autocannon, its result on standard output as JSON. A program of its own, so that it has its own processor;
// the options come as JSON in the first argument.
import autocannon from 'autocannon';

/**
 * @typedef {object} Shot
 * @property {string} url
 * @property {number} connections
 * @property {number} seconds
 * @property {Record<string, string>} headers
 * @property {number | null} per_second Requests a second; null: as many as there is room for.
 * @property {boolean} varied A new point for every request, in place of the lat and lon of the address.
 */

/** @type {Shot} */
const { url, connections, seconds, headers, per_second, varied } = JSON.parse(process.argv[2] ?? '{}');
const { pathname, searchParams } = new URL(url);

let asked = 0;
/** The next point of a sequence that fills a box over the plains evenly (additive recurrence, never twice the same). */
function nextPath() {
  asked += 1;
  searchParams.set('lat', (31 + ((asked * 0.754877666) % 1) * 10).toFixed(5));
  searchParams.set('lon', (-103 + ((asked * 0.569840291) % 1) * 12).toFixed(5));
  return `${pathname}?${searchParams}`;
}

const result = await autocannon({
  url,
  connections,
  duration: seconds,
  headers,
  ...(per_second === null ? {} : { overallRate: per_second }),
  ...(varied
    ? { requests: [{ setupRequest: (/** @type {object} */ request) => ({ ...request, path: nextPath() }) }] }
    : {}),
});
process.stdout.write(JSON.stringify(result));
