import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { PipelineError } from '../../../pipeline/error.ts';
import { downloadAll, downloadFile, listBucket } from '../../../pipeline/sources/bucket.ts';
import { type HttpOptions, Unavailable } from '../../../pipeline/sources/http.ts';
import { SCAN_PRODUCTS, type SourceFile } from '../../../pipeline/sources/names.ts';
import { inParallel } from '../../../pipeline/sources/parallel.ts';
import { type BucketServer, type StartBucket, startBucket } from '../../support/data/bucket-server.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { bucketKey, instant, scratch, tinyGrid } from '../../support/data/source-files.ts';

const KEY = 'CONUS/MESH_00.50/20240228/MRMS_MESH_00.50_20240228-025239.grib2.gz';
const GRID = tinyGrid('hail '.repeat(200));

async function bucketOf(t: ExecutionContext, given: StartBucket): Promise<BucketServer> {
  const server = await startBucket(given);
  t.teardown(server.close);
  return server;
}

/** A network that hardly waits between its attempts. */
const HURRIED: HttpOptions = { patience: { retries: 2, first_ms: 1, longest_ms: 2 } };

const day = { from_ms: instant('00:00:00'), to_ms: instant('23:59:59') };

async function listed(server: BucketServer, network = HURRIED): Promise<SourceFile> {
  const { files } = await listBucket({ base_url: server.url, products: ['MESH'], ...day, network });
  return files[0] as SourceFile;
}

/** A bucket with one grid, its listing, and an empty folder to fetch it to. */
async function oneGrid(t: ExecutionContext, signal?: AbortSignal) {
  const server = await bucketOf(t, { objects: { [KEY]: GRID } });
  const network = { ...HURRIED, signal };
  return { server, file: await listed(server), folder: await scratch(t), network };
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort();
}

const gets = (server: BucketServer) => server.requests.filter((request) => !request.startsWith('GET list'));

test('a day is listed over several pages, by time, with sizes and addresses', async (t) => {
  const times = ['00:00:39', '00:02:41', '12:00:00', '23:58:00', '23:59:59'];
  const objects = Object.fromEntries(
    times.map((time, n) => [bucketKey('MESH', instant(time)), Buffer.alloc(n + 1)]).toReversed(),
  );
  const server = await bucketOf(t, { objects, pageSize: 2 });
  const { files, unknown } = await listBucket({ base_url: server.url, products: ['MESH'], ...day });
  t.deepEqual(
    files.map((file) => [file.time_ms, file.bytes]),
    times.map((time, n) => [instant(time), n + 1]),
  );
  t.is(files[0]?.location, `${server.url}/CONUS/MESH_00.50/20240228/MRMS_MESH_00.50_20240228-000039.grib2.gz`);
  t.deepEqual(unknown, []);
  t.is(server.requests.length, 3);
});

test('a poll lists only what comes after its first second, and the previous day just after 00 UTC', async (t) => {
  const key = (product: string, time: string) => bucketKey(product, instant(time));
  const wanted = [
    key('ProbSevere', '2024-02-27T23:50:30Z'),
    key('VIL', '2024-02-27T23:58:40Z'),
    key('MESH', '2024-02-28T00:00:39Z'),
  ];
  const others = [
    key('ProbSevere', '2024-02-27T23:50:29Z'),
    key('VIL', '2024-02-27T23:57:00Z'),
    key('MESH', '2024-02-27T23:58:39Z'),
    key('MESH', '2024-02-28T00:02:00Z'),
  ];
  const objects = Object.fromEntries([...wanted, ...others].map((name) => [name, Buffer.alloc(1)]));
  const server = await bucketOf(t, { objects });
  const { files } = await listBucket({
    base_url: server.url,
    products: ['MESH', 'VIL', 'ProbSevere'],
    from_ms: instant('2024-02-28T00:00:30Z'),
    to_ms: instant('2024-02-28T00:01:59Z'),
  });
  t.deepEqual(
    files.map((file) => file.key),
    wanted,
  );
  t.true(
    server.requests.some((request) =>
      request.includes('start-after=CONUS%2FMESH_00.50%2F20240228%2FMRMS_MESH_00.50_20240228-000030'),
    ),
  );
  t.is(server.requests.filter((request) => request.includes('MESH_00.50%2F20240227')).length, 0);
});

