import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { type Edition, NOTHING_PUBLISHED } from '../../../api/published/catalog.ts';
import { getHailCurrent } from '../../../api/routes/hail-current.ts';
import { replyCache, replyFromCache } from '../../../api/server/middleware/reply-cache.ts';
import type { CallMiddleware } from '../../../api/server/state.ts';
import type { Services } from '../../../api/services.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('cached answers do not keep the editions that they were made of, whose live snapshots take megabytes', async (t) => {
  const cache = replyCache();
  const middleware = replyFromCache(getHailCurrent, cache, {} as Services, () => 0);
  const answer = async (number: number): Promise<WeakRef<Edition>> => {
    const edition: Edition = { ...NOTHING_PUBLISHED };
    const state = { path: '/v1/hail/current', search: `lat=${number}`, version: null, now_ms: 0, edition };
    const ctx = { state, req: { headers: {} }, res: { hasHeader: () => false }, body: Buffer.from('{}') };
    await middleware(ctx as unknown as Parameters<CallMiddleware>[0], async () => {});
    t.true(cache.get(`/v1/hail/current?lat=${number}`)?.holds(edition, 0));
    return new WeakRef(edition);
  };
  const editions: WeakRef<Edition>[] = [];
  for (let number = 0; number < 5; number++) editions.push(await answer(number));
  await new Promise(setImmediate);
  collectGarbage();
  t.is(cache.size, 5);
  t.deepEqual(
    editions.filter((edition) => edition.deref() !== undefined),
    [],
  );
});
