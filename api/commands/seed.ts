import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Transaction } from 'kysely';
import { parse, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { counted } from '../../schemas/command-line.ts';
import {
  type Business,
  createBusiness,
  findBusiness,
  LABEL_PATTERN,
  ROLES,
  setMember,
  setPlan,
  setStatus,
} from '../accounts/businesses.ts';
import { changeKey, createKey, findKey, isScope, listKeys, setKeyCap } from '../accounts/keys.ts';
import { NAMED_PLANS, namedPlan, PLAN_NAMES, PlanFile, SELF_HOSTED, type Tariff } from '../accounts/plans.ts';
import type { Config } from '../config.ts';
import { type Database, VARIANT_NAMES } from '../records/schema.ts';
import { faultWords } from '../server/validate.ts';
import { CommandError, group, onRecords } from './cli.ts';

const label = z.string().regex(LABEL_PATTERN, 'expected 1 to 100 printable characters');

const SeedKey = z.strictObject({
  name: label,
  kind: z.enum(['live', 'test']),
  variant: z.enum(VARIANT_NAMES).default('current'),
  scopes: z.array(z.string().refine(isScope, 'expected a scope such as hail:read')).min(1).default(['*']),
  expires_at: z.iso.datetime().nullable().default(null),
  monthly_cap: z.int().nonnegative().nullable().optional(),
});
type SeedKey = z.infer<typeof SeedKey>;

const SeedBusiness = z.strictObject({
  name: label,
  plan: z.string().default(SELF_HOSTED.name),
  suspended: z.boolean().default(false),
  members: z.array(z.strictObject({ email: z.email(), role: z.enum(ROLES).default('member') })).default([]),
  keys: z.array(SeedKey).default([]),
});

/** The desired state of plans, businesses, members and keys. Applying it leaves unnamed ones unchanged. */
const Seed = z
  .strictObject({
    plans: z.record(label, PlanFile).default({}),
    businesses: z.array(SeedBusiness).default([]),
  })
  .superRefine(({ plans, businesses }, context) => {
    const names = businesses.map(({ name }) => name);
    businesses.forEach(({ name, plan, keys }, k) => {
      const fault = (path: string, message: string) =>
        context.addIssue({ code: 'custom', path: ['businesses', k, path], message });
      if (names.indexOf(name) !== k) fault('name', `'${name}' is there twice`);
      if (plan !== SELF_HOSTED.name && !Object.hasOwn(plans, plan) && !Object.hasOwn(NAMED_PLANS, plan))
        fault('plan', `'${plan}' is no plan of this file`);
      if (new Set(keys.map(labelOf)).size < keys.length) fault('keys', 'two have the same name and kind');
    });
  });
type Seed = z.infer<typeof Seed>;

/** `hail-api seed`: the desired state in a file. */
export function seedCommand(config: () => Config): Command {
  return group('seed', 'plans, businesses, members and keys from a file', [
    onRecords(config, {
      usage: 'apply',
      about: 'bring the records to what a YAML or JSON file says, all of it or nothing; a second time changes nothing',
      creates: true,
      options: (command) =>
        command
          .argument('<file>', 'YAML or JSON', readSeed)
          .option('--dry-run', 'say what would change, and change nothing')
          .option(
            '--secrets <file>',
            'write the keys that are made to a new file, readable by its owner only, instead of printing them',
            newFile,
          ),
      help: `Example of a file:
  plans:
    pro: { monthly_limit: 100000, overage_policy: block, features: [exports], quotas: { locations: 20000 } }
  businesses:
    - name: acme
      plan: pro
      members: [{ email: ops@example.com, role: admin }]
      keys: [{ name: dashboard, kind: live, scopes: ['hail:read', 'portfolio:*'], monthly_cap: 20000 }]`,
      run: async ({ records, now_ms }, options: { readonly dryRun?: true; readonly secrets?: string }, seed: Seed) => {
        const { dryRun = false, secrets } = options;
        const made: Seeding['made'] = [];
        const changes: string[] = [];
        const applied = records.transaction(async (rows) => {
          await applySeed({ rows, now_ms, changes, made }, seed);
          if (dryRun) throw new DryRun();
          // Before the commit: a key whose text is lost would have to be rotated.
          const text = `${JSON.stringify({ keys: made }, null, 2)}\n`;
          if (secrets !== undefined && made.length > 0)
            writeFileSync(secrets, text, { flag: 'wx', mode: 0o600, flush: true });
        });
        await applied.catch((error: unknown) => {
          if (!(error instanceof DryRun)) throw error;
        });
        const keys = dryRun || secrets !== undefined ? [] : made;
        const shown = keys.map(({ business, name, key }) => `${business} ${name}: ${key}`);
        const done = `${dryRun ? 'Would make' : 'Made'} ${counted(changes.length, 'change')}.`;
        return { json: { dry_run: dryRun, changes, keys }, lines: [...changes, ...shown, done] };
      },
    }),
  ]);
}

function newFile(path: string): string {
  if (existsSync(path)) throw new CommandError('conflict', `secrets ${path}: exists, expected a new file`);
  return path;
}

/** Thrown inside a transaction to roll it back. */
class DryRun extends Error {}

/** The desired state in a file; JSON is YAML too. */
function readSeed(file: string): Seed {
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    throw new CommandError('not_found', `seed ${file}: no such file`);
  try {
    return Seed.parse(parse(readFileSync(file, 'utf8')) ?? {}, { error: faultWords });
  } catch (error) {
    if (error instanceof YAMLParseError)
      throw new CommandError('usage', `seed ${file}: ${error.message.split('\n')[0]}`);
    if (!(error instanceof z.ZodError)) throw error;
    const faults = error.issues.map(({ path, message }) => `${path.join('.') || 'file'}: ${message}`);
    throw new CommandError('usage', `seed ${file}: ${faults.join('; ')}`);
  }
}

/** The records within a transaction, a line for each change so far, and the new keys with their texts. */
interface Seeding {
  readonly rows: Transaction<Database>;
  readonly now_ms: number;
  readonly changes: string[];
  readonly made: { business: string; name: string; kind: SeedKey['kind']; key: string }[];
}

/** Brings the records to the desired state: a second time changes nothing. */
async function applySeed(seeding: Seeding, seed: Seed): Promise<void> {
  const { rows, now_ms, changes } = seeding;
  for (const { name, suspended, members, keys, ...wanted } of seed.businesses) {
    const plan = planNamed(seed, wanted.plan);
    const status = suspended ? 'suspended' : 'active';
    const created = await createBusiness(rows, name, plan, now_ms);
    if (created) changes.push(`${name}: made, on plan ${plan.name}`);
    const business = created ?? (await findBusiness(rows, name));
    if (business === null) throw new Error(`business ${name} is neither new nor there`);
    if (await setPlan(rows, business, plan, now_ms)) changes.push(`${name}: plan is ${plan.name}`);
    if (await setStatus(rows, business, status, now_ms)) changes.push(`${name}: is ${status}`);
    for (const { email, role } of members)
      if (await setMember(rows, business, email, role, now_ms)) changes.push(`${name}: ${email} is ${role}`);
    await applyKeys(seeding, business, keys);
  }
}

async function applyKeys(
  { rows, now_ms, changes, made }: Seeding,
  { id: business_id, name: business }: Business,
  wanted: readonly SeedKey[],
): Promise<void> {
  const there = (await listKeys(rows, business_id, now_ms)).filter(({ status }) => status === 'active');
  for (const { monthly_cap, ...each } of wanted) {
    const { name, kind, variant } = each;
    const expires_at = each.expires_at && new Date(each.expires_at).toISOString();
    const key = { ...each, business_id, expires_at };
    const present = there.find((known) => labelOf(known) === labelOf(key));
    if (present !== undefined && present.variant !== variant)
      throw new CommandError(
        'conflict',
        `business ${business}: ${kind} key ${name} is of the variant ${present.variant}, expected ${variant}: revoke it first`,
      );
    const created = present === undefined ? await createKey(rows, key, now_ms) : null;
    const isChanged = present !== undefined && (await changeKey(rows, present, key, now_ms));
    const row = monthly_cap === undefined ? null : await findKey(rows, created?.id ?? present?.id ?? '');
    const isLimited = row !== null && (await setKeyCap(rows, row, monthly_cap ?? null, now_ms));
    if (created !== null) made.push({ business, name, kind, key: created.text });
    if (created !== null || isChanged || isLimited)
      changes.push(`${business}: ${created === null ? 'changed' : 'made'} ${kind} key ${name}`);
  }
}

function planNamed({ plans }: Seed, name: string): Tariff {
  const plan = Object.hasOwn(plans, name) ? plans[name] : undefined;
  const published = PLAN_NAMES.find((known) => known === name);
  if (plan !== undefined) return { name, ...plan };
  return published === undefined ? SELF_HOSTED : namedPlan(published, SELF_HOSTED);
}

function labelOf({ name, kind }: { readonly name: string; readonly kind: string }): string {
  return `${kind} ${name}`;
}