test('keys with signs that XML must escape are read, and reported when they are no raw files', async (t) => {
  const folder = 'CONUS/MESH_00.50/20240228/';
  const odd = [
    `${folder}notes & <drafts> "new" it's.txt`,
    `${folder}x/../../../../etc/MRMS_MESH_00.50_20240228-025239.grib2.gz`,
  ];
  const server = await bucketOf(t, { objects: Object.fromEntries([KEY, ...odd].map((key) => [key, GRID])) });
  const { files, unknown } = await listBucket({ base_url: server.url, products: ['MESH'], ...day });
  t.deepEqual(
    files.map((file) => file.key),
    [KEY],
  );
  t.deepEqual(unknown, odd.toSorted());
});

test('a busy listing is asked for again', async (t) => {
  const server = await bucketOf(t, { objects: { [KEY]: GRID } });
  server.fail('?list', { kind: 'status', status: 503, headers: { 'retry-after': '7' } });
  t.is((await listed(server)).key, KEY);
});

test('a listing that is cut off, or is a web page, is asked for again', async (t) => {
  const server = await bucketOf(t, { objects: { [KEY]: GRID } });
  server.fail('?list', { kind: 'truncate', after: 200 }, { kind: 'body', body: Buffer.from('<html>Welcome</html>') });
  t.is((await listed(server)).key, KEY);
  t.is(server.requests.length, 3);
});

test('a bucket that refuses is an error at once, with its address and answer', async (t) => {
  const server = await bucketOf(t, {});
  server.fail('?list', { kind: 'status', status: 403 });
  const error = await t.throwsAsync(listed(server), { instanceOf: Unavailable });
  t.regex(error.message, /^sources http:.*prefix=CONUS%2FMESH_00.50%2F20240228.*: server answers 403, expected 200$/);
  server.fail('?list', { kind: 'status', status: 301, headers: { location: 'https://elsewhere.example/' } });
  await t.throwsAsync(listed(server), {
    message: /server answers 301 to https:\/\/elsewhere.example\/, expected 200$/,
  });
});

test('a server that is not there is unavailable after the retries', async (t) => {
  const server = await startBucket({});
  await server.close();
  await t.throwsAsync(listed(server), { instanceOf: Unavailable, message: /ECONNREFUSED, after 3 attempts$/ });
});

test('a file is fetched to the bucket’s layout, and not again when it is there', async (t) => {
  const { server, file, folder } = await oneGrid(t);
  const local = await downloadFile(file, folder);
  t.is(local.location, join(folder, KEY));
  t.deepEqual(await readFile(local.location), GRID);
  t.deepEqual(await downloadFile(file, folder), local);
  t.deepEqual(gets(server), [`GET ${KEY}`]);
  t.deepEqual(await filesIn(folder), [local.name]);
});

test('a connection that breaks in the middle is tried again', async (t) => {
  const { server, file, folder, network } = await oneGrid(t);
  server.fail(KEY, { kind: 'reset', after: 400 });
  const local = await downloadFile(file, folder, network);
  t.deepEqual(await readFile(local.location), GRID);
  t.deepEqual(gets(server), [`GET ${KEY}`, `GET ${KEY}`]);
});

test('a body that ends early is fetched again', async (t) => {
  const { server, file, folder, network } = await oneGrid(t);
  server.fail(KEY, { kind: 'truncate', after: 300 });
  t.deepEqual(await readFile((await downloadFile(file, folder, network)).location), GRID);
  t.deepEqual(gets(server), [`GET ${KEY}`, `GET ${KEY}`]);
});

test('a listing without an end is given up', async (t) => {
  const server = await bucketOf(t, { objects: { [KEY]: GRID } });
  server.fail('?list', { kind: 'body', body: Buffer.alloc(8 * 2 ** 20 + 1, ' ') });
  await t.throwsAsync(listed(server), { instanceOf: Unavailable, message: /answer is over 8388608 bytes$/ });
});

