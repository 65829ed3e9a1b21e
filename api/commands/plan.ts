import { Command, InvalidArgumentError } from 'commander';
import { EXIT } from '../../schemas/command-line.ts';
import { readPlan, setPlan } from '../accounts/businesses.ts';
import { FEATURES, namedPlan, PLAN_NAMES, type PlanName, type Tariff } from '../accounts/plans.ts';
import {
  businessNamed,
  CommandError,
  collectWords,
  label,
  oneWordOf,
  print,
  type RecordsConfig,
  wholeNumber,
  wholeNumberOrNone,
  withRecords,
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
  const command = new Command('plan').description('what a business may do, in force at once');

  command
    .command('set <business>')
    .description('change the plan of a business; what is not named stays')
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
    .option('--feature <names>', `replace the features: ${FEATURES.join(', ')}, or none; may be repeated`, features)
    .option(
      '--quota <name=n>',
      'change a quota, such as locations=20000, or requests_per_day=none; may be repeated',
      quota,
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExamples:\n  hail-api plan set acme --limit 100000 --overage block\n  hail-api plan set acme --cap none --feature exports,real_time_delivery',
    )
    .action(async (nameOrId: string, { json, ...changes }: Changes & { readonly json?: true }) => {
      if (Object.keys(changes).length === 0)
        throw new CommandError(EXIT.usage, `plan of ${nameOrId}: no change is named, expected one option or more`);
      const settings = config();
      const { plan, changed, name } = await withRecords(settings, async (records) => {
        const business = await businessNamed(records, nameOrId);
        return await records.transaction(async (rows) => {
          const wanted = changedPlan(await readPlan(rows, business.id), changes);
          return { plan: wanted, changed: await setPlan(rows, business, wanted, settings.now()), name: business.name };
        });
      });
      print(json, { plan, changed }, [
        changed ? `Changed the plan of ${name}:` : `The plan of ${name} already was so:`,
        ...planLines(plan),
      ]);
    });

  command
    .command('show <business>')
    .description('the plan of a business')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string, { json }: { readonly json?: true }) => {
      const plan = await withRecords(config(), async (records) =>
        readPlan(records.reader, (await businessNamed(records, nameOrId)).id),
      );
      print(json, plan, planLines(plan));
    });

  return command;
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

function price(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError(`Found '${text}', expected a price such as 0.002.`);
  return Number(text);
}

function features(text: string, before: readonly string[] = []): readonly string[] {
  const words = collectWords(text, before).filter((word) => word !== 'none');
  const wrong = words.find((word) => !FEATURES.some((feature) => feature === word));
  if (wrong !== undefined) throw new InvalidArgumentError(`Found '${wrong}', expected ${FEATURES.join(', ')} or none.`);
  return FEATURES.filter((feature) => words.includes(feature));
}

const QUOTAS = [
  'locations',
  'polygons',
  'point_areas',
  'real_time_polygons',
  'area_sq_mi',
  'subscriptions',
  'webhooks',
  'requests_per_day',
] as const satisfies readonly (keyof Tariff['quotas'])[];

function quota(text: string, before: Partial<Tariff['quotas']> = {}): Partial<Tariff['quotas']> {
  const [name = '', most = ''] = text.split('=');
  const known = oneWordOf(QUOTAS)(name);
  if (known === 'requests_per_day' && most === 'none') return { ...before, [known]: null };
  return { ...before, [known]: wholeNumber(0, Number.MAX_SAFE_INTEGER)(most) };
}
