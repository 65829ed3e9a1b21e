import type { Events } from '../../../schemas/resources/event-day.ts';
import type { Health as HealthBody } from '../../../schemas/resources/health.ts';
import { SWATH_MIN_MM } from '../page/palette.ts';
import { addDays } from '../page/words.ts';
import type { DayIndex, Frame } from './day.ts';

/** What GET /v1/health, which is free, says of scans and feeds. */
export interface Health {
  /** Newest scan. */
  readonly scan_time: string | null;
  /** Feeds of which nothing was ever collected. */
  readonly never_collected: ReadonlySet<string>;
}

/** Dates with hail among those from `start` to `end`, from GET /v1/events. */
export type HailDays = Pick<Events, 'events' | 'dates_without_data'> & { readonly start: string; readonly end: string };

/** Most dates in one answer of GET /v1/events. */
export const HAIL_DAYS_MAX = 365;

/** A failed call, with a message for the reader of the map. */
export class ServiceError extends Error {
  /** Another key may help. */
  readonly needs_key: boolean;
  readonly retry_s: number | null;
  /** Error code of the service; empty for other failures. */
  readonly code: string;

  constructor(
    words: string,
    { needs_key = false, retry_s = null, code = '', cause }: Partial<Omit<ServiceError, 'name' | 'message'>> = {},
  ) {
    super(words, { cause });
    this.name = 'ServiceError';
    this.needs_key = needs_key;
    this.retry_s = retry_s;
    this.code = code;
  }
}

interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the service
  readonly body: any;
  /** Value of X-Data-Source. */
  readonly source: string | null;
  /** Value of Date; null without one. */
  readonly date: string | null;
}

export interface CallOptions {
  /** Scope that the call needs, for the words of its refusal. */
  readonly scope?: string;
  /** Makes the call a POST. */
  readonly body?: object | undefined;
}

export type Service = ReturnType<typeof openService>;

/**
 * Lists of archives by date. Each date is requested once, because each request is charged.
 *
 * `api`: path of the interface, ending in `/v1`. `is_public`: the service lists archives without a key, and without a charge.
 */
export function openService(api: string, readKey: () => string | null, is_public: boolean) {
  const days = new Map<string, Promise<DayIndex>>();
  const hailDays = new Map<string, Promise<HailDays>>();
  const get = (path: string) => request(`${api}${path}`, is_public ? null : readKey(), is_public);

  /** The service's clock minus that of this browser, which may be wrong; as of the last look. */
  let ahead_ms = 0;

  const remember = <Value>(map: Map<string, Promise<Value>>, name: string, asked: Promise<Value>): Promise<Value> => {
    map.set(name, asked);
    asked.catch(() => map.delete(name));
    return asked;
  };
  const withDaily = async ({ body: { date, frames, data_as_of }, source }: Answer): Promise<DayIndex> => {
    if (date === null) return { date, frames, daily_url: null, data_as_of, source };
    const daily = await get(`/tiles/daily?date=${date}`);
    const { url, data_as_of: until } = daily.body;
    return { date, frames, daily_url: url, data_as_of: until ?? data_as_of, source: source ?? daily.source };
  };

  /** The newest date with data. */
  const newest = async (): Promise<DayIndex> => {
    const scans = await get('/tiles/scan');
    const asked = withDaily(scans);
    return scans.body.date === null ? asked : remember(days, scans.body.date, asked);
  };
  const day = (date: string): Promise<DayIndex> =>
    days.get(date) ?? remember(days, date, get(`/tiles/scan?date=${date}`).then(withDaily));
  const askHailDays = async (start: string, end: string): Promise<HailDays> => {
    const { body } = await get(`/events?date_start=${start}&date_end=${end}`);
    return { start, end, events: body.events, dates_without_data: body.dates_without_data };
  };

  /** The body of the answer to a call with the key of the reader; `path` follows `/v1`. Nothing is remembered. */
  const call = async (path: string, { scope, body }: CallOptions = {}) => {
    const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    return (await request(`${api}${path}`, readKey(), false, body === undefined ? {} : post, scope)).body;
  };

  const health = async (): Promise<Health> => {
    const { time, components }: HealthBody = await call('/health');
    ahead_ms = Date.parse(time) - Date.now();
    const { last_scan_at, sources } = components.ingest;
    const never = sources.filter(({ last_success_at }) => last_success_at === null);
    return { scan_time: last_scan_at, never_collected: new Set(never.map(({ name }) => name)) };
  };

  return {
    call,
    health,
    /** A file at a signed address. */
    file: async (url: string) => (await request(url, readKey(), false)).body,
    /** Places of a text by the geocoder of the operator. Free; a public map asks without a key. */
    places: async (text: string) => (await get(`/places?q=${encodeURIComponent(text)}`)).body,
    newest,
    day,
    /** The last 24 hours until the newest scan; `known`: the newest date, if it has just arrived. */
    async recent(known?: DayIndex): Promise<DayIndex> {
      const last = known ?? (await newest());
      return last.date === null ? last : lastHours(last, await day(addDays(last.date, -1)));
    },
    /** Makes the next `day` request the date again. */
    forget(date: string): void {
      days.delete(date);
    },
    /** Dates with hail until a date, over as many dates as one answer may have. Each answer is requested once. */
    hailDays(end: string): Promise<HailDays> {
      const start = addDays(end, 1 - HAIL_DAYS_MAX);
      return hailDays.get(end) ?? remember(hailDays, end, askHailDays(start, end));
    },
    /** The service's clock, as far as it is known. */
    now_ms: () => Date.now() + ahead_ms,
    /** The newest scan, and the clock again. Free. */
    async look(): Promise<Health> {
      if (!is_public) return health();
      // Health needs a key; here the list itself is uncharged, and the browser revalidates it by its tag.
      const { body, date } = await get('/tiles/scan');
      if (date !== null) ahead_ms = Date.parse(date) - Date.now();
      return { scan_time: body.frames.at(-1)?.scan_time ?? null, never_collected: new Set() };
    },
  };
}