test('a download that is repeatedly cut is unavailable and leaves nothing behind', async (t) => {
  const { server, file, folder, network } = await oneGrid(t);
  server.fail(KEY, ...Array.from({ length: 3 }, () => ({ kind: 'reset', after: 100 }) as const));
  await t.throwsAsync(downloadFile(file, folder, network), { instanceOf: Unavailable });
  t.deepEqual(await filesIn(folder), []);
});

test('content with a wrong check sum is fetched again from the beginning', async (t) => {
  const { server, file, folder, network } = await oneGrid(t);
  const wrong = Buffer.from(GRID);
  wrong[500] = wrong[500] ^ 1;
  server.fail(KEY, { kind: 'body', body: wrong });
  t.deepEqual(await readFile((await downloadFile(file, folder, network)).location), GRID);
  t.deepEqual(gets(server), [`GET ${KEY}`, `GET ${KEY}`]);
});

test('an object whose check sum stays wrong is unavailable and leaves nothing behind', async (t) => {
  const wrong = Buffer.concat([GRID.subarray(0, -8), Buffer.alloc(4), GRID.subarray(-4)]);
  const server = await bucketOf(t, { objects: { [KEY]: wrong } });
  const folder = await scratch(t);
  await t.throwsAsync(downloadFile(await listed(server), folder, HURRIED), {
    instanceOf: Unavailable,
    message: /: gzip is damaged, expected a whole stream of at most 268435456 bytes, after 3 attempts$/,
  });
  t.deepEqual(await filesIn(folder), []);
});

test('a body that is announced shorter than listed is fetched again', async (t) => {
  const { server, file, folder, network } = await oneGrid(t);
  server.fail(KEY, { kind: 'body', body: GRID.subarray(0, 100) });
  await downloadFile(file, folder, network);
  t.is(gets(server).length, 2);
});

for (const [title, fault, found] of [
  ['announced', { kind: 'body', body: Buffer.concat([GRID, GRID]) }, /announces \d+ bytes: answer is over \d+ bytes$/],
  ['sent', { kind: 'truncate', after: GRID.length }, /answer is over 500 bytes$/],
] as const)
  test(`a body that is ${title} longer than listed is refused`, async (t) => {
    const { server, file, folder, network } = await oneGrid(t);
    server.fail(KEY, fault);
    const listed = title === 'sent' ? { ...file, bytes: 500 } : file;
    await t.throwsAsync(downloadFile(listed, folder, network), { instanceOf: Unavailable, message: found });
    t.deepEqual(await filesIn(folder), []);
  });

test('an empty object is unavailable without a request', async (t) => {
  const { server, file, folder, network } = await oneGrid(t);
  await t.throwsAsync(downloadFile({ ...file, bytes: 0 }, folder, network), {
    instanceOf: Unavailable,
    message: /object is empty/,
  });
  t.deepEqual(gets(server), []);
});

test('an object listed with a size that no raw file has is unavailable without a request, and costs nothing else', async (t) => {
  const { server, file, folder, network } = await oneGrid(t);
  for (const bytes of [256 * 2 ** 20 + 1, Number.MAX_SAFE_INTEGER, 1e30])
    await t.throwsAsync(downloadFile({ ...file, bytes }, folder, network), {
      instanceOf: Unavailable,
      message: /: listed with \d\S* bytes, expected at most 268435456$/,
    });
  t.deepEqual(gets(server), []);
  const done = await downloadAll({ files: [{ ...file, key: `${file.key}.x`, bytes: 1e30 }, file], folder, network });
  t.deepEqual([done.files.length, done.failed.map(({ file: { key } }) => key)], [1, [`${file.key}.x`]]);
});

test('an object that is gone is unavailable at once', async (t) => {
  const { file, folder, server, network } = await oneGrid(t);
  server.fail(KEY, { kind: 'status', status: 404 });
  await t.throwsAsync(downloadFile(file, folder, network), {
    instanceOf: Unavailable,
    message: /: server answers 404, expected 200$/,
  });
});

