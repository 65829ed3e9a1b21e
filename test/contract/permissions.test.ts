import { randomUUID } from 'node:crypto';
import test from 'ava';
import { creditsOf, openAccount } from '../support/service/account.ts';
import { type DescribedOperation, exampleRequest, initOf } from '../support/service/document.ts';
import { ownFor } from '../support/service/own-resources.ts';
import { LOCATIONS, sending, upload } from '../support/service/portfolio.ts';
import { startWholeService, type WholeService } from '../support/service/whole-service.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const HEALTH = 'GET /v1/health';

let whole: WholeService;

test.before(async () => {
  whole = await startWholeService();
});
test.after.always(async (t) => {
  t.deepEqual(whole.service.failures, []);
  await whole.service.close();
});

function keyed(): DescribedOperation[] {
  return whole.operations.filter((operation) => operation.keyed);
}

/** Sends an operation's example; `key` null: without one; `own` is what its path names. */
async function ask(operation: DescribedOperation, key: string | null, own: Readonly<Record<string, string>> = {}) {
  const request = exampleRequest(operation, { ...whole.known, ...own });
  const response = await whole.service.call(request.target, { ...initOf(request), key });
  const { error, message } = (await response.json()) as { error?: string; message?: string };
  return { status: response.status, headers: response.headers, error, message };
}

test('every operation but health and the description needs a scope', (t) => {
  const free = whole.operations.filter((operation) => operation['x-scope'] === null).map(({ title }) => title);
  t.deepEqual(free.sort(), [HEALTH, 'GET /v1/openapi.json']);
});

test('every operation refuses a key without its scope, names the scope, and charges nothing', async (t) => {
  const scopes = [...new Set(keyed().flatMap((operation) => operation['x-scope'] ?? []))];
  for (const operation of keyed()) {
    const scope = operation['x-scope'];
    if (scope === null) continue;
    const others = scopes.filter((other) => other !== scope);
    const account = await openAccount(whole.service, { scopes: others });
    const { status, headers, error, message } = await ask(operation, account.key);
    t.deepEqual([status, error], [403, 'insufficient_scope'], operation.title);
    t.is(headers.get('X-Required-Scope'), scope);
    t.true(message?.includes(scope), message);
    t.is(await creditsOf(whole.service, account.business_id), 0);
  }
});

test('every operation is open to a key that has its scope alone, and to one of the whole resource', async (t) => {
  for (const operation of keyed()) {
    const scope = operation['x-scope'];
    const [status, success] = Object.entries(operation.responses).find(([code]) => code.startsWith('2')) ?? [];
    if (scope === null || success?.content['application/json'] === undefined) continue;
    for (const scopes of [[scope], [`${scope.split(':')[0]}:*`]]) {
      const { key, business_id } = await openAccount(whole.service, { scopes });
      const own = await ownFor(operation, whole.service, business_id);
      t.is((await ask(operation, key, own)).status, Number(status), `${operation.title} with ${scopes}`);
    }
  }
});

test('every operation but health refuses a test key that has every scope', async (t) => {
  const { key } = await openAccount(whole.service, { kind: 'test' });
  for (const operation of keyed()) {
    const { status, headers, error } = await ask(operation, key);
    if (operation.title === HEALTH) t.is(status, 200);
    else {
      t.deepEqual([status, error], [403, 'forbidden'], operation.title);
      t.is(headers.get('X-Required-Scope'), null);
    }
    t.is(operation['x-test-key'], operation.title === HEALTH, operation.title);
  }
});

test('every operation without a key is 401 with a challenge, like a path that does not exist', async (t) => {
  for (const operation of keyed()) {
    const { status, headers, error } = await ask(operation, null);
    t.deepEqual([status, error], [401, 'unauthorized'], operation.title);
    t.is(headers.get('WWW-Authenticate'), 'Bearer realm="hail"');
  }
  const nowhere = await whole.service.call('/v1/nothing/at/all', { key: null });
  t.is(nowhere.status, 401);
});

