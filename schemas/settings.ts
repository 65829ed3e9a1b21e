import { resolve } from 'node:path';
import { z } from 'zod';

const wholeNumber = (low: number, high: number) =>
  z
    .string()
    .regex(/^\d+$/, `expected a whole number from ${low} to ${high}`)
    .transform(Number)
    .pipe(z.number().int().min(low).max(high));

/** Length of a master key. */
export const MASTER_KEY_BYTES = 32;

/** The bytes of a master key from 64 hexadecimal digits or from base64; null for any other text. */
export function masterKeyBytes(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === MASTER_KEY_BYTES && bytes.toString('base64') === text ? bytes : null;
}

/** Master keys, the one to encrypt under first; never repeated in a message. */
const masterKeys = z.string().transform((text, context): readonly Buffer[] => {
  const keys = text.split(',').map(masterKeyBytes);
  if (keys.every((key) => key !== null)) return keys;
  context.addIssue({ code: 'custom', message: 'expected 32 bytes as 64 hexadecimal digits or as base64' });
  return z.NEVER;
});

/** Absolute path of a folder whose files DuckDB reads: it would take the files of another folder that fits the pattern. */
const folderOfTables = z
  .string()
  .min(1)
  .default('data')
  .transform((path) => resolve(path))
  .refine((path) => !/[*?[]/.test(path), {
    error: ({ input }) => `expected a path without *, ? and [, which DuckDB takes as patterns, found '${input}'`,
  });

const webAddress = z.url({ protocol: /^https?$/ });

/** Base address of a public server. */
const address = (usual: string, description: string) => webAddress.default(usual).meta({ description });

/** Texts of a kind between commas. */
const listOf = (kind: string, fits: (text: string) => boolean) =>
  z.string().transform((text, context): readonly string[] => {
    const parts = text.split(',').map((part) => part.trim());
    const wrong = parts.find((part) => !fits(part));
    if (wrong === undefined) return parts;
    context.addIssue({ code: 'custom', message: `expected ${kind}, found '${wrong}'` });
    return z.NEVER;
  });
const Network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const whole = (address: string) => (address.includes(':') ? `${address}/128` : `${address}/32`);
/** Networks of `10.0.0.0/8,::1`: an address is a network of its own. */
const networks = listOf('addresses and networks', (text) => Network.safeParse(text).success).transform((parts) =>
  parts.map((part) => (part.includes('/') ? part : whole(part))),
);
/** As a content security policy names them. */
const origins = listOf('origins such as https://example.com or https://*.example.org', (text) =>
  /^https?:\/\/(\*\.)?[a-z\d.-]+(:\d+)?$/i.test(text),
);

/**
 * Every setting, its default and its meaning; the table in api/docs/operate.md is compared with this object.
 * Scientific thresholds are no settings: they are named constants next to their algorithm.
 */
export const Settings = z.object({
  HAIL_DATA: folderOfTables.meta({ description: 'data root; no `*`, `?` or `[` in its path' }),
  HAIL_NOW: z.iso
    .datetime({ offset: false })
    .optional()
    .meta({ description: 'fixes the data clock, for tests and demos; waits stay on the monotonic clock' }),
  HAIL_STORM_DAY_START_HOUR: wholeNumber(0, 23)
    .default(0)
    .meta({ description: '12 makes the storm date the convective day' }),
  HAIL_MRMS_URL: address('https://noaa-mrms-pds.s3.amazonaws.com', 'base address of the public MRMS bucket'),
  HAIL_SPC_URL: address(
    'https://www.spc.noaa.gov',
    'base address of the Storm Prediction Center: reports and outlooks',
  ),
  HAIL_LSR_URL: address('https://mesonet.agron.iastate.edu', 'base address of the archive of local storm reports'),
  HAIL_NWS_URL: address('https://api.weather.gov', 'base address of the National Weather Service: alerts and texts'),
  HAIL_MODEL: z
    .enum(['hrrr', 'rrfs'])
    .default('hrrr')
    .meta({ description: 'forecast model that the hourly forecast is made from' }),
  HAIL_MODEL_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: 'base address of the files of that model; the public bucket when left out' }),
  HAIL_USER_AGENT: z
    .string()
    .regex(/^[\x20-\x7e]{1,200}$/, 'expected up to 200 printable characters')
    .default('hail (self-hosted)')
    .meta({ description: 'what public servers are told about who asks; they like an address to write to' }),
  HAIL_RAW_KEEP_DAYS: wholeNumber(2, 36_500).optional().meta({
    description:
      'raw files in archive/ are deleted so many days after they came, never while HAIL_NOW is set; kept for ever when left out',
  }),
  HAIL_REFLECTIVITY_KEEP_HOURS: wholeNumber(0, 876_000).default(48).meta({
    description:
      'hours before the newest scan that reflectivity tiles are kept; 0 paints none, and what was painted goes',
  }),
  HAIL_HOST: z.string().min(1).default('127.0.0.1').meta({ description: 'address the service listens on' }),
  HAIL_PORT: wholeNumber(0, 65_535)
    .default(8080)
    .meta({ description: 'port the service listens on; 0 takes a free one' }),
  HAIL_KEEP_ALIVE_S: wholeNumber(1, 3600).default(75).meta({
    description:
      'seconds that a connection is kept after an answer, to be longer than the load balancer in front of the service keeps its own idle',
  }),
  HAIL_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .regex(/\/v1\/?$/, 'expected an address that ends in /v1')
    .optional()
    .meta({ description: 'public address of the service, ending in /v1; from host and port when left out' }),
  HAIL_DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .meta({
      description:
        'PostgreSQL for the records of the service; a SQLite file under the data root, for one service, when left out',
    }),
  HAIL_TILES_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'public address of a mirror of the data root, from which map viewers load tile archives; they load them from the service when left out',
    }),
  HAIL_MASTER_KEY: masterKeys.optional().meta({
    description:
      'encrypts stored secrets: 32 bytes, hexadecimal or base64; behind a comma older keys, whose secrets the next start encrypts anew; a 0600 file `records/master.key` under the data root when left out',
  }),
  HAIL_WEBHOOK_ALLOW_CIDRS: networks
    .optional()
    .meta({ description: 'private addresses and networks that receivers may live in, comma-separated' }),
  HAIL_WEBHOOK_CA_FILE: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'certificates (PEM) of further authorities that receivers are believed by' }),
  HAIL_WEBHOOK_TIME_SCALE: z
    .string()
    .regex(/^(0\.\d{1,6}|1(\.0{1,6})?)$/, 'expected a number above 0, at most 1')
    .transform(Number)
    .pipe(z.number().positive())
    .default(1)
    .meta({
      description:
        'shortens the waits between attempts of a delivery and, down to 2 s, for its answer, for trials: 0.01 makes 0.1 s of 10 s',
    }),
  HAIL_SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .meta({
      description:
        'server for outgoing mail, `smtps://name:password@host?from=hail@example.com`; mail lies as `.eml` files in `records/mail` under the data root when left out',
    }),
  HAIL_TRUST_PROXY: networks
    .optional()
    .meta({ description: 'addresses and networks of proxies whose X-Forwarded-For is believed, comma-separated' }),
  HAIL_METRICS_PORT: wholeNumber(0, 65_535)
    .optional()
    .meta({ description: 'second port that serves /metrics; none when left out' }),
  HAIL_PIPELINE_METRICS_PORT: wholeNumber(0, 65_535)
    .optional()
    .meta({ description: 'port of HAIL_HOST at which `hail-pipeline stream` serves /metrics; none when left out' }),
  HAIL_VIEWER: z.enum(['key', 'public']).default('key').meta({
    description:
      'who may open the map: `key`, callers with a key; `public`, anyone: lists of tiles and of hail days are then answered without a key, uncharged, 120 calls a minute from an address; so are searches of addresses where `HAIL_GEOCODER_URL` is set: it is asked at most 60 times a minute',
  }),
  HAIL_EMBED_ORIGINS: origins.optional().meta({
    description:
      'origins of pages that may show the map in a frame, from `/embed`, comma-separated; it asks for no key, so it needs `HAIL_VIEWER=public`; none when left out',
  }),
  HAIL_GEOCODER_URL: z
    .string()
    .refine((text) => /^https?:.*\/(api|search)$/.test(URL.parse(text)?.href.replace(/[?#].*$/, '') ?? ''), {
      error: 'expected the search address of Photon (…/api), Nominatim (…/search) or Pelias (…/v1/search)',
    })
    .optional()
    .meta({
      description:
        'search address of a Photon (`…/api`), Nominatim (`…/search`) or Pelias (`…/v1/search`) that the search box of the map asks for addresses; towns, counties, ZIP codes and coordinates only when left out',
    }),
  HAIL_BASEMAP: z
    .string()
    .min(1)
    .refine((text) => !text.includes('://') || text.split(' ').every((one) => webAddress.safeParse(one).success), {
      error: 'expected the path of a PMTiles file, or addresses that begin with https://, with a space between two',
    })
    .optional()
    .meta({
      description:
        'street map under the hail and over it: path or https address of a Protomaps archive (`.pmtiles`), or address of a MapLibre style. After a space, the style for dark screens; after further spaces, addresses of servers that the styles load from besides their own',
    }),
  HAIL_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .meta({ description: 'how much is logged' }),
});
export type Settings = z.infer<typeof Settings>;

