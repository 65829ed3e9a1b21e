import type { KeyOverride, Operation, Usage } from '../../schemas/resources/usage.ts';

interface CreditPlan {
  readonly name: string;
  readonly monthly_limit: number | null;
  readonly spend_cap: number | null;
  readonly overage_policy: 'allow' | 'block';
  readonly overage_rate: number;
}

/** Credits of a month against a plan: remaining credits, overage and its cost. Each term is clamped by itself. */
export function creditBalance(
  plan: CreditPlan,
  used: number,
  cap: number | null,
  per_key_overrides: KeyOverride[],
): Pick<Usage, 'credits' | 'overage' | 'overage_policy'> {
  const { monthly_limit: limit, spend_cap, overage_policy, overage_rate } = plan;
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

export function keyOverrides(
  keys: readonly { readonly id: string; readonly name: string; readonly monthly_cap: number | null }[],
): KeyOverride[] {
  return keys.flatMap(({ id, name, monthly_cap }) =>
    monthly_cap === null ? [] : [{ key_id: id, name, policy: 'block', spend_cap: monthly_cap }],
  );
}

/** Operations after the cursor, which is an exclusive bound and need not be one; `operations` are in name order. */
export function operationsPage(
  operations: readonly Operation[],
  cursor: string | null,
  limit: number,
): Usage['operations'] {
  const after = operations.filter(({ operation }) => cursor === null || operation > cursor);
  const items = after.slice(0, limit);
  return {
    items,
    total_count: operations.length,
    next_cursor: after.length > limit ? (items.at(-1)?.operation ?? null) : null,
  };
}

/** `operation,count,credits,cost_per_call`, a row each, RFC 4180. */
export function operationsCsv(operations: readonly Operation[]): string {
  const rows = operations.map(
    ({ operation, count, credits, cost_per_call }) => `${operation},${count},${credits},${cost_per_call}\r\n`,
  );
  return `operation,count,credits,cost_per_call\r\n${rows.join('')}`;
}
