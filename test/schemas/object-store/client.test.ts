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