/** Settings whose value is not repeated in a message. */
const SECRET: readonly string[] = ['HAIL_MASTER_KEY', 'HAIL_SMTP_URL', 'HAIL_GEOCODER_URL'];

/** Names with the same prefix that are no settings: key and address in printed examples, and variables of tests. */
const NO_SETTING = /^HAIL_(KEY$|URL$|TEST_)/;

/**
 * Settings of an environment; empty variables count as absent. Throws the error that `refusal` makes of all faults: invalid values,
 * and HAIL_ names that are no setting, because a misspelt name would otherwise leave the default in force.
 */
export function parseSettings(
  environment: Readonly<Record<string, string | undefined>>,
  refusal: (faults: string) => Error,
): Settings {
  const given = Object.fromEntries(
    Object.entries(environment).filter(
      ([name, value]) => name in Settings.shape && value !== undefined && value !== '',
    ),
  );
  const unknown = Object.keys(environment).filter(
    (name) => name.startsWith('HAIL_') && !(name in Settings.shape) && !NO_SETTING.test(name),
  );
  const parsed = Settings.safeParse(given);
  if (parsed.success && unknown.length === 0) return parsed.data;
  const faults = [
    ...unknown.sort().map(unknownFault),
    ...(parsed.error?.issues ?? []).map(
      ({ path, message }) => `${String(path[0])} is ${shown(String(path[0]), given)}: ${message}`,
    ),
  ];
  throw refusal(faults.join('; '));
}