test('an abort from outside ends a download with its reason and is not tried again', async (t) => {
  const stop = new AbortController();
  const { server, file, folder, network } = await oneGrid(t, stop.signal);
  server.fail(KEY, { kind: 'stall', after: 400, stalled: () => stop.abort(new Error('stopped by hand')) });
  await t.throwsAsync(downloadFile(file, folder, network), { message: 'stopped by hand' });
});

test('a folder that cannot be written is an error of ours, not of the server', async (t) => {
  const { file, folder, network } = await oneGrid(t);
  await writeFile(join(folder, 'CONUS'), 'a file in the way');
  const error = await t.throwsAsync(downloadFile(file, folder, network), { instanceOf: PipelineError });
  t.false(error instanceof Unavailable);
  t.regex(error.message, /MRMS_MESH_00.50_20240228-025239.grib2.gz: cannot be written: /);
});

test('of many files one that is unavailable costs nothing else', async (t) => {
  const keys = Array.from({ length: 20 }, (_, n) => bucketKey('MESH', instant('12:00:00') + n * 120_000));
  const server = await bucketOf(t, { objects: Object.fromEntries(keys.map((key) => [key, GRID])), pageSize: 1000 });
  const { files } = await listBucket({ base_url: server.url, products: ['MESH'], ...day });
  server.fail(keys[3] as string, { kind: 'status', status: 404 });
  const folder = await scratch(t);
  const arrived: string[] = [];
  const done = await downloadAll({ files, folder, network: HURRIED, onFile: (file) => void arrived.push(file.key) });
  t.deepEqual(
    done.files.map((file) => file.key),
    keys.toSpliced(3, 1),
  );
  t.deepEqual(
    done.failed.map(({ file }) => file.key),
    [keys[3]],
  );
  t.deepEqual(arrived.toSorted(), keys.toSpliced(3, 1));
});

test('a failure of our own disk ends all downloads', async (t) => {
  const { file, folder, network } = await oneGrid(t);
  await writeFile(join(folder, 'CONUS'), 'a file in the way');
  await t.throwsAsync(downloadAll({ files: [file], folder, network }), { message: /cannot be written/ });
});

