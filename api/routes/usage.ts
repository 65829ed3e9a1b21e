import { z } from 'zod';
import { type Operation, USAGE_EXAMPLE, Usage } from '../../schemas/resources/usage.ts';
import { wholeSeconds } from '../../schemas/time.ts';
import { effectiveCap, type Tariff } from '../accounts/plans.ts';
import { periodOf } from '../billing/ledger.ts';
import { operationUsage, readUsage } from '../billing/usage.ts';
import { cursorQuery, integerQuery, monthQuery } from '../http/decode.ts';
import { readEndpoint } from '../server/endpoint.ts';

const period = monthQuery({ description: 'Month, YYYY-MM; the current one when left out.' });

export const getUsage = readEndpoint({
  route: 'GET /v1/usage',
  group: 'Account',
  summary: 'Credits used in a month',
  description:
    'Credits, overage, operations, days and keys of one month. A call is in the next answer here. Free, and counted against the rate only.',
  scope: 'usage:read',
  query: z.object({
    period,
    operations_limit: integerQuery({ min: 1, max: 100, default: 20, description: 'Operations on a page.' }),
    operations_cursor: cursorQuery({ description: 'Operation after which the page begins.' }),
  }),
  reply: Usage,
  price: () => null,
  example: USAGE_EXAMPLE,
  answer: async ({ query, caller, now_ms, services }) => {
    const month = query.period ?? periodOf(now_ms);
    const usage = await readUsage(services.records.reader, caller.business_id, month, now_ms);
    return {
      body: {
        period: month,
        plan: caller.plan.name,
        ...creditBalance(caller.plan, usage.used, effectiveCap(caller.plan), usage.keys),
        operations: operationsPage(usage.operations, query.operations_cursor, query.operations_limit),
        daily: [...usage.daily],
        keys: {
          total_requests: usage.total_requests,
          count: usage.keys.length,
          items: usage.keys.map(({ id, name, status, requests, scopes }) => {
            return { id, name, status, requests, scopes: [...scopes] };
          }),
        },
        last_updated: wholeSeconds(usage.last_updated),
      },
    };
  },
});

const CSV = 'text/csv; charset=utf-8; header=present';

export const exportUsage = readEndpoint({
  route: 'GET /v1/usage/export',
  group: 'Account',
  summary: 'Credits by operation as CSV',
  description:
    'Every operation of one month, a row each, in name order: the complete breakdown of GET /v1/usage. Free.',
  scope: 'usage:read',
  query: z.object({ period }),
  reply: z.string().meta({ description: 'Rows of operation, count, credits and cost_per_call.' }),
  other_replies: { [CSV]: z.string().meta({ description: 'operation,count,credits,cost_per_call' }) },
  price: () => null,
  example: {
    query: { period: '2026-05' },
    reply: 'operation,count,credits,cost_per_call\r\nhail.current,1,15,15\r\n',
  },
  answer: async ({ query, caller, now_ms, services }) => {
    const month = query.period ?? periodOf(now_ms);
    const operations = await operationUsage(services.records.reader, caller.business_id, month);
    const rows = operations.map(
      ({ operation, ...row }) => `${operation},${row.count},${row.credits},${row.cost_per_call}\r\n`,
    );
    return {
      body: `operation,count,credits,cost_per_call\r\n${rows.join('')}`,
      type: CSV,
      headers: { 'Content-Disposition': `attachment; filename="usage-${month}.csv"` },
    };
  },
});

/** Credits of a month against a plan: remaining credits, overage and its cost. Each term is clamped by itself. */
export function creditBalance(
  plan: Pick<Tariff, 'monthly_limit' | 'spend_cap' | 'overage_policy' | 'overage_rate'>,
  used: number,
  cap: number | null,
  keys: Awaited<ReturnType<typeof readUsage>>['keys'],
): Pick<Usage, 'credits' | 'overage' | 'overage_policy'> {
  const { monthly_limit: limit, spend_cap, overage_policy, overage_rate } = plan;
  const per_key_overrides = keys.flatMap(({ id: key_id, name, monthly_cap }) =>
    monthly_cap === null ? [] : [{ key_id, name, policy: 'block' as const, spend_cap: monthly_cap }],
  );
  const over = limit === null ? 0 : Math.max(0, used - limit);
  return {
    credits: {
      limit,
      used,
      remaining: limit === null ? null : Math.max(0, limit - used),
      spend_cap,
      until_cap: cap === null ? null : Math.max(0, cap - used),
    },
    overage: { credits: over, estimated_cost: Math.round(over * overage_rate * 100) / 100, rate: overage_rate },
    overage_policy: { policy: overage_policy, spend_cap, per_key_overrides },
  };
}

/** Operations after the cursor, which is an exclusive bound and need not be one; `operations` are in name order. */
function operationsPage(operations: readonly Operation[], cursor: string | null, limit: number): Usage['operations'] {
  const after = operations.filter(({ operation }) => cursor === null || operation > cursor);
  const items = after.slice(0, limit);
  const next_cursor = after.length > limit ? (items.at(-1)?.operation ?? null) : null;
  return { items, total_count: operations.length, next_cursor };
}