function shown(name: string, given: Readonly<Record<string, string | undefined>>): string {
  if (given[name] === undefined) return 'left out';
  return SECRET.includes(name) ? 'set' : `'${given[name]}'`;
}

function unknownFault(name: string): string {
  const near = nearestWord(name, Object.keys(Settings.shape));
  return `${name} is no setting, expected ${near === null ? 'one that api/docs/operate.md lists' : near}`;
}

/** More edits than this make another word, not a misspelling. */
const MAX_EDITS = 3;

/** The known word that takes the fewest edits to reach, the first of equals; null when none is within the limit. */
function nearestWord(word: string, known: readonly string[]): string | null {
  const distances = known.map((each) => ({ each, edits: editsBetween(word, each) }));
  const nearest = distances.reduce((a, b) => (b.edits < a.edits ? b : a), { each: '', edits: MAX_EDITS + 1 });
  return nearest.edits > MAX_EDITS ? null : nearest.each;
}

/** Letters to insert, delete or replace (Levenshtein), row by row. */
function editsBetween(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, k) => k);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let k = 1; k <= b.length; k++)
      row.push(Math.min(above[k] + 1, row[k - 1] + 1, above[k - 1] + (a[i - 1] === b[k - 1] ? 0 : 1)));
    above = row;
  }
  return above[b.length];
}
