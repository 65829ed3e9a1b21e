import test, { type ExecutionContext } from 'ava';
import { addressesOf, openObjectStore, StoreUnavailable } from '../../../schemas/object-store/client.ts';
import { scriptedStore } from '../../support/object-store/scripted-store.ts';

const HEAD = '<?xml version="1.0"?><ListBucketResult><Name>hail</Name>';
const object = (key: string) => `<Contents><Key>${key}</Key><ETag>"1"</ETag><Size>1</Size></Contents>`;
const WHOLE = `${HEAD}<IsTruncated>false</IsTruncated>${object('a')}${object('b')}</ListBucketResult>`;

/** Keys of a listing whose first answer is this one, and whose others are whole. */
async function keysAfter(t: ExecutionContext, first: string, headers: Record<string, string> = {}): Promise<string[]> {
  let asked = 0;
  const address = await scriptedStore(t, (_, response) => {
    asked += 1;
    // Without a length the body ends where the connection does.
    response.writeHead(200, asked === 1 ? headers : {});
    if (asked === 1 && headers['Content-Length'] !== undefined) response.write(first, () => response.destroy());
    else response.end(asked === 1 ? first : WHOLE);
  });
  const keys: string[] = [];
  for await (const { key } of openObjectStore(address).list('', { patience_ms: 2_000 })) keys.push(key);
  return keys;
}

test('a listing that ends early is asked for again, not taken for fewer objects', async (t) => {
  const cut = WHOLE.slice(0, WHOLE.indexOf(object('b')));
  t.deepEqual(await keysAfter(t, cut), ['a', 'b']);
  t.deepEqual(await keysAfter(t, cut, { 'Content-Length': String(WHOLE.length) }), ['a', 'b']);
});

test('a part of a listing that names no next one is asked for again', async (t) => {
  const part = `${HEAD}<IsTruncated>true</IsTruncated>${object('a')}</ListBucketResult>`;
  t.deepEqual(await keysAfter(t, part), ['a', 'b']);
});

test('a web page is no listing: the store counts as out of reach', async (t) => {
  const address = await scriptedStore(t, (_, response) => response.end('<html><body>Sign in</body></html>'));
  const error = await t.throwsAsync(openObjectStore(address).list('', { patience_ms: 300 }).next(), {
    instanceOf: StoreUnavailable,
  });
  t.regex(error?.message ?? '', /<html><body>Sign in.* came, expected a whole ListBucketResult$/);
});

test('a write is done once its answer has begun; one in parts whose answer is cut off is a fault of the store', async (t) => {
  const address = await scriptedStore(t, (_, response) => {
    response.writeHead(200, { 'Content-Length': 1000 });
    response.write('<InitiateMultipartUploadResult>', () => response.destroy());
  });
  const store = openObjectStore(address);
  async function* parts() {
    yield Buffer.from('part');
  }
  await t.notThrowsAsync(store.put('a', Buffer.from('a')));
  t.is(await store.putIf('a', Buffer.from('a'), { if_absent: true }), 'stored');
  await t.notThrowsAsync(store.remove('a'));
  await t.throwsAsync(store.putParts('a', parts()), {
    instanceOf: StoreUnavailable,
    message: /the answer was cut off/,
  });
});

const TEN = Buffer.from('0123456789');

for (const [what, status, range, content] of [
  ['the whole object', 200, null, TEN],
  ['other bytes', 206, 'bytes 0-2/10', TEN.subarray(0, 3)],
  ['fewer bytes than there are', 206, 'bytes 2-3/10', TEN.subarray(2, 4)],
  ['bytes of an object of another size', 206, 'bytes 2-4/11', TEN.subarray(2, 5)],
  ['bytes that it does not name', 206, null, TEN.subarray(2, 5)],
] as const)
  test(`a store that answers a range with ${what} is asked again, and not believed`, async (t) => {
    let asked = 0;
    const address = await scriptedStore(t, (_, response) => {
      asked += 1;
      response.writeHead(status, range === null ? {} : { 'Content-Range': range }).end(content);
    });
    const part = openObjectStore(address).get('a', { first: 2, length: 3, of_bytes: 10 }, { patience_ms: 1_500 });
    await t.throwsAsync(part, { instanceOf: StoreUnavailable, message: /expected 206 with bytes 2-4\/10$/ });
    t.true(asked > 1);
  });

test('a range beyond the end of an object is what there is of it, where its size is not known', async (t) => {
  const address = await scriptedStore(t, (_, response) =>
    response.writeHead(206, { 'Content-Range': 'bytes 8-9/10' }).end(TEN.subarray(8)),
  );
  const found = await openObjectStore(address).get('a', { first: 8, length: 5 });
  t.is(Buffer.from(found?.content ?? '').toString(), '89');
});

test('the parts of an upload that is given up by its caller are removed', async (t) => {
  const stop = new AbortController();
  const seen: string[] = [];
  const address = await scriptedStore(t, (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.method === 'POST') response.end('<UploadId>1</UploadId>');
    else if (request.method === 'PUT') stop.abort(new Error('stopped'));
    else response.writeHead(204).end();
  });
  async function* parts() {
    yield Buffer.from('part');
  }
  await t.throwsAsync(openObjectStore(address).putParts('a', parts(), { signal: stop.signal }), { message: 'stopped' });
  t.deepEqual(seen, ['POST /hail/a?uploads=', 'PUT /hail/a?partNumber=1&uploadId=1', 'DELETE /hail/a?uploadId=1']);
});

for (const [url, bucket_url, prefix] of [
  ['https://s3.example.com/hail', 'https://s3.example.com/hail', ''],
  ['https://hail.example.com/hail/', 'https://hail.example.com/hail', ''],
  ['https://s3.us-east-1.amazonaws.com/bucket/a/ab', 'https://s3.us-east-1.amazonaws.com/bucket', 'a/ab/'],
  ['https://bucket.s3.us-east-1.amazonaws.com', 'https://bucket.s3.us-east-1.amazonaws.com', ''],
  ['https://bucket.s3.us-east-1.amazonaws.com/a', 'https://bucket.s3.us-east-1.amazonaws.com', 'a/'],
  ['http://127.0.0.1:9000/hail/a%20b', 'http://127.0.0.1:9000/hail', 'a b/'],
  ['http://127.0.0.1:9000/hail/a+b', 'http://127.0.0.1:9000/hail', 'a+b/'],
] as const)
  test(`listings of ${url} are asked of its bucket`, (t) => t.like(addressesOf(url), { bucket_url, prefix }));
