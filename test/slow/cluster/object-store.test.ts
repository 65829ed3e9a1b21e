import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import {
  type ObjectStore,
  openObjectStore,
  type StoreAddress,
  StoreRefused,
  StoreUnavailable,
} from '../../../schemas/object-store/client.ts';
import { downloadFile, putFile } from '../../../schemas/object-store/files.ts';
import { noObjectStore, type ObjectStoreServer, runObjectStore } from '../../support/object-store/server.ts';

const bytes = (text: string) => Buffer.from(text);
const text = (found: { content: Uint8Array } | null) => (found === null ? null : Buffer.from(found.content).toString());

if (noObjectStore !== null) test(`object storage is not tested: ${noObjectStore}`, (t) => t.truthy(noObjectStore));
else {
  let server: ObjectStoreServer;
  let address: StoreAddress;
  let store: ObjectStore;
  let folder: string;

  test.before(async () => {
    server = await runObjectStore();
    address = await server.bucket('hail');
    store = openObjectStore({ ...address, url: `${address.url}/below/a prefix` });
    folder = mkdtempSync(join(tmpdir(), 'hail-objects-'));
  });
  test.after.always(() => server?.stop());

  test('an object is stored whole and read back, in ranges too, and is absent before and after', async (t) => {
    const key = 'tables/detections/date=2026-05-01/day-91be0c44.parquet';
    t.is(await store.get(key), null);
    t.is(await store.head(key), null);
    await store.put(key, bytes('0123456789'));
    t.is(text(await store.get(key)), '0123456789');
    t.is(text(await store.get(key, { first: 2, length: 3 })), '234');
    t.is((await store.head(key))?.bytes, 10);
    await store.remove(key);
    t.is(await store.get(key), null);
    await t.notThrowsAsync(store.remove(key));
  });

  test('a tag says whether an object has changed', async (t) => {
    await store.put('current.json', bytes('{"a":1}'));
    const first = await store.get('current.json');
    t.is(await store.getUnless(first?.etag ?? null, 'current.json'), 'unchanged');
    await store.put('current.json', bytes('{"a":2}'));
    const next = await store.getUnless(first?.etag ?? null, 'current.json');
    t.is(next === 'unchanged' ? next : text(next), '{"a":2}');
  });

  test('a listing names every object below a prefix, more than one page of them, in order', async (t) => {
    const names = Array.from({ length: 1005 }, (_, k) => `list/${String(k).padStart(4, '0')} =+&.json`);
    for (let k = 0; k < names.length; k += 50)
      await Promise.all(names.slice(k, k + 50).map((name) => store.put(name, bytes(name))));
    const found = await Array.fromAsync(store.list('list/'));
    t.deepEqual(
      found.map(({ key }) => key),
      names.toSorted(),
    );
    t.is(found[0]?.bytes, 'list/0000 =+&.json'.length);
    t.is((await store.head('list/0000 =+&.json'))?.etag, found[0]?.etag);
    t.true(Math.abs((found[0]?.modified_ms ?? 0) - Date.now()) < 600_000);
  });

  test('a file above 64 MB goes in parts and comes back with the same hash', async (t) => {
    const path = join(folder, 'large');
    const content = randomBytes(65 * 1024 * 1024);
    writeFileSync(path, content);
    await putFile(store, 'large', path);
    const sha256 = createHash('sha256').update(content).digest('hex');
    t.true(await downloadFile(store, 'large', `${path}-back`, { bytes: content.length, sha256 }));
    t.is(Buffer.compare(readFileSync(`${path}-back`), content), 0);
  });

  test('a download of other content than expected leaves no file', async (t) => {
    await store.put('small', bytes('abc'));
    const path = join(folder, 'small');
    await t.throwsAsync(downloadFile(store, 'small', path, { bytes: 4, sha256: null }), {
      instanceOf: StoreUnavailable,
      message: /3 bytes came, expected 4/,
    });
    await t.throwsAsync(downloadFile(store, 'small', path, { bytes: 3, sha256: '0'.repeat(64) }), {
      message: /SHA-256/,
    });
    t.throws(() => readFileSync(path), { code: 'ENOENT' });
    t.false(await downloadFile(store, 'none', path, { bytes: null, sha256: null }));
  });

  test('a store without conditions says so, and stores nothing', async (t) => {
    t.is(await store.putIf('conditional', bytes('a'), { if_absent: true }), 'unsupported');
    t.is(await store.get('conditional'), null);
  });

  test('wrong keys and a missing bucket are refused at once, by name', async (t) => {
    const wrong = openObjectStore({ ...address, secret_access_key: 'other' });
    await t.throwsAsync(wrong.get('a'), { instanceOf: StoreRefused, message: /403 SignatureDoesNotMatch/ });
    const nowhere = openObjectStore({ ...address, url: `${address.url}-missing` });
    await t.throwsAsync(nowhere.put('a', bytes('a')), { instanceOf: StoreRefused, message: /404/ });
    await t.throwsAsync(Array.fromAsync(nowhere.list('')), { instanceOf: StoreRefused, message: /404/ });
  });
}

test('a store that fails and then answers is asked again; one that goes on failing is unavailable', async (t) => {
  let failures = 2;
  const failing = createServer((_, response) => {
    if (failures-- > 0) response.writeHead(503, { 'Retry-After': '0' }).end('<Error><Code>SlowDown</Code></Error>');
    else response.end('well');
  }).listen(0, '127.0.0.1');
  t.teardown(() => failing.close());
  await new Promise((resolve) => failing.once('listening', resolve));
  const url = `http://127.0.0.1:${(failing.address() as AddressInfo).port}/bucket`;
  const outcomes: string[] = [];
  const store = openObjectStore(
    { url, access_key_id: 'a', secret_access_key: 'b', region: 'us-east-1' },
    (outcome) => void outcomes.push(outcome),
  );
  t.is(text(await store.get('key')), 'well');
  t.deepEqual(outcomes, ['slow_down', 'slow_down', 'done'], 'every request is counted');
  failures = Number.POSITIVE_INFINITY;
  await t.throwsAsync(store.get('key', null, { patience_ms: 500 }), {
    instanceOf: StoreUnavailable,
    message: /503 .*SlowDown.*given up after \d+ tries/,
  });
});

test('an answer that is cut off is asked for again', async (t) => {
  let cuts = 1;
  const cutting = createServer((request, response) => {
    response.writeHead(200, { 'Content-Length': '8' });
    if (cuts-- > 0) response.write('half', () => request.socket.destroy());
    else response.end('complete');
  }).listen(0, '127.0.0.1');
  t.teardown(() => cutting.close());
  await new Promise((resolve) => cutting.once('listening', resolve));
  const url = `http://127.0.0.1:${(cutting.address() as AddressInfo).port}/bucket`;
  const store = openObjectStore({ url, access_key_id: 'a', secret_access_key: 'b', region: 'us-east-1' });
  t.is(text(await store.get('key')), 'complete');
  cuts = 1;
  const path = join(mkdtempSync(join(tmpdir(), 'hail-cut-')), 'file');
  t.true(await downloadFile(store, 'key', path, { bytes: 8, sha256: null }));
  t.is(readFileSync(path, 'utf8'), 'complete');
  cuts = 1;
  await store.put('key', Buffer.from('content'));
});
