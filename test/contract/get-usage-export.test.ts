import { getUsageExport } from '../../api/routes/usage.ts';
import { openAccount } from '../support/service/account.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(
  () => startService({ endpoints: [...sampleEndpoints().endpoints, getUsageExport] }),
  closeWithoutFailures,
);

test('GET /v1/usage/export is every operation of the month as an attachment of CSV', async (t) => {
  const account = await openAccount(t.context);
  await t.context.call('/v1/sample/version', account);
  await t.context.call('/v1/sample/point?lat=1&lon=1', account);
  await t.context.call('/v1/sample/point?lat=2&lon=1', account);
  const reply = await t.context.call('/v1/usage/export', account);
  t.is(reply.headers.get('Content-Type'), 'text/csv; charset=utf-8; header=present');
  t.is(reply.headers.get('Content-Disposition'), 'attachment; filename="usage-2026-05.csv"');
  t.is(
    await reply.text(),
    'operation,count,credits,cost_per_call\r\nsample.point,2,30,15\r\nsample.version,1,10,10\r\n',
  );
});

test('GET /v1/usage/export of a month without calls is the header alone', async (t) => {
  const reply = await t.context.call('/v1/usage/export?period=2025-01');
  t.is(await reply.text(), 'operation,count,credits,cost_per_call\r\n');
});

test('GET /v1/usage/export is 406 where CSV is ruled out, and 400 for a period that is no month', async (t) => {
  t.is((await t.context.call('/v1/usage/export', { headers: { Accept: 'text/csv' } })).status, 200);
  t.is((await t.context.call('/v1/usage/export', { headers: { Accept: 'image/png' } })).status, 406);
  t.is((await t.context.call('/v1/usage/export?period=May')).status, 400);
});
