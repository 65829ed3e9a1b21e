import type { Events } from '../../../schemas/resources/event-day.ts';
import type { Health } from '../../../schemas/resources/health.ts';
import { addDays, MS_PER_DAY, timestamp } from '../../../schemas/time.ts';
import { remembered } from '../page/page.ts';
import { SWATH_MIN_MM } from '../page/palette.ts';
import type { DayIndex, Frame, Span } from './day.ts';

/** Most dates in one answer of GET /v1/events. */
const HAIL_DAYS_MAX = 365;

/** A failed call, with a message for the reader of the map. */
export class ServiceError extends Error {
  /** Another key may help. */
  needs_key = false;
  /** The service asks to wait this long. */
  retry_s = 0;
}

const failed = (words: string, more: Partial<ServiceError> = {}) => Object.assign(new ServiceError(words), more);

export type Service = ReturnType<typeof openService>;

/**
 * The service as the page asks it. The list of a date is requested once, because each request is charged.
 *
 * `api`: path of the interface, ending in `/v1`. `is_public`: the service lists archives without a key, and without a charge. `renew` is
 * given the archive of a date that was requested: it changes under one address.
 */
export function openService(
  api: string,
  readKey: () => string | null,
  is_public: boolean,
  renew: (url: string) => void,
) {
  const days = new Map<string, Promise<DayIndex>>();
  /** The service's clock minus that of this browser, which may be wrong; as of the last look. */
  let ahead_ms = 0;

  const withKey = async (path: string, init: RequestInit = {}) => {
    const key = readKey();
    if (key === null) throw failed('A key of this service is needed for this.', { needs_key: true });
    return request(path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${key}` } });
  };
  const get = (path: string) => (is_public ? request : withKey)(`${api}${path}`);

  /** Idempotency keys of posts that were not answered with success: sent again, such a post has its effect once. */
  const unanswered = new Map<string, string>();
  const post = async (path: string, body: string): Promise<Answer> => {
    const name = `${path} ${body}`;
    const once = unanswered.get(name) ?? crypto.getRandomValues(new Uint32Array(4)).join('-');
    unanswered.set(name, once);
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': once };
    const answer = await withKey(`${api}${path}`, { method: 'POST', headers, body });
    unanswered.delete(name);
    return answer;
  };
  /** The body of the answer to a call with the key of the reader; `path` follows `/v1`. Nothing is remembered. */
  const call = async (path: string, body?: object) =>
    (await (body ? post(path, JSON.stringify(body)) : withKey(`${api}${path}`))).body;

  const withDaily = async ({ body: { date, frames, data_as_of }, source }: Answer): Promise<DayIndex> => {
    if (date === null) return { date, frames, daily_urls: [], data_as_of, source };
    const daily = await get(`/tiles/daily?date=${date}`);
    const { url, data_as_of: until } = daily.body;
    const daily_urls = url === null ? [] : [url];
    daily_urls.forEach(renew);
    return { date, frames, daily_urls, data_as_of: until ?? data_as_of, source: source ?? daily.source };
  };
  const dayOf = (date: string) => remembered(days, date, () => get(`/tiles/scan?date=${date}`).then(withDaily));
  const newest = async () => {
    const scans = await get('/tiles/scan');
    days.delete(scans.body.date);
    return remembered(days, scans.body.date, () => withDaily(scans));
  };

  return {
    call,
    /** A file at a signed address. */
    file: async (url: string) => (await withKey(url)).body,
    /** Places of a text by the geocoder of the operator. Free; a public map asks without a key. */
    places: async (text: string) => (await get(`/places?q=${encodeURIComponent(text)}`)).body,
    /** The list of a date, or of the newest one, or of the last 24 hours until the newest scan. */
    async list({ span, date }: { readonly span: Span; readonly date: string | null }): Promise<DayIndex> {
      if (span === 'date' && date !== null) return dayOf(date);
      const last = await newest();
      return span === 'date' || last.date === null ? last : lastHours(last, await dayOf(addDays(last.date, -1)));
    },
    /** Makes the next `list` request the date again. */
    forget: (date: string) => days.delete(date),
    /** Dates with hail until a date, over as many dates as one answer may have. */
    hailDays: async (end: string): Promise<Events> =>
      (await get(`/events?date_start=${addDays(end, 1 - HAIL_DAYS_MAX)}&date_end=${end}`)).body,
    /** The service's clock, as far as it is known. */
    now_ms: () => Date.now() + ahead_ms,
    /** The newest scan, feeds of which nothing was ever collected, and the clock again. Free. */
    async look(): Promise<{ readonly scan_time: string | null; readonly never_collected: ReadonlySet<string> }> {
      if (is_public) {
        // Health needs a key; here the list itself is uncharged, and the browser revalidates it by its tag.
        const { body, date } = await get('/tiles/scan');
        if (date !== null) ahead_ms = Date.parse(date) - Date.now();
        return { scan_time: body.frames.at(-1)?.scan_time ?? null, never_collected: new Set() };
      }
      const { time, components }: Health = await call('/health');
      ahead_ms = Date.parse(time) - Date.now();
      const { last_scan_at, sources } = components.ingest;
      const never = sources.filter(({ last_success_at }) => last_success_at === null);
      return { scan_time: last_scan_at, never_collected: new Set(never.map(({ name }) => name)) };
    },
  };
}

/**
 * The last 24 hours until the newest scan: its date, and the scans of the date before that are not older. An archive of swaths
 * holds a whole date, so that it is left out when no scan of these hours has such hail, and named when it shows more than them.
 */
export function lastHours(newest: DayIndex, before: DayIndex): DayIndex {
  const last = newest.frames.at(-1);
  if (!last || before.date === null) return newest;
  const from = timestamp(Date.parse(last.scan_time) - MS_PER_DAY);
  const isSwath = ({ max_size_mm }: Frame) => max_size_mm !== null && max_size_mm >= SWATH_MIN_MM;
  const kept = before.frames.filter(({ scan_time }) => scan_time >= from);
  const earlier = before.frames.slice(0, before.frames.length - kept.length);
  const hasSwaths = kept.some(isSwath);
  const isMixed = kept.length > 0 && before.source !== newest.source;
  return {
    ...newest,
    frames: [...kept, ...newest.frames],
    source: isMixed ? 'mixed' : newest.source,
    daily_urls: [...(hasSwaths ? before.daily_urls : []), ...newest.daily_urls],
    before: { date: before.date, scans: kept.length, from, shows_earlier: hasSwaths && earlier.some(isSwath) },
  };
}

type Answer = Awaited<ReturnType<typeof request>>;

async function request(url: string, init?: RequestInit) {
  const response = await fetch(url, init).catch((cause) => {
    throw failed('The service cannot be reached. Is it running, and are you online?', { cause });
  });
  if (!response.ok) throw await refusal(response);
  const { headers } = response;
  return { body: await response.json(), source: headers.get('X-Data-Source'), date: headers.get('Date') };
}

/** Longer waits are said by the message, if at all. */
const WAIT_MAX_S = 3600;

/** The error of a response that is not a success: what the service says, and how long to wait. */
export async function refusal(response: Response): Promise<ServiceError> {
  const { error, message } = await response.json().catch(() => ({}));
  const retry_s = Number(response.headers.get('Retry-After')) || 0;
  const told = message ? `${message[0].toUpperCase()}${message.slice(1)}` : `The service answered ${response.status}`;
  const words = error === 'unauthorized' ? 'This key was not accepted. It may be mistyped, expired or revoked' : told;
  const wait = retry_s < 90 ? `${Math.ceil(retry_s)} s` : `${Math.ceil(retry_s / 60)} min`;
  return failed(retry_s > 0 && retry_s < WAIT_MAX_S ? `${words}. Try again in ${wait}.` : `${words}.`, {
    needs_key: [401, 403].includes(response.status),
    retry_s,
  });
}