test('a process killed in the middle leaves no file under its name, and the next one finishes it', async (t) => {
  const { server, file, folder } = await oneGrid(t);
  const stalled = Promise.withResolvers<void>();
  server.fail(KEY, { kind: 'stall', after: 400, stalled: stalled.resolve });
  const script = fileURLToPath(new URL('../../support/data/download-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(file), folder], { stdio: 'inherit' });
  const ended = once(child, 'exit');
  await stalled.promise;
  child.kill('SIGKILL');
  t.deepEqual(await ended, [null, 'SIGKILL']);
  t.deepEqual(await filesIn(folder), []);
  t.deepEqual(await readFile((await downloadFile(file, folder)).location), GRID);
  t.deepEqual(await filesIn(folder), [file.name]);
});

sharedTest('real files come through the bucket byte for byte, connections breaking on the way', async (t) => {
  const vil = 'CONUS/VIL_00.50/20240509/MRMS_VIL_00.50_20240509-082840.grib2.gz';
  const objects = {
    [vil]: await readFile(sharedData('mrms/MRMS_VIL_00.50_20240509-082840.grib2.gz')),
    'CONUS/MESH_00.50/20240509/MRMS_MESH_00.50_20240509-082840.grib2': await readFile(
      sharedData('mrms/MRMS_MESH_00.50_20240228-025239.grib2'),
    ),
    'ProbSevere/20240509/MRMS_PROBSEVERE_20240509_082800.json': await readFile(
      sharedData('probsevere/MRMS_PROBSEVERE_20211011_000053.json'),
    ),
  };
  const server = await bucketOf(t, { objects, pageSize: 1 });
  server.fail(vil, { kind: 'reset', after: 100_000 }, { kind: 'reset', after: 200_000 });
  const time_ms = Date.parse('2024-05-09T08:28:40Z');
  const { files } = await listBucket({
    base_url: server.url,
    products: SCAN_PRODUCTS,
    from_ms: time_ms - 60_000,
    to_ms: time_ms,
  });
  const folder = await scratch(t);
  const done = await downloadAll({ files, folder, network: HURRIED });
  t.deepEqual(done.files.map((file) => file.key).sort(), Object.keys(objects).sort());
  for (const [key, content] of Object.entries(objects)) t.true(content.equals(await readFile(join(folder, key))), key);
  await rm(join(folder, vil));
  t.is((await downloadAll({ files, folder, network: HURRIED })).files.length, 3);
});

/** Bucket whose first listing has this text. */
async function listingOf(t: ExecutionContext, xml: string) {
  const server = await bucketOf(t, { objects: {} });
  server.fail('?list', { kind: 'body', body: Buffer.from(xml) });
  const listing = await listBucket({ base_url: server.url, products: ['MESH'], ...day, network: HURRIED });
  return { ...listing, requests: server.requests.length };
}
const contents = (key: string, size: string) => `<Contents><Key>${key}</Key><Size>${size}</Size></Contents>`;
const page = (inner: string) => `<?xml version="1.0"?><ListBucketResult>${inner}</ListBucketResult>`;

for (const [written, key] of [
  ['a&amp;b', 'a&b'],
  ['&lt;&gt;&quot;&apos;', '<>"\''],
  ['a&#43;b&#x2B;c&#X2b;d', 'a+b+c+d'],
  ['&amp;lt;', '&lt;'],
  ['&unknown; &#xFFFFFF;', '&unknown; &#xFFFFFF;'],
  ['gr&#252;n &#x1F327;', 'grün 🌧'],
] as const)
  test(`the key written ${written} is ${key}`, async (t) =>
    t.deepEqual((await listingOf(t, page(contents(written, '1')))).unknown, [key]));

for (const [title, xml] of [
  ['cut off', page(contents('k', '1')).slice(0, -3)],
  ['an error document', '<Error><Code>AccessDenied</Code></Error>'],
  ['continued without a token', page('<IsTruncated>true</IsTruncated>')],
  ['an object without a key', page('<Contents><Size>1</Size></Contents>')],
  ['an object of size -1', page(contents('k', '-1'))],
  ['empty', ''],
] as const)
  test(`no listing, which is asked for again: ${title}`, async (t) => t.is((await listingOf(t, xml)).requests, 2));

/** Work that stays open until it is told how to end; `log` shows what began. */
function workshop() {
  const log: number[] = [];
  const open = new Map<number, PromiseWithResolvers<string>>();
  const work = (item: number) => {
    log.push(item);
    const job = Promise.withResolvers<string>();
    open.set(item, job);
    return job.promise;
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const finish = async (item: number) => {
    open.get(item)?.resolve(`done ${item}`);
    await turn();
  };
  const fail = async (item: number) => {
    open.get(item)?.reject(new Error(`failed ${item}`));
    await turn();
  };
  return { log, work, finish, fail };
}

test('at most so many are under way, the next begins when one ends, and results keep the order of the items', async (t) => {
  const { log, work, finish } = workshop();
  const all = inParallel([1, 2, 3, 4], 2, work);
  t.deepEqual(log, [1, 2]);
  await finish(2);
  t.deepEqual(log, [1, 2, 3]);
  await finish(3);
  t.deepEqual(log, [1, 2, 3, 4]);
  await finish(4);
  await finish(1);
  t.deepEqual(await all, ['done 1', 'done 2', 'done 3', 'done 4']);
});

test('after a failure nothing new begins, what is under way settles, and the first failure is thrown', async (t) => {
  const { log, work, finish, fail } = workshop();
  const all = inParallel([1, 2, 3, 4], 2, work);
  await fail(2);
  await finish(1);
  await t.throwsAsync(all, { message: 'failed 2' });
  t.deepEqual(log, [1, 2]);
});

test('nothing to do is done', async (t) => {
  t.deepEqual(await inParallel([], 3, async () => 'never'), []);
});
