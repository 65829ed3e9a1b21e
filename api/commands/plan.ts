import { type Command, Option } from 'commander';
import { readPlan, setPlan } from '../accounts/businesses.ts';
import { FEATURES, namedPlan, PLAN_NAMES, type PlanName, SELF_HOSTED, type Tariff } from '../accounts/plans.ts';
import type { Config } from '../config.ts';
import { argument, CommandError, collectWords, creditsOrNone, group, label, onBusiness, wholeNumber } from './cli.ts';

type Quotas = Tariff['quotas'];

/** What each option changes. */
interface Changes extends Readonly<Record<string, Partial<Tariff> | Partial<Quotas> | PlanName | undefined>> {
  readonly plan?: PlanName;
  readonly quota?: Partial<Quotas>;
}

const HIGHEST_RATE = 1_000_000;

/** `hail-api plan`: limits, prices and features of a business. */
export function planCommand(config: () => Config): Command {
  return group('plan', 'what a business may do, in force at once', [
    onBusiness(config, {
      usage: 'set <business>',
      about: 'change the plan of a business; what is not named stays',
      options: (command) =>
        command
          .addOption(
            new Option(
              '--plan <name>',
              'a plan of the earlier variant: its requests a minute and a day and its webhooks; credits stay',
            ).choices(PLAN_NAMES),
          )
          .option('--name <name>', 'name shown in usage answers', changing('name', label))
          .option('--limit <credits>', 'monthly limit, or none', changing('monthly_limit', creditsOrNone))
          .option('--cap <credits>', 'monthly spend cap, or none', changing('spend_cap', creditsOrNone))
          .option('--overage <policy>', 'allow or block calls past the limit', changing('overage_policy', policy))
          .option('--overage-rate <rate>', 'price of a credit past the limit', changing('overage_rate', price))
          .option(
            '--rate <n>',
            'requests a minute of each key',
            changing('rate_per_minute', wholeNumber(1, HIGHEST_RATE)),
          )
          .option(
            '--feature <names>',
            `replace the features: ${FEATURES.join(',')}, or none`,
            changing('features', features),
          )
          .option('--quota <name=n>', 'change a quota: locations=20000, requests_per_day=none; may be repeated', quota),
      help: 'Examples:\n  hail-api plan set acme --limit 100000 --overage block\n  hail-api plan set acme --cap none --feature exports,real_time_delivery',
      run: async ({ records, business, now_ms }, changes: Changes) => {
        if (Object.keys(changes).length === 0)
          throw new CommandError('usage', `plan of ${business.name}: no change is named, expected one option or more`);
        const { plan: named, quota, ...others } = changes;
        return await records.transaction(async (rows) => {
          const present = await readPlan(rows, business.id);
          const before = named === undefined ? present : namedPlan(named, present);
          const changed: Tariff = Object.assign({}, before, ...Object.values(others));
          const plan = { ...changed, quotas: { ...before.quotas, ...quota } };
          return { json: { plan, changed: await setPlan(rows, business, plan, now_ms) } };
        });
      },
    }),
    onBusiness(config, {
      usage: 'show <business>',
      about: 'the plan of a business',
      run: async ({ records, business }) => ({ json: await readPlan(records.reader, business.id) }),
    }),
  ]);
}

/** Argument parser: what an option changes of a plan. */
function changing<Name extends keyof Tariff>(name: Name, parse: (text: string) => Tariff[Name]) {
  return (text: string): Partial<Tariff> => ({ [name]: parse(text) });
}

const policy = argument('allow or block', (text) => (text === 'allow' || text === 'block' ? text : null));
const price = argument('a price such as 0.002', (text) => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : null));

const features = argument(`${FEATURES.join(', ')} or none`, (text) => {
  const words = text === 'none' ? [] : collectWords(text);
  const known = FEATURES.filter((feature) => words.includes(feature));
  return known.length === words.length ? known : null;
});

const QUOTAS = Object.keys(SELF_HOSTED.quotas) as (keyof Quotas)[];
const quotaName = argument(QUOTAS.join(', '), (text) => QUOTAS.find((known) => known === text));

function quota(text: string, before: Partial<Quotas> = {}): Partial<Quotas> {
  const [given = '', most = ''] = text.split('=');
  const name = quotaName(given);
  const parsed = name === 'requests_per_day' ? creditsOrNone(most) : wholeNumber(0, Number.MAX_SAFE_INTEGER)(most);
  return { ...before, [name]: parsed };
}
