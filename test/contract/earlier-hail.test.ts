import test from 'ava';
import { openAccount } from '../support/service/account.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

let whole: WholeService;

test.before(async () => {
  whole = await startWholeService();
});
test.after.always(async (t) => {
  t.deepEqual(whole.service.failures, []);
  await whole.service.close();
});

test('try', async (t) => {
  const { key } = await openAccount(whole.service, { variant: 'earlier' });
  const sim = await openAccount(whole.service, { variant: 'earlier', kind: 'test' });
  for (const k of [whole.service.live_key, key, sim.key])
    for (const path of [
      '/hail/current?lat=35.2&lng=-97',
      '/hail/forecast?lat=35.2&lng=-97&hours=3',
      '/hail/history?lat=35.2&lng=-97&start_date=2026-05-01&end_date=2026-05-02',
      '/radar/current?lat=35.2&lng=-97',
      '/health',
      '/usage',
      '/webhooks',
      '/nope',
      '/hail/current',
      '/locations/x/risk',
      '/usage/export',
    ]) {
      const r = await whole.service.call(`/legacy/v1${path}`, { key: k });
      t.log(k.slice(0, 8), path, r.status, r.headers.get('X-Data-Source'), (await r.text()).slice(0, 700));
    }
  const r = await whole.service.call(`/v1/hail/current?lat=35.2&lng=-97`, { key });
  t.log(await r.text());
  t.pass();
});
