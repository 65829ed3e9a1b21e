/** One scan of a date, as GET /v1/tiles/scan lists it. */
export interface Frame {
  readonly scan_id: string;
  readonly scan_time: string;
  readonly url: string;
  readonly reflectivity_url: string | null;
  readonly max_prob: number | null;
  readonly max_size_mm: number | null;
  readonly storms: readonly { readonly lat: number; readonly lon: number; readonly mm: number }[];
}

/** Archives of a date; `date` is null while nothing is published. */
export interface DayIndex {
  readonly date: string | null;
  readonly frames: readonly Frame[];
  readonly daily_url: string | null;
  readonly data_as_of: string | null;
  /** `observed`, `simulated` or `mixed`; null without data. */
  readonly source: string | null;
}

/** A failed call, with a message for the reader of the map. */
export class ServiceError extends Error {
  /** Another key may help. */
  readonly needs_key: boolean;
  readonly retry_s: number | null;

  constructor(
    words: string,
    {
      needs_key = false,
      retry_s = null,
      cause,
    }: { needs_key?: boolean; retry_s?: number | null; cause?: unknown } = {},
  ) {
    super(words, { cause });
    this.name = 'ServiceError';
    this.needs_key = needs_key;
    this.retry_s = retry_s;
  }
}

interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the service
  readonly body: any;
  /** Value of X-Data-Source. */
  readonly source: string | null;
}

/** What a call sends, and the scope that it needs. */
export interface CallOptions {
  readonly scope: string;
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
  const get = (path: string) => request(`${api}${path}`, is_public ? null : readKey(), is_public);

  const remember = (asked: Promise<DayIndex>, date: string): Promise<DayIndex> => {
    days.set(date, asked);
    asked.catch(() => days.delete(date));
    return asked;
  };
  const withDaily = async (scans: Answer): Promise<DayIndex> => {
    const { date, frames, data_as_of } = scans.body;
    if (date === null) return { date, frames, daily_url: null, data_as_of, source: scans.source };
    const daily = await get(`/tiles/daily?date=${date}`);
    return {
      date,
      frames,
      daily_url: daily.body.available ? daily.body.url : null,
      data_as_of: daily.body.data_as_of ?? data_as_of,
      source: scans.source ?? daily.source,
    };
  };

  return {
    /** The newest date with data. */
    async newest(): Promise<DayIndex> {
      const scans = await get('/tiles/scan');
      const asked = withDaily(scans);
      return scans.body.date === null ? asked : remember(asked, scans.body.date);
    },
    day(date: string): Promise<DayIndex> {
      return days.get(date) ?? remember(get(`/tiles/scan?date=${date}`).then(withDaily), date);
    },
    /** Body of a call that is charged, with the key of the reader; `scope` is the one that the call needs. */
    async call(path: string, { scope, body }: CallOptions) {
      return (await request(`${api}${path}`, readKey(), false, { scope, body })).body;
    },
    /** Makes the next `day` request the date again. */
    forget(date: string): void {
      days.delete(date);
    },
  };
}

async function request(
  url: string,
  key: string | null,
  is_public: boolean,
  { scope, body }: CallOptions = { scope: 'tiles:read' },
): Promise<Answer> {
  if (key === null && !is_public) throw new ServiceError('A key is needed to see what there is.', { needs_key: true });
  const response = await fetch(url, {
    headers: {
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  }).catch((cause) => {
    throw new ServiceError('The service cannot be reached. Is it running, and are you online?', { cause });
  });
  if (!response.ok) throw await refusal(response, scope);
  return { body: await response.json(), source: response.headers.get('X-Data-Source') };
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
  const body = await response.json().catch(() => ({}));
  const code = String(body.error ?? '');
  const wait = Number(response.headers.get('Retry-After') ?? Number.NaN);
  const retry_s = Number.isFinite(wait) && code !== 'spend_cap_exceeded' ? wait : null;
  const words =
    code === 'insufficient_scope'
      ? `This key lacks the scope ${scope}, which is needed here. Use another key, or have the scope added.`
      : (REFUSALS[code] ?? `The service answered ${response.status}${body.message ? `: ${body.message}` : ''}.`);
  const patience =
    retry_s === null
      ? ''
      : ` Try again in ${retry_s < 90 ? `${Math.ceil(retry_s)} s` : `${Math.ceil(retry_s / 60)} min`}.`;
  return new ServiceError(words + patience, { needs_key: KEY_REFUSALS.has(code) || response.status === 401, retry_s });
}
