import type { Command } from 'commander';
import { EXIT } from '../../schemas/command-line.ts';
import { readPlan, setPlan } from '../accounts/businesses.ts';
import { FEATURES, namedPlan, PLAN_NAMES, type PlanName, SELF_HOSTED, type Tariff } from '../accounts/plans.ts';
import {
  argument,
  businessNamed,
  CommandError,
  collectWords,
  group,
  label,
  oneWordOf,
  onRecords,
  type RecordsConfig,
  wholeNumber,
  wholeNumberOrNone,
} from './cli.ts';

interface Changes {
  readonly plan?: PlanName;
  readonly name?: string;
  readonly limit?: number | 'none';
  readonly cap?: number | 'none';
  readonly rate?: number;
  readonly overage?: Tariff['overage_policy'];
  readonly overageRate?: number;
  readonly feature?: readonly string[];
  readonly quota?: Partial<Tariff['quotas']>;
}

const HIGHEST_RATE = 1_000_000;

/** `hail-api plan`: limits, prices and features of a business. */
export function planCommand(config: () => RecordsConfig): Command {
  return group('plan', 'what a business may do, in force at once', [
    onRecords(config, {
      usage: 'set <business>',
      about: 'change the plan of a business; what is not named stays',
      options: (command) =>
        command
          .option(
            '--plan <name>',
            'free, pro or business of the earlier variant: its requests a minute and a day and its webhooks; credits stay',
            oneWordOf(PLAN_NAMES),
          )
          .option('--name <name>', 'name shown in usage answers', label)
          .option('--limit <credits>', 'monthly limit, or none', wholeNumberOrNone)
          .option('--cap <credits>', 'monthly spend cap, or none', wholeNumberOrNone)
          .option('--overage <policy>', 'allow or block calls past the limit', oneWordOf(['allow', 'block'] as const))
          .option('--overage-rate <rate>', 'price of a credit past the limit', price)
          .option('--rate <n>', 'requests a minute of each key', wholeNumber(1, HIGHEST_RATE))
          .option(
            '--feature <names>',
            `replace the features: ${FEATURES.join(', ')}, or none; may be repeated`,
            features,
          )
          .option('--quota <name=n>', 'change a quota: locations=20000, requests_per_day=none; may be repeated', quota)
          .addHelpText(
            'after',
            '\nExamples:\n  hail-api plan set acme --limit 100000 --overage block\n  hail-api plan set acme --cap none --feature exports,real_time_delivery',
          ),
      run: async ({ records, now_ms }, changes: Changes, nameOrId) => {
        if (Object.keys(changes).length === 0)
          throw new CommandError(EXIT.usage, `plan of ${nameOrId}: no change is named, expected one option or more`);
        const business = await businessNamed(records, nameOrId);
        const { plan, changed } = await records.transaction(async (rows) => {
          const plan = changedPlan(await readPlan(rows, business.id), changes);
          return { plan, changed: await setPlan(rows, business, plan, now_ms) };
        });
        const said = changed ? `Changed the plan of ${business.name}:` : `The plan of ${business.name} already was so:`;
        return { json: { plan, changed }, lines: [said, ...planLines(plan)] };
      },
    }),
    onRecords(config, {
      usage: 'show <business>',
      about: 'the plan of a business',
      run: async ({ records }, _, nameOrId) => {
        const plan = await readPlan(records.reader, (await businessNamed(records, nameOrId)).id);
        return { json: plan, lines: planLines(plan) };
      },
    }),
  ]);
}

/** A plan for people. */
export function planLines(plan: Tariff): readonly string[] {
  const bound = (credits: number | null) => (credits === null ? 'none' : credits.toLocaleString('en-US'));
  return [
    `plan ${plan.name}: limit ${bound(plan.monthly_limit)}, spend cap ${bound(plan.spend_cap)} credits a month, overage ${plan.overage_policy} at ${plan.overage_rate} a credit`,
    `  ${plan.rate_per_minute} requests a minute; features ${plan.features.join(', ') || 'none'}`,
    `  quotas ${Object.entries(plan.quotas)
      .map(([name, most]) => `${name}=${most ?? 'none'}`)
      .join(' ')}`,
  ];
}

function changedPlan(present: Tariff, changes: Changes): Tariff {
  const before = changes.plan === undefined ? present : namedPlan(changes.plan, present);
  return {
    name: changes.name ?? before.name,
    monthly_limit: bound(changes.limit, before.monthly_limit),
    spend_cap: bound(changes.cap, before.spend_cap),
    overage_policy: changes.overage ?? before.overage_policy,
    overage_rate: changes.overageRate ?? before.overage_rate,
    rate_per_minute: changes.rate ?? before.rate_per_minute,
    features: changes.feature ?? before.features,
    quotas: { ...before.quotas, ...changes.quota },
  };
}

function bound(changed: number | 'none' | undefined, before: number | null): number | null {
  if (changed === undefined) return before;
  return changed === 'none' ? null : changed;
}

const price = argument('a price such as 0.002', (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : null));

function features(text: string, before: readonly string[] = []): readonly string[] {
  const words = collectWords(text, before).map(oneWordOf([...FEATURES, 'none']));
  return FEATURES.filter((feature) => words.includes(feature));
}

const QUOTAS = Object.keys(SELF_HOSTED.quotas) as (keyof Tariff['quotas'])[];

function quota(text: string, before: Partial<Tariff['quotas']> = {}): Partial<Tariff['quotas']> {
  const [name = '', most = ''] = text.split('=');
  const known = oneWordOf(QUOTAS)(name);
  if (known === 'requests_per_day' && most === 'none') return { ...before, [known]: null };
  return { ...before, [known]: wholeNumber(0, Number.MAX_SAFE_INTEGER)(most) };
}
