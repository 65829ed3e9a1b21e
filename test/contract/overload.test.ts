import test from 'ava';
import { ANSWERS } from '../../api/published/duckdb.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { startWholeService } from '../support/service/whole-service.ts';

/** Ten minutes without work for the machine, far more than a question may take. */
const ENDLESS = 'SELECT sleep_ms(600000)';

test('a question that finds too many waiting is refused with 503 and Retry-After, uncharged; what needs no query is answered', async (t) => {
  const { service } = await startWholeService();
  const { engine } = service.services;
  const ahead = Array.from({ length: ANSWERS.connections + ANSWERS.waiting_max }, () => engine.rows(ENDLESS));
  const refusals = Promise.allSettled(ahead);
  try {
    const before = await creditsUsed(service);
    const refused = await service.call('/v1/hail/history?lat=35.2&lon=-97');
    t.is(refused.status, 503);
    t.is(refused.headers.get('retry-after'), '1');
    t.is(refused.headers.get('cache-control'), 'no-store');
    t.like(await refused.json(), { error: 'overloaded', message: 'too many questions wait to be answered' });
    t.is(await creditsUsed(service), before);
    for (const path of ['/v1/health', '/v1/hail/current?lat=35.2&lon=-97'])
      t.is((await service.call(path)).status, 200, path);
  } finally {
    await service.close();
  }
  t.true((await refusals).every(({ status }) => status === 'rejected'));
  t.is(service.failures.length, 1, 'a refusal is told, as every answer from 500 on');
});
