import { Command, InvalidArgumentError, Option } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import { keyVariantOf, VARIANT_WORDS, type VariantWord, variantWordOf } from '../accounts/key-text.ts';
import {
  createKey,
  findKey,
  type KeyInfo,
  keyInfo,
  listKeys,
  ROTATION_GRACE_MS,
  revokeKey,
  rotateKey,
  setKeyCap,
} from '../accounts/keys.ts';
import { isScope } from '../accounts/scopes.ts';
import type { Records } from '../billing/records.ts';
import {
  businessNamed,
  CommandError,
  collectWords,
  duration,
  type Json,
  label,
  parseInstant,
  print,
  type RecordsConfig,
  table,
  wholeNumberOrNone,
  withRecords,
} from './cli.ts';

interface CreateOptions extends Json {
  readonly live?: true;
  readonly test?: true;
  readonly name: string;
  readonly scopes?: readonly string[];
  readonly expires?: string;
  readonly variant: VariantWord;
}

/** `hail-api key`: keys of businesses. The text of a key is printed once and not stored. */
export function keyCommand(config: () => RecordsConfig): Command {
  const command = new Command('key').description(
    'make, rotate, bound, revoke and list keys; their text is printed once',
  );

  command
    .command('create <business>')
    .description('make a key and print it')
    .option('--live', 'a key that returns data and is billed')
    .option('--test', 'a key that opens health alone')
    .option('--name <name>', 'what people call it', label, 'unnamed')
    .option(
      '--scopes <list>',
      "'*', 'hail:read', 'portfolio:*' and the like, between commas; '*' when left out",
      collectWords,
    )
    .option('--expires <time>', 'first instant at which it opens nothing more: a UTC date or time', parseInstant)
    .addOption(
      new Option(
        '--variant <word>',
        'what it gets under /v1; with legacy the earlier variant of the interface, and a test key simulated answers there',
      )
        .choices(VARIANT_WORDS)
        .default('current'),
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExamples:\n  hail-api key create acme --live --name dashboard\n  hail-api key create acme --live --scopes hail:read,storms:read --expires 2027-01-01\n  hail-api key create acme --test --variant legacy',
    )
    .action(async (nameOrId: string, options: CreateOptions) => {
      const settings = config();
      const now_ms = settings.now();
      const key = newKey(options, now_ms);
      const { made, info } = await withRecords(settings, async (records) => {
        const { id: business_id } = await businessNamed(records, nameOrId);
        const made = await records.transaction((rows) => createKey(rows, { ...key, business_id }, now_ms));
        return { made, info: await infoOf(records, made.id, now_ms) };
      });
      print(options.json, { ...shown(info), key: made.text }, [made.text]);
    });

  command
    .command('rotate <key>')
    .description('make a key that takes over from another, by id or public id; the old one works on for the grace')
    .addOption(
      new Option('--grace <duration>', 'how long the old key works on, at most a year; 0 for one that leaked')
        .argParser(grace)
        .default(ROTATION_GRACE_MS, '30d'),
    )
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json, grace }: Json & { readonly grace: number }) => {
      const settings = config();
      const now_ms = settings.now();
      const { made, info, old } = await withRecords(settings, async (records) => {
        const made = await records.transaction(async (rows) => {
          const row = await findKey(rows, id);
          if (row === null) throw unknownKey(id);
          const { status } = keyInfo(row, now_ms);
          if (status !== 'active') throw new CommandError(EXIT.conflict, `key ${id}: is ${status}, expected active`);
          return await rotateKey(rows, row, grace, now_ms);
        });
        return {
          made,
          info: await infoOf(records, made.id, now_ms),
          old: await infoOf(records, id, now_ms),
        };
      });
      if (json !== true) process.stderr.write(`The old key works until ${old.expires_at}.\n`);
      print(json, { ...shown(info), key: made.text, old_key: shown(old) }, [made.text]);
    });

  command
    .command('revoke <key>')
    .description('end a key, by id or public id; in force within a second')
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json }: Json) => {
      const settings = config();
      const now_ms = settings.now();
      const { info, changed } = await withRecords(settings, async (records) => {
        const before = await infoOf(records, id, now_ms);
        const changed = await records.transaction((rows) => revokeKey(rows, before, now_ms));
        return { info: await infoOf(records, id, now_ms), changed };
      });
      print(json, { ...shown(info), changed }, [
        `Key ${info.public_id} ${changed ? 'is now' : 'already was'} revoked.`,
      ]);
    });

  command
    .command('limit <key>')
    .description('bound the credits of a key in a month, by id or public id; keys of one rotation share the bound')
    .requiredOption('--cap <credits>', 'most credits a month, or none', wholeNumberOrNone)
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  hail-api key limit hV3kPq9a --cap 5000')
    .action(async (id: string, { json, cap }: Json & { readonly cap: number | 'none' }) => {
      const settings = config();
      const now_ms = settings.now();
      const monthly_cap = cap === 'none' ? null : cap;
      const { info, changed } = await withRecords(settings, async (records) => {
        const changed = await records.transaction(async (rows) => {
          const row = await findKey(rows, id);
          if (row === null) throw unknownKey(id);
          return await setKeyCap(rows, records.store, row, monthly_cap, now_ms);
        });
        return { info: await infoOf(records, id, now_ms), changed };
      });
      print(json, { ...shown(info), monthly_cap, changed }, [
        `Key ${info.public_id} ${changed ? 'now has' : 'already had'} ${monthly_cap === null ? 'no cap' : `a cap of ${counted(monthly_cap, 'credit')} a month`}.`,
      ]);
    });

  command
    .command('list <business>')
    .description('keys of a business: public id, variant, scopes, cap, last use, state')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string, { json }: Json) => {
      const settings = config();
      const keys = await withRecords(settings, async (records) =>
        listKeys(records.reader, (await businessNamed(records, nameOrId)).id, settings.now()),
      );
      const rows = keys.map((key) => [
        key.name,
        key.id,
        key.public_id,
        key.kind,
        variantWordOf(key.variant),
        key.status,
        key.scopes.join(','),
        key.monthly_cap === null ? 'none' : String(key.monthly_cap),
        key.expires_at ?? 'never',
        key.last_used_at ?? 'never',
      ]);
      const head = ['name', 'id', 'public id', 'kind', 'variant', 'status', 'scopes', 'cap', 'ends', 'last used'];
      print(json, { keys: keys.map(shown) }, table(head, rows, 'There are no keys.'));
    });

  return command;
}

