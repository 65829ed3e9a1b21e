/**
 * One scan of a date, as GET /v1/tiles/scan lists it.
 * @typedef {{
 *   scan_id: string,
 *   scan_time: string,
 *   url: string,
 *   reflectivity_url: string | null,
 *   max_prob: number | null,
 *   max_size_mm: number | null,
 *   storms: { lat: number, lon: number, mm: number }[],
 * }} Frame
 * What there is to see of a date; the date is null while nothing at all is published.
 * @typedef {{
 *   date: string | null,
 *   frames: Frame[],
 *   daily_url: string | null,
 *   data_as_of: string | null,
 *   source: string | null,
 * }} DayIndex
 */

/** An answer that is not a success, in words for whoever looks at the map. */
export class ServiceError extends Error {
  /**
   * @param {string} words
   * @param {{ needs_key?: boolean, retry_s?: number | null, cause?: unknown }} [advice]
   */
  constructor(words, { needs_key = false, retry_s = null, cause } = {}) {
    super(words, { cause });
    this.name = 'ServiceError';
    this.needs_key = needs_key;
    this.retry_s = retry_s;
  }
}

/**
 * What the service lists, by date. Each date is asked for once, however often it is looked at.
 * @param {string} api path of the interface, ending in `/v1`
 * @param {() => string | null} readKey
 */
export function openService(api, readKey) {
  /** @type {Map<string, Promise<DayIndex>>} */
  const days = new Map();
  /** @param {Promise<DayIndex>} asked @param {string} date */
  const keep = (asked, date) => {
    days.set(date, asked);
    asked.catch(() => days.delete(date));
    return asked;
  };
  return {
    /**
     * The newest date with data.
     * @returns {Promise<DayIndex>}
     */
    async newest() {
      const scans = await get(api, readKey, '/tiles/scan');
      const asked = withDaily(api, readKey, scans);
      return scans.body.date === null ? asked : keep(asked, scans.body.date);
    },
    /**
     * @param {string} date
     * @returns {Promise<DayIndex>}
     */
    day(date) {
      return days.get(date) ?? keep(askDay(api, readKey, date), date);
    },
    /**
     * Asks again the next time.
     * @param {string} date
     */
    forget(date) {
      days.delete(date);
    },
  };
}

/** @param {string} api @param {() => string | null} readKey @param {string} date */
async function askDay(api, readKey, date) {
  return withDaily(api, readKey, await get(api, readKey, `/tiles/scan?date=${date}`));
}

/**
 * @param {string} api
 * @param {() => string | null} readKey
 * @param {Answer} scans
 * @returns {Promise<DayIndex>}
 */
async function withDaily(api, readKey, scans) {
  const { date, frames, data_as_of } = scans.body;
  if (date === null) return { date, frames, daily_url: null, data_as_of, source: scans.source };
  const daily = await get(api, readKey, `/tiles/daily?date=${date}`);
  return {
    date,
    frames,
    daily_url: daily.body.available ? daily.body.url : null,
    data_as_of: daily.body.data_as_of ?? data_as_of,
    source: scans.source ?? daily.source,
  };
}

/**
 * `source` is what the data of the answer are: observed, simulated or mixed; null when there are none.
 * @typedef {{ body: any, source: string | null }} Answer
 */

/**
 * @param {string} api
 * @param {() => string | null} readKey
 * @param {string} path
 * @returns {Promise<Answer>}
 */
async function get(api, readKey, path) {
  const key = readKey();
  if (key === null) throw new ServiceError('A key is needed to see what there is.', { needs_key: true });
  const response = await fetch(`${api}${path}`, { headers: { Authorization: `Bearer ${key}` } }).catch((cause) => {
    throw new ServiceError('The service cannot be reached. Is it running, and are you online?', { cause });
  });
  if (!response.ok) throw await refusal(response);
  return { body: await response.json(), source: response.headers.get('X-Data-Source') };
}

/** @type {Record<string, string>} */
const REFUSALS = {
  unauthorized: 'This key was not accepted. It may be mistyped, expired or revoked.',
  forbidden:
    'This key may not see the map: test keys cannot read data, and a suspended business cannot either. Use a live key.',
  insufficient_scope:
    'This key lacks the scope tiles:read, which the map needs. Use another key, or have the scope added.',
  feature_not_available: 'The plan of this key does not include the map.',
  rate_limited: 'Too many requests in one minute.',
  spend_cap_exceeded:
    'The spend cap of this month is reached; nothing more can be opened until it is raised or the month ends.',
  too_many_failed_attempts: 'Too many wrong keys were tried from here; new attempts are refused for a while.',
  metering_unavailable: 'Credits cannot be counted at the moment, so nothing was served or charged.',
  overloaded: 'The service is busy.',
};
/** With these another key helps. */
const KEY_REFUSALS = new Set(['unauthorized', 'forbidden', 'insufficient_scope', 'feature_not_available']);

/**
 * @param {Response} response
 * @returns {Promise<ServiceError>}
 */
export async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  const code = String(body.error ?? '');
  const wait = Number(response.headers.get('Retry-After') ?? Number.NaN);
  const retry_s = Number.isFinite(wait) && code !== 'spend_cap_exceeded' ? wait : null;
  const words = REFUSALS[code] ?? `The service answered ${response.status}${body.message ? `: ${body.message}` : ''}.`;
  const patience =
    retry_s === null
      ? ''
      : ` Try again in ${retry_s < 90 ? `${Math.ceil(retry_s)} s` : `${Math.ceil(retry_s / 60)} min`}.`;
  return new ServiceError(words + patience, { needs_key: KEY_REFUSALS.has(code) || response.status === 401, retry_s });
}
