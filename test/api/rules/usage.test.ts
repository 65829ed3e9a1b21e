import test from 'ava';
import { creditBalance, operationsCsv, operationsPage } from '../../../api/rules/usage.ts';

const plan = { name: 'p', monthly_limit: 1000, spend_cap: 1500, overage_policy: 'allow', overage_rate: 0.004 } as const;

test('below the limit nothing is over', (t) => {
  t.deepEqual(creditBalance(plan, 400, 1500), {
    credits: { limit: 1000, used: 400, remaining: 600, spend_cap: 1500, until_cap: 1100 },
    overage: { credits: 0, estimated_cost: 0, rate: 0.004 },
    overage_policy: { policy: 'allow', spend_cap: 1500, per_key_overrides: [] },
  });
});

test('above the limit the remainder is clamped, and the overage is not taken off twice', (t) => {
  const { credits, overage } = creditBalance(plan, 1234, 1500);
  t.deepEqual([credits.remaining, credits.until_cap], [0, 266]);
  t.deepEqual(overage, { credits: 234, estimated_cost: 0.94, rate: 0.004 });
});

test('without a bound there is nothing left to count', (t) => {
  const { credits, overage } = creditBalance({ ...plan, monthly_limit: null, spend_cap: null }, 1234, null);
  t.deepEqual(credits, { limit: null, used: 1234, remaining: null, spend_cap: null, until_cap: null });
  t.is(overage.credits, 0);
});

const rows = ['storms.list', 'hail.current', 'hail.history.30d'].map((operation) => ({
  operation,
  count: 2,
  credits: 30,
  cost_per_call: 15,
}));

test('operations come in name order, and the cursor is an exclusive bound', (t) => {
  const names = (cursor: string | null, limit: number) => {
    const page = operationsPage(rows, cursor, limit);
    return [page.items.map(({ operation }) => operation), page.next_cursor, page.total_count];
  };
  t.deepEqual(names(null, 2), [['hail.current', 'hail.history.30d'], 'hail.history.30d', 3]);
  t.deepEqual(names('hail.history.30d', 2), [['storms.list'], null, 3]);
  t.deepEqual(names(null, 3), [['hail.current', 'hail.history.30d', 'storms.list'], null, 3]);
  t.deepEqual(names('hail.d', 1), [['hail.history.30d'], 'hail.history.30d', 3]);
  t.deepEqual(names('zzz', 1), [[], null, 3]);
});

test('the export is a header and a row each, in name order', (t) => {
  t.is(
    operationsCsv(rows),
    'operation,count,credits,cost_per_call\r\nhail.current,2,30,15\r\nhail.history.30d,2,30,15\r\nstorms.list,2,30,15\r\n',
  );
});