function newKey({ live, test, name, scopes = ['*'], expires = undefined, variant }: CreateOptions, now_ms: number) {
  if (live === test)
    throw new CommandError(EXIT.usage, 'key: found both or neither of --live and --test, expected one');
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong !== undefined)
    throw new CommandError(
      EXIT.usage,
      `key: scope is '${wrong}', expected '*', or one such as 'hail:read' or 'portfolio:*'`,
    );
  if (expires !== undefined && Date.parse(expires) <= now_ms)
    throw new CommandError(EXIT.usage, `key: --expires is ${expires}, expected a time to come`);
  return {
    kind: live ? ('live' as const) : ('test' as const),
    variant: keyVariantOf(variant),
    name,
    scopes,
    expires_at: expires ?? null,
  };
}

const LONGEST_GRACE_MS = 365 * 86_400_000;

/** Argument: a duration of at most a year. */
function grace(text: string): number {
  const grace_ms = duration(text);
  if (grace_ms > LONGEST_GRACE_MS) throw new InvalidArgumentError(`Found '${text}', expected at most 365d.`);
  return grace_ms;
}

async function infoOf(records: Records, id: string, now_ms: number): Promise<KeyInfo> {
  const row = await findKey(records.reader, id);
  if (row === null) throw unknownKey(id);
  return keyInfo(row, now_ms);
}

/** A key in the words of operators. */
function shown({ variant, ...rest }: KeyInfo) {
  return { ...rest, variant: variantWordOf(variant) };
}

function unknownKey(id: string): CommandError {
  return new CommandError(EXIT.not_found, `key ${id}: does not exist, expected the id or public id of a key`);
}
