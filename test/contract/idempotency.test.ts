import { type Account, creditsOf, openAccount } from '../support/service/account.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import { sampleEndpoints } from '../support/service/sample-endpoints.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { testWith } from '../support/service/test-with.ts';

const test = testWith(
  async () => {
    const samples = sampleEndpoints();
    const service = await startService({ endpoints: samples.endpoints });
    return { samples, service, account: await openAccount(service) };
  },
  (_, { service }) => service.close(),
);
const PATH = '/v1/sample/locations';

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly replay: string | null;
  readonly request_id: string | null;
}

/** Posts a name under an idempotency key. */
async function post(
  { service, account }: { service: RunningService; account: Account },
  idempotency_key: string,
  body: unknown,
  path = PATH,
): Promise<Sent> {
  const reply = await service.call(path, {
    key: account.key,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': idempotency_key },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: reply.status,
    text: await reply.text(),
    replay: reply.headers.get('Idempotent-Replay'),
    request_id: reply.headers.get('X-Request-Id'),
  };
}

const code = ({ text }: Sent) => (JSON.parse(text) as { error?: string }).error;
const rowsOf = async ({ service, account }: { service: RunningService; account: Account }) =>
  (
    await service.records.reader
      .selectFrom('portfolio_locations')
      .select('id')
      .where('business_id', '=', account.business_id)
      .execute()
  ).length;

test('the same key replays the exact answer, with no second row and no second charge', async (t) => {
  const first = await post(t.context, 'k1', { name: 'a', note: 'n' });
  const again = await post(t.context, 'k1', '{ "note": "n", "name": "a" }');
  t.is(first.status, 200);
  t.is(first.replay, null);
  t.deepEqual([again.status, again.text, again.replay], [200, first.text, 'true']);
  t.not(again.request_id, first.request_id);
  t.is(await rowsOf(t.context), 1);
  t.is(await creditsOf(t.context.service, t.context.account.business_id), 10);
});

test('another key, or none, is another request', async (t) => {
  await post(t.context, 'k1', { name: 'a' });
  await post(t.context, 'k2', { name: 'a' });
  t.is(await rowsOf(t.context), 2);
});

test('the same key with another body or query after a success is 400 invalid_idempotency_key', async (t) => {
  await post(t.context, 'k1', { name: 'a' });
  const other = await post(t.context, 'k1', { name: 'b' });
  t.deepEqual([other.status, code(other)], [400, 'invalid_idempotency_key']);
  t.is(code(await post(t.context, 'k1', { name: 'a' }, `${PATH}?x=1`)), 'invalid_idempotency_key');
});

test('while the first request is in flight the same key is 409 at once', async (t) => {
  const { samples } = t.context;
  const { promise, resolve } = Promise.withResolvers<void>();
  samples.gate = promise;
  const first = post(t.context, 'k1', { name: 'a' });
  while (samples.made.size === 0) await new Promise((next) => setImmediate(next));
  const others = await Promise.all(Array.from({ length: 20 }, () => post(t.context, 'k1', { name: 'a' })));
  for (const other of others) t.deepEqual([other.status, code(other)], [409, 'idempotency_key_in_progress']);
  resolve();
  const { status, text } = await first;
  const after = await post(t.context, 'k1', { name: 'a' });
  t.deepEqual([status, after.text, after.replay], [200, text, 'true']);
  t.is(await rowsOf(t.context), 1);
});

test('a hundred parallel calls with one key make one resource and one charge', async (t) => {
  const all = await Promise.all(Array.from({ length: 100 }, () => post(t.context, 'k1', { name: 'a' })));
  const originals = all.filter(({ status, replay }) => status === 200 && replay === null);
  t.is(originals.length, 1);
  for (const one of all) t.true(one.status === 409 || one.text === originals[0]?.text);
  t.is(await rowsOf(t.context), 1);
  t.is(await creditsOf(t.context.service, t.context.account.business_id), 10);
});

test('a refusal by validation is replayed, and another body under its key is new', async (t) => {
  const first = await post(t.context, 'k1', { name: '' });
  const again = await post(t.context, 'k1', { name: '' });
  t.deepEqual([first.status, again.status, again.replay, again.text], [400, 400, 'true', first.text]);
  t.is((await post(t.context, 'k1', { name: 'a' })).status, 200);
  t.is(await creditsOf(t.context.service, t.context.account.business_id), 10);
});

test('a conflict found while writing is replayed, and its rows are rolled back', async (t) => {
  const first = await post(t.context, 'k1', { name: 'conflict' });
  const again = await post(t.context, 'k1', { name: 'conflict' });
  t.deepEqual([first.status, again.status, again.replay, again.text], [409, 409, 'true', first.text]);
  t.is(await rowsOf(t.context), 0);
});

test('bad JSON is refused before the key is looked at', async (t) => {
  t.is((await post(t.context, 'k1', '{')).status, 400);
  const next = await post(t.context, 'k1', { name: 'a' });
  t.deepEqual([next.status, next.replay], [200, null]);
});

test('a failure of ours is never replayed', async (t) => {
  const { samples } = t.context;
  samples.failure = new Error('once');
  t.is((await post(t.context, 'k1', { name: 'a' })).status, 500);
  samples.failure = null;
  const next = await post(t.context, 'k1', { name: 'a' });
  t.deepEqual([next.status, next.replay], [200, null]);
  t.is(await rowsOf(t.context), 1);
});

test('a spend cap is never replayed', async (t) => {
  const account = await openAccount(t.context.service, { plan: { spend_cap: 5 } });
  const first = await post({ ...t.context, account }, 'k1', { name: 'a' });
  const again = await post({ ...t.context, account }, 'k1', { name: 'a' });
  t.deepEqual([first.status, again.status, again.replay], [429, 429, null]);
});

test('keys belong to a business', async (t) => {
  await post(t.context, 'k1', { name: 'a' });
  const account = await openAccount(t.context.service);
  const other = await post({ ...t.context, account }, 'k1', { name: 'b' });
  t.deepEqual([other.status, other.replay], [200, null]);
});

for (const [what, key, status] of [
  ['one character', 'x', 200],
  ['255 characters', 'x'.repeat(255), 200],
  ['256 characters', 'x'.repeat(256), 400],
  ['255 characters beyond ASCII', Buffer.from('é'.repeat(255)).toString('latin1'), 200],
  ['256 characters beyond ASCII', Buffer.from('é'.repeat(256)).toString('latin1'), 400],
  ['blanks', '   ', 400],
  ['quotes', '"k"', 200],
  ['bytes that are no UTF-8', 'caf\xe9', 400],
  ['UTF-8 cut short', 'caf\xc3', 400],
  ['a surrogate', '\xed\xa0\x80', 400],
  ['a blank that is none to HTTP', '\xc2\xa0', 200],
] as const)
  test(`a key of ${what} is ${status}`, async (t) => {
    const { service, account } = t.context;
    const body = '{"name":"a"}';
    const reply = await sendRaw(
      service.url,
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nIdempotency-Key: ${key}\r\nConnection: close\r\n\r\n${body}`,
    );
    t.is(reply.status, status);
    if (status === 400) t.is((JSON.parse(reply.body) as { error: string }).error, 'invalid_idempotency_key');
  });

test('keys that differ in any byte are different keys', async (t) => {
  const { service, account } = t.context;
  const body = '{"name":"a"}';
  for (const key of ['k', '\xef\xbb\xbfk', 'k\xc2\xa0', 'caf\xc3\xa9', 'caf\xc3\xa8', 'cafe\xcc\x81']) {
    const reply = await sendRaw(
      service.url,
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nIdempotency-Key: ${key}\r\nConnection: close\r\n\r\n${body}`,
    );
    t.deepEqual([reply.status, reply.headers.get('idempotent-replay')], [200, undefined]);
  }
  t.is(await rowsOf(t.context), 6);
});

test('two Idempotency-Key headers are 400', async (t) => {
  const { service, account } = t.context;
  const body = '{"name":"a"}';
  const reply = await sendRaw(
    service.url,
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nConnection: close\r\n\r\n${body}`,
  );
  t.is(reply.status, 400);
});

test('where it is not honoured the header is ignored', async (t) => {
  const { service, account } = t.context;
  const headers = { 'Idempotency-Key': 'x'.repeat(300), 'Content-Type': 'application/json' };
  const reply = await service.call('/v1/sample/batch', {
    ...account,
    method: 'POST',
    headers,
    body: '{"locations":[{"lat":1,"lon":1}]}',
  });
  t.is(reply.status, 200);
});