test('every path refuses the methods it does not have with 405 and lists those it has', async (t) => {
  const byPath = Map.groupBy(keyed(), ({ path }) => path);
  for (const [path, operations] of byPath) {
    const served = operations.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => whole.known[name] ?? 'unknown');
    for (const method of METHODS.filter((name) => !served.includes(name))) {
      const reply = await whole.service.call(target, { method });
      t.is(reply.status, 405, `${method} ${path}`);
      t.deepEqual(reply.headers.get('Allow')?.split(', ').sort(), [...served, 'OPTIONS'].sort(), path);
      if (method !== 'HEAD') t.is(((await reply.json()) as { error: string }).error, 'method_not_allowed');
    }
    const options = await whole.service.call(target, { method: 'OPTIONS', key: null });
    t.deepEqual(options.headers.get('Allow')?.split(', ').sort(), [...served, 'OPTIONS'].sort(), path);
  }
});

test('every operation refuses the key of a suspended business, and charges nothing', async (t) => {
  const { business_id, key } = await openAccount(whole.service);
  await whole.service.records.transaction(async (rows) => {
    await rows.updateTable('businesses').set({ status: 'suspended' }).where('id', '=', business_id).execute();
  });
  for (const operation of keyed()) {
    const { status, error } = await ask(operation, key);
    t.deepEqual([status, error], [403, 'forbidden'], operation.title);
  }
  t.is(await creditsOf(whole.service, business_id), 0);
});

test('locations of another business are as unknown as any: not listed, not deleted, no cursor', async (t) => {
  const [owner, stranger] = [await openAccount(whole.service), await openAccount(whole.service)];
  const { accepted } = await upload(
    whole.service,
    [
      { name: 'a', lat: 35, lon: -97 },
      { name: 'b', lat: 35, lon: -98 },
    ],
    owner.key,
  );
  const [first, second] = accepted.map(({ id }) => id) as [string, string];
  const told = async (response: Promise<Response>) => {
    const reply = await response;
    const text = (await reply.text()).replace(/req_\w+/g, 'req_');
    return { status: reply.status, text };
  };
  const unknown = `${first.slice(0, -4)}0000`;
  for (const id of [first, unknown]) {
    const reply = await told(whole.service.call(LOCATIONS, { ...sending('DELETE', { ids: [id] }), key: stranger.key }));
    t.is(reply.status, 200);
    t.deepEqual(JSON.parse(reply.text), { deleted_count: 0, not_found_count: 1, deleted: [], not_found: [id] });
  }
  const page = (id: string, key: string) => told(whole.service.call(`${LOCATIONS}?limit=1&cursor=${id}`, { key }));
  const list = (await whole.service.json(`${LOCATIONS}?limit=1`, owner)) as { next_cursor: string };
  t.is(list.next_cursor, first);
  t.is((await page(first, owner.key)).status, 200);
  const foreign = await page(first, stranger.key);
  t.is(foreign.status, 400);
  t.is(foreign.text.replaceAll(first, ''), (await page(unknown, stranger.key)).text.replaceAll(unknown, ''));
  t.deepEqual(((await whole.service.json(LOCATIONS, stranger)) as { locations: unknown[] }).locations, []);
  t.deepEqual(
    ((await whole.service.json(LOCATIONS, owner)) as { locations: { id: string }[] }).locations.map(({ id }) => id),
    [first, second],
  );
});

test('an Idempotency-Key of another business opens nothing: each has an upload of its own', async (t) => {
  const name = randomUUID();
  const send = async () => {
    const { business_id, key } = await openAccount(whole.service);
    const data = [{ name: 'same', lat: 35, lon: -97 }];
    const reply = await whole.service.call(LOCATIONS, {
      ...sending('POST', { format: 'json', data }, { 'Idempotency-Key': name }),
      key,
    });
    t.is(reply.status, 200);
    t.is(reply.headers.get('Idempotent-Replay'), null);
    t.is(await creditsOf(whole.service, business_id), 10);
    return ((await reply.json()) as { accepted: { id: string }[] }).accepted[0]?.id;
  };
  t.not(await send(), await send());
});
