import { type Command, Option } from 'commander';
import { renderUnicodeCompact } from 'uqr';
import type { KeyKind } from '../accounts/keyring.ts';
import {
  createKey,
  createLink,
  findKey,
  isScope,
  keyInfo,
  listKeys,
  ROTATION_GRACE_MS,
  revokeKey,
  rotateKey,
  setKeyCap,
} from '../accounts/keys.ts';
import { type Config, rootAddress } from '../config.ts';
import { VARIANT_NAMES, type VariantName } from '../records/schema.ts';
import {
  argument,
  CommandError,
  collectWords,
  creditsOrNone,
  type Desk,
  duration,
  group,
  label,
  onBusiness,
  onRecords,
  parseInstant,
} from './cli.ts';

const LONGEST_GRACE_MS = 365 * 86_400_000;

/** `hail-api key`: keys of businesses. The text of a key is printed once and not stored. */
export function keyCommand(config: () => Config): Command {
  return group('key', 'make, rotate, bound, revoke and list keys; their text is printed once', [
    onBusiness(config, {
      usage: 'create <business>',
      about: 'make a key and print it',
      options: (command) =>
        command
          .option('--live', 'a key that returns data and is billed')
          .option('--test', 'a key that opens health alone')
          .option('--name <name>', 'what people call it', label, 'unnamed')
          .option('--scopes <list>', "'hail:read', 'portfolio:*' and the like; '*' when left out", collectWords)
          .option('--expires <time>', 'first instant at which it opens nothing more: a UTC date or time', parseInstant)
          .addOption(
            new Option(
              '--variant <word>',
              'what it gets under /v1; with legacy the earlier variant of the interface, and a test key simulated answers there',
            )
              .choices(VARIANT_NAMES)
              .default('current'),
          ),
      help: 'Examples:\n  hail-api key create acme --live --name dashboard\n  hail-api key create acme --live --scopes hail:read,storms:read --expires 2027-01-01\n  hail-api key create acme --test --variant legacy',
      run: async (desk, options: Parameters<typeof newKey>[0]) => {
        const { records, business, now_ms } = desk;
        const key = { ...newKey(options, now_ms), business_id: business.id };
        const made = await records.transaction((rows) => createKey(rows, key, now_ms));
        return { json: { ...(await shownKey(desk, made.id)), key: made.text }, lines: [made.text] };
      },
    }),
    onBusiness(config, {
      usage: 'link <business>',
      about: 'print a link, and its QR code, that puts a new live key into the map of a browser once, within 15 min',
      options: (command) =>
        command
          .option('--name <name>', 'what people call the key', label, 'phone')
          .option('--scopes <list>', "those of the key; '*' when left out", collectWords),
      run: async (
        { records, settings, business, now_ms },
        options: { readonly name: string; readonly scopes?: readonly string[] },
      ) => {
        const key = { business_id: business.id, name: options.name, scopes: knownScopes(options.scopes) };
        const { text, expires_at } = await records.transaction((rows) => createLink(rows, key, now_ms));
        const link = `${rootAddress(settings, settings.port)}/link#${text}`;
        const here =
          settings.base_url === null ? ['HAIL_BASE_URL is not set: other devices do not reach this address.'] : [];
        const code = renderUnicodeCompact(link, { border: 2 });
        const lines = [code, link, `It works once, until ${expires_at}.`, ...here];
        return { json: { link, expires_at }, lines };
      },
    }),
    onRecords(config, {
      usage: 'rotate <key>',
      about: 'make a key that takes over from another, by id or public id; the old one works on for the grace',
      options: (command) =>
        command.addOption(
          new Option('--grace <duration>', 'how long the old key works on, at most a year; 0 for one that leaked')
            .argParser(grace)
            .default(ROTATION_GRACE_MS, '30d'),
        ),
      run: async (desk, { grace }: { readonly grace: number }, id) => {
        const { records, now_ms } = desk;
        const made = await records.transaction(async (rows) => {
          const row = await keyNamed(rows, id);
          const { status } = keyInfo(row, now_ms);
          if (status !== 'active') throw new CommandError('conflict', `key ${id}: is ${status}, expected active`);
          return await rotateKey(rows, row, grace, now_ms);
        });
        const old_key = await shownKey(desk, id);
        return { json: { ...(await shownKey(desk, made.id)), key: made.text, old_key }, lines: [made.text] };
      },
    }),
    onRecords(config, {
      usage: 'revoke <key>',
      about: 'end a key, by id or public id; in force within a second',
      run: async (desk, _, id) => {
        const { records, now_ms } = desk;
        const before = await keyNamed(records.reader, id);
        const changed = await records.transaction((rows) => revokeKey(rows, before, now_ms));
        return { json: { ...(await shownKey(desk, id)), changed } };
      },
    }),
    onRecords(config, {
      usage: 'limit <key>',
      about: 'bound the credits of a key in a month, by id or public id; keys of one rotation share the bound',
      options: (command) =>
        // In an object: commander reads a null as an empty text.
        command.requiredOption('--cap <credits>', 'most credits a month, or none', (text) => ({
          monthly_cap: creditsOrNone(text),
        })),
      help: 'Example:\n  hail-api key limit hV3kPq9a --cap 5000',
      run: async (desk, { cap: { monthly_cap } }: { readonly cap: { readonly monthly_cap: number | null } }, id) => {
        const { records, now_ms } = desk;
        const changed = await records.transaction(async (rows) =>
          setKeyCap(rows, await keyNamed(rows, id), monthly_cap, now_ms),
        );
        return { json: { ...(await shownKey(desk, id)), monthly_cap, changed } };
      },
    }),
    onBusiness(config, {
      usage: 'list <business>',
      about: 'keys of a business: public id, variant, scopes, cap, last use, state',
      run: async ({ records: { reader }, business: { id }, now_ms }) => ({
        json: { keys: await listKeys(reader, id, now_ms) },
      }),
    }),
  ]);
}

function newKey(
  options: {
    live?: true;
    test?: true;
    name: string;
    scopes?: readonly string[];
    expires?: string;
    variant: VariantName;
  },
  now_ms: number,
) {
  const { live, test, name, expires, variant } = options;
  if (live === test) throw new CommandError('usage', 'key: found both or neither of --live and --test, expected one');
  const scopes = knownScopes(options.scopes);
  if (expires !== undefined && Date.parse(expires) <= now_ms)
    throw new CommandError('usage', `key: --expires is ${expires}, expected a time to come`);
  const kind: KeyKind = live ? 'live' : 'test';
  return { kind, variant, name, scopes, expires_at: expires ?? null };
}

/** Every scope when left out. Throws CommandError for one that opens nothing. */
function knownScopes(scopes: readonly string[] = ['*']): readonly string[] {
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong === undefined) return scopes;
  throw new CommandError(
    'usage',
    `key: scope is '${wrong}', expected '*', or one such as 'hail:read' or 'portfolio:*'`,
  );
}

const grace = argument('at most 365d', (text) => (duration(text) > LONGEST_GRACE_MS ? null : duration(text)));

async function keyNamed(rows: Desk['records']['reader'], id: string) {
  const row = await findKey(rows, id);
  if (row !== null) return row;
  throw new CommandError('not_found', `key ${id}: does not exist, expected the id or public id of a key`);
}

async function shownKey({ records, now_ms }: Desk, id: string) {
  return keyInfo(await keyNamed(records.reader, id), now_ms);
}