const RECENT_HOURS = 24;

/**
 * The last 24 hours until the newest scan: its date, and the scans of the date before that are not older. An archive of swaths
 * holds a whole date, so that it is left out when no scan of these hours has such hail, and named when it shows more than them.
 */
export function lastHours(newest: DayIndex, before: DayIndex): DayIndex {
  const last = newest.frames.at(-1);
  if (!last || before.date === null) return newest;
  const from_ms = Date.parse(last.scan_time) - RECENT_HOURS * 3_600_000;
  const from = new Date(from_ms).toISOString().replace('.000Z', 'Z');
  const isSwath = ({ max_size_mm }: Frame) => max_size_mm !== null && max_size_mm >= SWATH_MIN_MM;
  const isRecent = ({ scan_time }: Frame) => Date.parse(scan_time) >= from_ms;
  const kept = before.frames.filter(isRecent);
  const sources = new Set([newest.source, ...(kept.length > 0 ? [before.source] : [])]);
  return {
    ...newest,
    frames: [...kept, ...newest.frames],
    source: sources.size > 1 ? 'mixed' : newest.source,
    before: {
      date: before.date,
      daily_url: kept.some(isSwath) ? before.daily_url : null,
      scans: kept.length,
      from,
      shows_earlier: before.frames.some((frame) => !isRecent(frame) && isSwath(frame)),
    },
  };
}

async function request(url: string, key: string | null, is_public: boolean, init: RequestInit = {}, scope?: string) {
  if (key === null && !is_public)
    throw new ServiceError('A key of this service is needed for this.', { needs_key: true });
  const authorization = key === null ? {} : { Authorization: `Bearer ${key}` };
  const response = await fetch(url, { ...init, headers: { ...init.headers, ...authorization } }).catch((cause) => {
    throw new ServiceError('The service cannot be reached. Is it running, and are you online?', { cause });
  });
  if (!response.ok) throw await refusal(response, scope);
  const { headers } = response;
  return { body: await response.json(), source: headers.get('X-Data-Source'), date: headers.get('Date') };
}

const REFUSALS: Readonly<Record<string, string>> = {
  unauthorized: 'This key was not accepted. It may be mistyped, expired or revoked.',
  forbidden:
    'This key may not see the map: test keys cannot read data, and a suspended business cannot either. Use a live key.',
  feature_not_available: 'The plan of this key does not include the map.',
  rate_limited: 'Too many requests in one minute.',
  spend_cap_exceeded:
    'The spend cap of this month is reached; nothing more can be opened until it is raised or the month ends.',
  too_many_failed_attempts: 'Too many wrong keys were tried from here; new attempts are refused for a while.',
  metering_unavailable: 'Credits cannot be counted at the moment, so nothing was served or charged.',
  overloaded: 'The service is busy.',
};
/** Another key helps with these. */
const KEY_REFUSALS = new Set(['unauthorized', 'forbidden', 'insufficient_scope', 'feature_not_available']);

/** The error of a response that is not a success. */
export async function refusal(response: Response, scope = 'tiles:read'): Promise<ServiceError> {
  const { error: code = '', message } = await response.json().catch(() => ({}));
  const wait_s = Number(response.headers.get('Retry-After') ?? Number.NaN);
  const retry_s = Number.isFinite(wait_s) && code !== 'spend_cap_exceeded' ? wait_s : null;
  const lack = `This key lacks the scope ${scope}, which is needed here. Use another key, or have the scope added.`;
  const other = `The service answered ${response.status}${message ? `: ${message}` : ''}.`;
  const words = code === 'insufficient_scope' ? lack : (REFUSALS[code] ?? other);
  const wait = wait_s < 90 ? `${Math.ceil(wait_s)} s` : `${Math.ceil(wait_s / 60)} min`;
  return new ServiceError(retry_s === null ? words : `${words} Try again in ${wait}.`, {
    needs_key: KEY_REFUSALS.has(code) || response.status === 401,
    retry_s,
    code,
  });
}
