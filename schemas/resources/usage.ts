import { z } from 'zod';
import * as wire from './fields.ts';

const credits = (description: string) => z.number().meta({ description, unit: 'credits' });

export const Operation = wire.resource('UsageOperation', {
  operation: z.string().meta({ description: 'Name of the operation; every price has its own.' }),
  count: z.int().meta({ description: 'Calls, or locations of batch calls.' }),
  credits: credits('count x cost_per_call.'),
  cost_per_call: credits('Price of one; negative in rows of refunds.'),
});
export type Operation = z.infer<typeof Operation>;

/** Cap of one key, in addition to the cap of its business. */
const KeyOverride = z.object({
  key_id: z.string().meta({ description: 'Id of the key; the keys of a rotation share the cap and are listed each.' }),
  name: z.string().meta({ description: 'Its name.' }),
  policy: z.literal('block').meta({ description: 'Calls above the cap are refused.' }),
  spend_cap: credits('Most credits of the month with the key.'),
});

/** Usage of a business in a month. */
export const Usage = wire.resource('Usage', {
  period: z.string().meta({ description: 'Month, YYYY-MM, UTC.' }),
  plan: z.string().meta({ description: 'Name of the plan.' }),
  credits: z.object({
    limit: credits('Credits of the month; null: no limit.').nullable(),
    used: credits('Credits used.'),
    remaining: credits('Left of the limit, never below 0; null without a limit.').nullable(),
    spend_cap: credits('Spend cap; null: none.').nullable(),
    until_cap: credits('Left before calls are refused; null when they never are.').nullable(),
  }),
  overage: z.object({
    credits: credits('Credits above the limit.'),
    estimated_cost: z.number().meta({ description: 'credits x rate, two decimals.', unit: 'currency' }),
    rate: z.number().meta({ description: 'Price of a credit above the limit.', unit: 'currency' }),
  }),
  overage_policy: z.object({
    policy: z.enum(['allow', 'block']).meta({ description: 'Whether calls go on above the limit.' }),
    spend_cap: credits('Spend cap; null: none.').nullable(),
    per_key_overrides: z.array(KeyOverride).meta({ description: 'Keys that have a cap of their own.' }),
  }),
  operations: z.object({
    items: z.array(Operation).meta({ description: 'In name order.' }),
    total_count: z.int().nonnegative().meta({ description: 'Rows on all pages.' }),
    next_cursor: wire.nextCursor,
  }),
  daily: z
    .array(
      z.object({
        date: z.string().meta({ description: 'UTC day.', format: 'date' }),
        credits: credits('Credits of the day.'),
      }),
    )
    .meta({ description: 'Every day of the month so far.' }),
  keys: z.object({
    total_requests: z.int().nonnegative().meta({ description: 'Requests with any key, free and refused ones too.' }),
    count: z.int().nonnegative().meta({ description: 'Keys listed.' }),
    items: z
      .array(
        z.object({
          id: z.string().meta({ description: 'Id of the key.' }),
          name: z.string().meta({ description: 'Its name.' }),
          status: z.enum(['active', 'rotating', 'expired', 'revoked']).meta({ description: 'State of the key.' }),
          requests: z
            .int()
            .nonnegative()
            .meta({ description: 'Requests with it; free ones of the last second may be missing.' }),
          scopes: z.array(z.string()).meta({ description: 'Its scopes.' }),
        }),
      )
      .meta({ description: 'Keys that are alive or were used in the month.' }),
  }),
  last_updated: z
    .string()
    .nullable()
    .meta({ description: 'Time of the last charge; null before the first.', format: 'date-time' }),
});
export type Usage = z.infer<typeof Usage>;

export const USAGE_EXAMPLE: wire.Example<typeof Usage> = {
  query: { period: '2026-05' },
  reply: {
    period: '2026-05',
    plan: 'self-hosted',
    credits: { limit: null, used: 55, remaining: null, spend_cap: null, until_cap: null },
    overage: { credits: 0, estimated_cost: 0, rate: 0 },
    overage_policy: { policy: 'allow', spend_cap: null, per_key_overrides: [] },
    operations: {
      items: [
        { operation: 'hail.current', count: 1, credits: 15, cost_per_call: 15 },
        { operation: 'hail.history.180d', count: 1, credits: 40, cost_per_call: 40 },
      ],
      total_count: 2,
      next_cursor: null,
    },
    daily: [{ date: '2026-05-01', credits: 55 }],
    keys: {
      total_requests: 3,
      count: 1,
      items: [
        {
          id: 'key_01KQHS8V6ZJ6J2C4T2W9M8N7QX',
          name: 'first live key',
          status: 'active',
          requests: 3,
          scopes: ['*'],
        },
      ],
    },
    last_updated: '2026-05-01T20:14:07Z',
  },
};
