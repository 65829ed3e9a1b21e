import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { parse, YAMLParseError } from 'yaml';
import { counted, EXIT } from '../../schemas/command-line.ts';
import type { Records } from '../billing/records.ts';
import { CommandError, print, type RecordsConfig, withRecords } from './cli.ts';
import { applySeed, Seed, SeedConflict, type SeededKey, type SeedResult } from './seed-file.ts';

interface ApplyOptions {
  readonly dryRun?: boolean;
  readonly secrets?: string;
  readonly json?: true;
}

/** `hail-api seed`: the desired state in a file. */
export function seedCommand(config: () => RecordsConfig): Command {
  const command = new Command('seed').description('plans, businesses, members and keys from a file');

  command
    .command('apply <file>')
    .description(
      'bring the records to what a YAML or JSON file says, all of it or nothing; a second time changes nothing',
    )
    .option('--dry-run', 'say what would change, and change nothing')
    .option(
      '--secrets <file>',
      'write the keys that are made to a new file, readable by its owner only, instead of printing them',
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Example of a file:
  plans:
    pro: { monthly_limit: 100000, overage_policy: block, features: [exports], quotas: { locations: 20000 } }
  businesses:
    - name: acme
      plan: pro
      members: [{ email: ops@example.com, role: admin }]
      keys: [{ name: dashboard, kind: live, scopes: ['hail:read', 'portfolio:*'], monthly_cap: 20000 }]`,
    )
    .action(async (file: string, { dryRun = false, secrets, json }: ApplyOptions) => {
      const seed = readSeed(file);
      if (secrets !== undefined && existsSync(secrets))
        throw new CommandError(EXIT.conflict, `secrets ${secrets}: exists, expected a new file`);
      const settings = config();
      const { changes, keys } = await withRecords(
        settings,
        (records) => apply(records, seed, settings.now(), { dryRun, secrets: secrets ?? null }),
        { create: true },
      );
      const shown = dryRun || secrets !== undefined ? [] : keys;
      print(json, { dry_run: dryRun, changes, keys: shown }, [
        ...changes,
        ...shown.map(({ business, name, key }) => `${business} ${name}: ${key}`),
        summary(changes.length, dryRun),
      ]);
    });

  return command;
}

/** Thrown inside a transaction to roll it back. */
class DryRun extends Error {
  readonly result: SeedResult;

  constructor(result: SeedResult) {
    super('dry run');
    this.result = result;
  }
}

async function apply(
  records: Records,
  seed: Seed,
  now_ms: number,
  { dryRun, secrets }: { readonly dryRun: boolean; readonly secrets: string | null },
): Promise<SeedResult> {
  try {
    return await records.transaction(async (rows) => {
      const result = await applySeed(rows, records.store, seed, now_ms);
      if (dryRun) throw new DryRun(result);
      // Before the commit: a key whose text is lost would have to be rotated.
      if (secrets !== null && result.keys.length > 0) writeSecrets(secrets, result.keys);
      return result;
    });
  } catch (error) {
    if (error instanceof DryRun) return error.result;
    if (error instanceof SeedConflict) throw new CommandError(EXIT.conflict, error.message);
    throw error;
  }
}

function writeSecrets(path: string, keys: readonly SeededKey[]): void {
  writeFileSync(path, `${JSON.stringify({ keys }, null, 2)}\n`, { flag: 'wx', mode: 0o600, flush: true });
}

function readSeed(file: string): Seed {
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    throw new CommandError(EXIT.not_found, `seed ${file}: no such file`);
  const parsed = Seed.safeParse(parseYaml(file) ?? {});
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'file'}: ${message}`);
  throw new CommandError(EXIT.usage, `seed ${file}: ${faults.join('; ')}`);
}

/** JSON is YAML too. */
function parseYaml(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error;
    throw new CommandError(EXIT.usage, `seed ${file}: ${error.message.split('\n')[0]}`);
  }
}

function summary(changes: number, dryRun: boolean): string {
  if (changes === 0) return 'Nothing to change: everything is as the file says.';
  return dryRun ? `Would make ${counted(changes, 'change')}.` : `Made ${counted(changes, 'change')}.`;
}
