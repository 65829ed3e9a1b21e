import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { NotFound, PipelineError, Unreadable } from '../../pipeline/error.ts';
import { hashOf } from '../../pipeline/files.ts';
import {
  archiveRaw,
  isRejected,
  listArchive,
  readRejections,
  rejectRaw,
  withoutKnown,
} from '../../pipeline/sources/archive.ts';
import { type ArrivalQueue, openArrivalQueue } from '../../pipeline/sources/arrival-queue.ts';
import { downloadAll, listBucket } from '../../pipeline/sources/bucket.ts';
import { listFolder } from '../../pipeline/sources/folder.ts';
import { fetchBytes, type HttpOptions, openWeb, Unavailable } from '../../pipeline/sources/http.ts';
import { type Arrival, watch } from '../../pipeline/sources/inbox.ts';
import { faultOf } from '../../pipeline/sources/integrity.ts';
import { bucketPrefix, bucketStem, parseName, SCAN_PRODUCTS, type SourceFile } from '../../pipeline/sources/names.ts';
import { inParallel } from '../../pipeline/sources/parallel.ts';
import { planScans, type ScanPlan } from '../../pipeline/sources/plan.ts';
import { type BucketServer, type StartBucket, startBucket } from '../support/data/bucket-server.ts';
import { pluck } from '../support/data/rows.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';
import { bucketKey, instant, named, put, scratch, tinyGrib, tinyGrid } from '../support/data/source-files.ts';

const KEY = 'CONUS/MESH_00.50/20240228/MRMS_MESH_00.50_20240228-025239.grib2.gz';
const GRID = tinyGrid('hail '.repeat(200));

/** A copy with one byte turned over, counted from the end when negative. */
function flipped(bytes: Buffer, index: number): Buffer {
  const copy = Buffer.from(bytes);
  const place = index < 0 ? copy.length + index : index;
  copy[place] = copy[place] ^ 0xff;
  return copy;
}

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

/** Names of the files of a folder, whatever folders they lie in. */
async function filesIn(folder: string): Promise<string[]> {
  return (await treeOf(folder)).map((path) => basename(path)).sort();
}

const gets = (server: BucketServer) => server.requests.filter((request) => !request.startsWith('GET list'));

test('a day is listed over several pages, by time, with sizes and addresses', async (t) => {
  const times = ['00:00:39', '00:02:41', '12:00:00', '23:58:00', '23:59:59'];
  const entries = times.map((time, n) => [bucketKey('MESH', instant(time)), Buffer.alloc(n + 1)]);
  const objects = Object.fromEntries(entries.toReversed());
  const server = await bucketOf(t, { objects, pageSize: 2 });
  const { files, unknown } = await listBucket({ base_url: server.url, products: ['MESH'], ...day });
  t.deepEqual(pluck(files, 'time_ms'), times.map(instant));
  t.deepEqual(pluck(files, 'bytes'), [1, 2, 3, 4, 5]);
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
  t.deepEqual(pluck(files, 'key'), wanted);
  const after = 'start-after=CONUS%2FMESH_00.50%2F20240228%2FMRMS_MESH_00.50_20240228-000030';
  t.true(server.requests.some((request) => request.includes(after)));
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
  t.deepEqual(pluck(files, 'key'), [KEY]);
  t.deepEqual(unknown, odd.toSorted());
});

test('a listing that is cut off, or whose server is busy, is asked for again', async (t) => {
  const server = await bucketOf(t, { objects: { [KEY]: GRID } });
  const busy = { kind: 'status', status: 503, headers: { 'retry-after': '7' } } as const;
  server.fail('?list', { kind: 'truncate', after: 200 }, busy);
  t.is((await listed(server)).key, KEY);
  t.is(server.requests.length, 3);
});

test('a bucket that refuses is an error at once, with its address and answer', async (t) => {
  const server = await bucketOf(t, {});
  server.fail('?list', { kind: 'status', status: 403 });
  const error = await t.throwsAsync(listed(server), { instanceOf: Unavailable });
  t.regex(error.message, /^sources http:.*prefix=CONUS%2FMESH_00.50%2F20240228.*: server answers 403, expected 200$/);
  server.fail('?list', { kind: 'status', status: 301, headers: { location: 'https://elsewhere.example/' } });
  const message = /server answers 301 to https:\/\/elsewhere.example\/, expected 200$/;
  await t.throwsAsync(listed(server), { message });
});

test('a server that is not there is unavailable after the retries', async (t) => {
  const server = await startBucket({});
  await server.close();
  await t.throwsAsync(listed(server), { instanceOf: Unavailable, message: /ECONNREFUSED, after 3 attempts$/ });
});

/** Fetches one file; throws why the server does not deliver it. */
async function downloadFile(file: SourceFile, folder: string, network: HttpOptions = {}): Promise<SourceFile> {
  const { files, failed } = await downloadAll({ files: [file], folder, network });
  if (failed[0]) throw failed[0].error;
  return files[0] as SourceFile;
}

test('a file is fetched to the bucket’s layout, and not again when it is there', async (t) => {
  const { server, file, folder } = await oneGrid(t);
  const local = await downloadFile(file, folder);
  t.is(local.location, join(folder, KEY));
  t.deepEqual(await readFile(local.location), GRID);
  t.deepEqual(await downloadFile(file, folder), local);
  t.deepEqual(gets(server), [`GET ${KEY}`]);
  t.deepEqual(await filesIn(folder), [local.name]);
});

for (const [what, fault] of [
  ['a connection that breaks in the middle', { kind: 'reset', after: 400 }],
  ['a body that ends early', { kind: 'truncate', after: 300 }],
  ['a body that is announced shorter than listed', { kind: 'body', body: GRID.subarray(0, 100) }],
  ['content with a wrong check sum', { kind: 'body', body: flipped(GRID, 500) }],
] as const)
  test(`after ${what} a file is fetched again from the beginning`, async (t) => {
    const { server, file, folder, network } = await oneGrid(t);
    server.fail(KEY, fault);
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

test('an object whose check sum stays wrong is unavailable and leaves nothing behind', async (t) => {
  const wrong = Buffer.concat([GRID.subarray(0, -8), Buffer.alloc(4), GRID.subarray(-4)]);
  const server = await bucketOf(t, { objects: { [KEY]: wrong } });
  const folder = await scratch(t);
  const message = /: gzip is damaged, expected a whole stream of at most 268435456 bytes, after 3 attempts$/;
  await t.throwsAsync(downloadFile(await listed(server), folder, HURRIED), { instanceOf: Unavailable, message });
  t.deepEqual(await filesIn(folder), []);
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

test('an object listed as empty, or larger than any raw file, is unavailable without a request, and costs nothing else', async (t) => {
  const { server, file, folder, network } = await oneGrid(t);
  const tooLarge = /: listed with \d\S* bytes, expected at most 268435456$/;
  for (const [bytes, message] of [
    [0, /object is empty/],
    [256 * 2 ** 20 + 1, tooLarge],
    [1e30, tooLarge],
  ] as const)
    await t.throwsAsync(downloadFile({ ...file, bytes }, folder, network), { instanceOf: Unavailable, message });
  t.deepEqual(gets(server), []);
  const done = await downloadAll({ files: [{ ...file, key: `${file.key}.x`, bytes: 1e30 }, file], folder, network });
  t.deepEqual([done.files.length, done.failed.map(({ file: { key } }) => key)], [1, [`${file.key}.x`]]);
});

test('an abort from outside ends a download with its reason and is not tried again', async (t) => {
  const stop = new AbortController();
  const { server, file, folder, network } = await oneGrid(t, stop.signal);
  server.fail(KEY, { kind: 'stall', after: 400, stalled: () => stop.abort(new Error('stopped by hand')) });
  await t.throwsAsync(downloadFile(file, folder, network), { message: 'stopped by hand' });
});

test('a folder that cannot be written is an error of ours, not of the server, and ends all downloads', async (t) => {
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
  t.deepEqual(pluck(done.files, 'key'), keys.toSpliced(3, 1));
  t.deepEqual(pluck(pluck(done.failed, 'file'), 'key'), [keys[3]]);
  t.regex(done.failed[0]?.error.message ?? '', /: server answers 404, expected 200$/);
  t.is(gets(server).length, keys.length);
  t.deepEqual(arrived.toSorted(), keys.toSpliced(3, 1));
});

test('a process killed in the middle leaves no file under its name, and the next one finishes it', async (t) => {
  const { server, file, folder } = await oneGrid(t);
  const stalled = Promise.withResolvers<void>();
  server.fail(KEY, { kind: 'stall', after: 400, stalled: stalled.resolve });
  const script = fileURLToPath(new URL('../support/data/download-process.ts', import.meta.url));
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
  ['a web page', '<html>Welcome</html>'],
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
  t.deepEqual(await inParallel([], 2, work), []);
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

const MAX_BYTES = 1000;

async function serve(t: ExecutionContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/page`;
}

const MORNING = 'Fri, 01 May 2026 06:00:00 GMT';
const NOON = 'Fri, 01 May 2026 12:00:00 GMT';

for (const [title, header, condition, first, second] of [
  ['time of change', 'last-modified', 'if-modified-since', MORNING, NOON],
  ['entity tag', 'etag', 'if-none-match', '"a"', '"b"'],
] as const)
  test(`a page is sent again once its ${title} is another, and only then`, async (t) => {
    let version: string = first;
    const url = await serve(t, (request, response) => {
      response.setHeader(header, version);
      if (request.headers[condition] === version) response.writeHead(304).end();
      else response.end(`version ${version}`);
    });
    const web = openWeb('hail-test/1');
    const look = async () => {
      const page = await web.page(url, MAX_BYTES);
      if (typeof page === 'string') return page;
      page.confirm();
      return String(page.bytes);
    };
    t.deepEqual([await look(), await look()], [`version ${first}`, 'unchanged']);
    version = second;
    t.deepEqual([await look(), await look()], [`version ${second}`, 'unchanged']);
  });

test('a page that was not confirmed is sent again', async (t) => {
  const url = await serve(t, (request, response) => {
    response.setHeader('last-modified', MORNING);
    if (request.headers['if-modified-since'] === MORNING) response.writeHead(304).end();
    else response.end('page');
  });
  const web = openWeb('hail-test/1');
  for (const _ of [1, 2]) {
    const page = await web.page(url, MAX_BYTES);
    t.is(typeof page === 'string' ? page : page.modified_ms, Date.parse(MORNING));
  }
});

for (const status of [404, 410])
  test(`a page that its server answers with ${status} is missing`, async (t) => {
    const url = await serve(t, (_, response) => void response.writeHead(status).end('no such page'));
    t.is(await openWeb('hail-test/1').page(url, MAX_BYTES), 'missing');
  });

test('a page over its bound is unavailable, also without an announced length', async (t) => {
  const url = await serve(t, (request, response) => {
    if (request.headers.accept === 'text/plain') response.setHeader('content-length', MAX_BYTES + 1);
    response.end(Buffer.alloc(MAX_BYTES + 1));
  });
  const web = openWeb('hail-test/1');
  await t.throwsAsync(web.page(url, MAX_BYTES), { instanceOf: Unavailable, message: /answer is over 1000 bytes$/ });
  await t.throwsAsync(web.page(url, MAX_BYTES, 'text/plain'), { message: /announces 1001 bytes/ });
});

test('an answer that stalls is given up after its time and asked for again', async (t) => {
  let asked = 0;
  const url = await serve(t, (_, response) => {
    response.writeHead(200, { 'content-length': 5 });
    response.write('ha');
    if (asked++ > 0) response.end('il!');
  });
  const patience = { retries: 1, first_ms: 1, longest_ms: 1 };
  const { bytes } = await fetchBytes(url, { max_bytes: MAX_BYTES, allowed_ms: 3_000 }, { patience });
  t.deepEqual([String(bytes), asked], ['hail!', 2]);
});

/** Products and times of what belongs to the only scan of a plan. */
function parts(files: readonly SourceFile[]): string[] {
  const { scans } = planScans(files);
  return scans.flatMap(({ companions, probsevere, previous_probsevere }) => [
    ...Object.entries(companions).map(([companion, file]) => `${companion} ${clock(file)}`),
    ...(probsevere ? [`probsevere ${clock(probsevere)}`] : []),
    ...(previous_probsevere ? [`previous ${clock(previous_probsevere)}`] : []),
  ]);
}

function clock(file: SourceFile): string {
  return new Date(file.time_ms).toISOString().slice(11, 19);
}

test('a scan is named by the time of its MESH file and takes every companion of its time', (t) => {
  const files = SCAN_PRODUCTS.map((product) => named(product, '02:52:39'));
  const { scans, unused, duplicates } = planScans(files);
  t.deepEqual(pluck(scans, 'scan_id'), ['20240228T025239Z']);
  t.deepEqual([scans[0]?.scan_time, scans[0]?.mesh.product], [instant('02:52:39'), 'MESH']);
  t.deepEqual(parts(files), [
    'posh_pct 02:52:39',
    'vil_kg_m2 02:52:39',
    'echo_top_18_km 02:52:39',
    'echo_top_50_km 02:52:39',
    'max_reflectivity_dbz 02:52:39',
    'reflectivity_minus20c_dbz 02:52:39',
    'azshear_0_2km_per_s 02:52:39',
    'lowest_reflectivity_dbz 02:52:39',
    'probsevere 02:52:39',
  ]);
  t.deepEqual([unused, duplicates], [[], []]);
});

for (const [time, belongs, why] of [
  ['12:00:00', true, 'the same second'],
  ['11:57:30', true, 'exactly 150 s older'],
  ['11:57:29', false, '151 s older'],
  ['12:00:01', false, 'a second after the scan'],
] as const)
  test(`a companion of ${time} ${belongs ? 'belongs' : 'does not belong'} to the scan of 12:00:00: ${why}`, (t) => {
    const vil = named('VIL', time);
    t.deepEqual(parts([named('MESH', '12:00:00'), vil]), belongs ? [`vil_kg_m2 ${time}`] : []);
    t.deepEqual(planScans([named('MESH', '12:00:00'), vil]).unused, belongs ? [] : [vil]);
  });

for (const [time, belongs] of [
  ['12:00:00', true],
  ['11:55:00', true],
  ['11:54:59', false],
  ['12:00:01', false],
] as const)
  test(`ProbSevere of ${time} ${belongs ? 'belongs' : 'does not belong'} to the scan of 12:00:00`, (t) =>
    t.deepEqual(parts([named('MESH', '12:00:00'), named('ProbSevere', time)]), belongs ? [`probsevere ${time}`] : []));

test('of several candidates the newest that is not after the scan is taken, and ProbSevere keeps the one before it', (t) => {
  const vil = ['11:57:40', '11:59:20', '12:00:10'].map((time) => named('VIL', time));
  const probsevere = ['11:53:00', '11:55:30', '11:57:30', '12:01:00'].map((time) => named('ProbSevere', time));
  t.deepEqual(parts([named('MESH', '12:00:00'), ...vil, ...probsevere]), [
    'vil_kg_m2 11:59:20',
    'probsevere 11:57:30',
    'previous 11:55:30',
  ]);
});

test('the previous ProbSevere file is at most 5 minutes older than the one that is used', (t) => {
  const mesh = named('MESH', '12:00:00');
  t.deepEqual(parts([mesh, named('ProbSevere', '11:58:00'), named('ProbSevere', '11:53:00')]), [
    'probsevere 11:58:00',
    'previous 11:53:00',
  ]);
  t.deepEqual(parts([mesh, named('ProbSevere', '11:58:00'), named('ProbSevere', '11:52:59')]), ['probsevere 11:58:00']);
});

test('a companion from before midnight belongs to the first scan of the day', (t) =>
  t.deepEqual(parts([named('MESH', '2024-02-28T00:00:20Z'), named('POSH', '2024-02-27T23:58:36Z')]), [
    'posh_pct 23:58:36',
  ]));

test('one companion file serves two scans when both may have it', (t) =>
  t.deepEqual(parts([named('MESH', '12:00:00'), named('MESH', '12:01:30'), named('VIL', '12:00:00')]), [
    'vil_kg_m2 12:00:00',
    'vil_kg_m2 12:00:00',
  ]));

test('MESH_Max files and products of no scan are unused, not refused', (t) => {
  const files = [named('MESH_Max_1440min', '10:00:00'), named('PrecipRate', '10:00:00'), named('VIL', '10:00:00')];
  const { scans, unused } = planScans(files);
  t.deepEqual(scans, []);
  t.deepEqual(new Set(unused), new Set(files));
});

test('of several files of one second the largest is taken and the others are duplicates: a cut-off copy never wins', (t) => {
  const whole = named('MESH', '12:00:00', 2000, 'one/');
  const cut = named('MESH', '12:00:00', 700, 'a-first/');
  const copy = named('MESH', '12:00:00', 2000, 'two/');
  const { scans, duplicates } = planScans([cut, copy, whole]);
  t.is(scans[0]?.mesh, whole);
  t.deepEqual(duplicates, [copy, cut]);
});

test('files of one second and other content are no duplicates, and which is taken does not depend on their places', (t) => {
  const [a, b] = ['aa', 'bb'].map((sha256) => ({ ...named('MESH', '12:00:00', 2000, `${sha256}/`), sha256 }));
  if (a === undefined || b === undefined) return t.fail();
  for (const files of [
    [a, b],
    [b, a],
    [{ ...a, location: '/z', key: 'z/' }, b],
  ]) {
    const { scans, duplicates, contradicting } = planScans(files);
    t.is(scans[0]?.mesh.sha256, 'aa');
    t.deepEqual(duplicates, []);
    t.deepEqual(pluck(pluck(contradicting, 'file'), 'sha256'), ['bb']);
    t.is(contradicting[0]?.taken.sha256, 'aa');
  }
  const copy = { ...a, location: '/copy' };
  t.deepEqual([planScans([a, copy]).duplicates.length, planScans([a, copy]).contradicting], [1, []]);
});

test('inputs are a fingerprint of names and sizes: places do not change them, a size or another companion does', (t) => {
  const inputs = (...files: SourceFile[]) => planScans(files).scans[0]?.inputs;
  const mesh = named('MESH', '12:00:00', 2000);
  const first = inputs(mesh, named('VIL', '12:00:00', 10));
  t.regex(String(first), /^[0-9a-f]{16}$/);
  t.is(inputs(named('MESH', '12:00:00', 2000, 'archive/'), named('VIL', '12:00:00', 10, 'else/')), first);
  t.is(inputs(mesh, named('VIL', '12:00:00', 10), named('POSH', '12:00:01')), first);
  const others = [
    inputs(mesh),
    inputs(mesh, named('VIL', '12:00:00', 11)),
    inputs(mesh, named('VIL', '11:59:59', 10)),
    inputs(mesh, named('POSH', '12:00:00', 10)),
    inputs(named('MESH', '12:00:00', 2001), named('VIL', '12:00:00', 10)),
  ];
  t.is(new Set([first, ...others]).size, 6);
});

const START = instant('20:00:00');
const someFile = fc
  .record({
    product: fc.constantFrom(...SCAN_PRODUCTS, 'MESH_Max_60min'),
    second: fc.integer({ min: 0, max: 1200 }),
    bytes: fc.integer({ min: 1, max: 3 }),
    folder: fc.constantFrom('', 'x/', 'y/'),
  })
  .map(({ product, second, bytes, folder }) =>
    named(product, new Date(START + second * 1000).toISOString(), bytes, folder),
  );
const someFiles = fc.uniqueArray(someFile, { maxLength: 60, selector: (file) => file.location });

test('any order of arrival and any repetition of the same files give the same plan', (t) => {
  const shuffledTwice = someFiles.chain((files) =>
    fc.tuple(fc.constant(files), fc.shuffledSubarray([...files, ...files], { minLength: files.length * 2 })),
  );
  const property = fc.property(shuffledTwice, ([files, again]) => {
    t.deepEqual(planScans(again), planScans(files));
  });
  fc.assert(property);
});

test('every file is used, unused or a duplicate, and a companion is never after its scan', (t) => {
  const property = fc.property(someFiles, (files) => {
    const { scans, unused, duplicates } = planScans(files);
    const used = scans.flatMap((scan) => {
      const others = [...Object.values(scan.companions), scan.probsevere, scan.previous_probsevere];
      const theirs = others.filter((file) => file !== null);
      t.true(theirs.every((file) => file.time_ms <= scan.scan_time));
      return [scan.mesh, ...theirs];
    });
    t.is(new Set(used).size + unused.length + duplicates.length, files.length);
  });
  fc.assert(property);
});

for (const [key, product, time] of [
  ['CONUS/MESH_00.50/20240228/MRMS_MESH_00.50_20240228-025239.grib2.gz', 'MESH', '2024-02-28T02:52:39Z'],
  ['MRMS_MESH_00.50_20240228-025239.grib2', 'MESH', '2024-02-28T02:52:39Z'],
  ['MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2', 'MESH_Max_1440min', '2024-02-28T10:00:00Z'],
  ['PrecipRate_00.00_20190610-003800.grib2', 'PrecipRate', '2019-06-10T00:38:00Z'],
  ['any/where/MRMS_EchoTop_18_00.50_20161015-133230.grib2', 'EchoTop_18', '2016-10-15T13:32:30Z'],
  ['MRMS_Reflectivity_-10C_00.50_20240228-000039.grib2.gz', 'Reflectivity_-10C', '2024-02-28T00:00:39Z'],
  ['MRMS_MergedRhoHV_19.00_20260219-042039.grib2.gz', 'MergedRhoHV', '2026-02-19T04:20:39Z'],
  ['ProbSevere/20211011/MRMS_PROBSEVERE_20211011_000053.json', 'ProbSevere', '2021-10-11T00:00:53Z'],
] as const)
  test(`${key} is ${product} at ${time}`, (t) => t.deepEqual(parseName(key), { product, time_ms: Date.parse(time) }));

for (const [key, why] of [
  ['GUAM_MRMS_MESH_00.50_20220601-120000.grib2.gz', 'another region by its name'],
  ['ALASKA/MESH_00.50/20240228/MRMS_MESH_00.50_20240228-025239.grib2.gz', 'another region by its folder'],
  ['MRMS_MESH_00.50_20230229-000000.grib2.gz', 'a day that does not exist'],
  ['MRMS_MESH_00.50_20240228-240000.grib2.gz', 'an hour that does not exist'],
  ['MRMS_MESH_00.50_20240228-0252.grib2.gz', 'a time without seconds'],
  ['MRMS_MESH_20240228-025239.grib2.gz', 'no level'],
  ['MRMS_MESH.latest.grib2.gz', 'no time'],
  ['MRMS_MESH_00.50_20240228-025239.grib2.gz.part', 'an unfinished download'],
  ['MRMS_MESH_00.50_20240228-025239.grib2.idx', 'another format'],
  ['MRMS_MESH_00.50_20240228-025239.grib2.gz/readme', 'a file in a folder of that name'],
  ['', 'nothing'],
] as const)
  test(`'${key}' is no raw file: ${why}`, (t) => t.is(parseName(key), null));

test('keys are written as the public bucket writes them', (t) => {
  const time_ms = Date.parse('2024-02-28T02:52:39Z');
  t.is(bucketKey('MESH', time_ms), 'CONUS/MESH_00.50/20240228/MRMS_MESH_00.50_20240228-025239.grib2.gz');
  t.is(bucketKey('ProbSevere', time_ms), 'ProbSevere/20240228/MRMS_PROBSEVERE_20240228_025239.json');
});

test('the key of any product and second reads back as that product and second, in its folder and after its stem', (t) => {
  const [min, max] = ['2020-10-14T00:00:00Z', '2049-12-31T23:59:59Z'].map((time) => Date.parse(time) / 1000);
  const seconds = fc.integer({ min, max });
  const property = fc.property(fc.constantFrom(...SCAN_PRODUCTS), seconds, (product, s) => {
    const time_ms = s * 1000;
    const key = bucketKey(product, time_ms);
    t.deepEqual(parseName(key), { product, time_ms });
    t.true(key.startsWith(bucketPrefix(product, new Date(time_ms).toISOString().slice(0, 10))));
    t.true(key > bucketStem(product, time_ms) && key < bucketStem(product, time_ms + 1000));
  });
  fc.assert(property);
});

const MESH = 'MRMS_MESH_00.50_20240228-025239.grib2';
const KEPT = `archive/observed/date=2024-02-28/${MESH}`;

async function deliver(folder: string, key: string, content: string): Promise<SourceFile> {
  await put(folder, key, content);
  return (await listFolder(folder)).files.find((file) => file.key === key) as SourceFile;
}

async function treeOf(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
}

test('a raw file is kept under its source and UTC date, and the delivered one stays', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  const file = await deliver(from, `flat/${MESH}`, 'mesh');
  const kept = await archiveRaw(file, root, 'observed');
  t.like(kept, { location: join(root, KEPT), key: `date=2024-02-28/${MESH}` });
  t.deepEqual(await treeOf(root), [KEPT]);
  t.is(await readFile(kept.location, 'utf8'), 'mesh');
  t.deepEqual(await treeOf(from), [`flat/${MESH}`]);
});

test('keeping the same file again, or the archive’s own copy, changes nothing', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  const file = await deliver(from, MESH, 'mesh');
  const first = await archiveRaw(file, root, 'observed');
  t.deepEqual(await archiveRaw(file, root, 'observed'), first);
  await rm(file.location);
  t.deepEqual(await archiveRaw(first, root, 'observed'), first);
  t.deepEqual(await treeOf(root), [KEPT]);
});

test('what a killed copy left behind is neither listed nor in the way', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  await put(root, `${KEPT}.part`, 'me');
  t.deepEqual(await listArchive(root, 'observed'), []);
  await archiveRaw(await deliver(from, MESH, 'mesh'), root, 'observed');
  t.deepEqual(await treeOf(root), [KEPT]);
});

test('a copy that cannot be written is an error that names its place, and leaves no part', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  const file = await deliver(from, MESH, 'mesh');
  await put(root, `${KEPT}/in-the-way`, 'a folder of that name');
  const error = await t.throwsAsync(archiveRaw(file, root, 'observed'), { instanceOf: PipelineError });
  t.true(error.message.includes(KEPT), error.message);
  t.false((await treeOf(root)).some((name) => name.endsWith('.part')));
});

test('the archive of a source is listed by date and name, whole or for given dates; before its first file it is empty', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  t.deepEqual(await listArchive(root, 'observed'), []);
  const names = ['MRMS_VIL_00.50_20240228-000039.grib2', MESH, 'MRMS_MESH_00.50_20240227-235839.grib2'];
  for (const name of names) await archiveRaw(await deliver(from, name, name), root, 'observed');
  await archiveRaw(await deliver(from, MESH, 'simulated'), root, 'simulated');
  t.deepEqual(pluck(await listArchive(root, 'observed'), 'key'), [
    'date=2024-02-27/MRMS_MESH_00.50_20240227-235839.grib2',
    `date=2024-02-28/${MESH}`,
    'date=2024-02-28/MRMS_VIL_00.50_20240228-000039.grib2',
  ]);
  const earlier = await listArchive(root, 'observed', ['2024-02-27', '2024-02-29']);
  t.deepEqual(pluck(earlier, 'key'), ['date=2024-02-27/MRMS_MESH_00.50_20240227-235839.grib2']);
  t.is((await listArchive(root, 'simulated')).length, 1);
});

const refuse = (file: SourceFile, dataRoot: string, move: boolean, reason = 'section 7 ends after 12 of 90 bytes') =>
  rejectRaw(file, dataRoot, 'observed', { stage: 'read', reason, found_at: '2024-02-28T03:00:00Z' }, move);

const rejections = (root: string) => readRejections(root, 'observed', [{ name: MESH }]);

test('a refused file is moved aside with its reason beside it', async (t) => {
  const root = await scratch(t);
  const file = await deliver(join(root, 'inbox/observed'), MESH, 'broken');
  const { isNew } = await refuse(file, root, true);
  t.true(isNew);
  t.deepEqual(await treeOf(root), [`inbox/rejected/observed/${MESH}`, `inbox/rejected/observed/${MESH}.reason.json`]);
  t.deepEqual(JSON.parse(await readFile(join(root, `inbox/rejected/observed/${MESH}.reason.json`), 'utf8')), {
    file: MESH,
    stage: 'read',
    reason: 'section 7 ends after 12 of 90 bytes',
    found_at: '2024-02-28T03:00:00Z',
    bytes: 6,
    // printf broken | sha256sum
    sha256: 'f526795c95399cea27c055c842c3d6ab018ed0fa4f66f701c28ab22dec28237b',
  });
});

test('a refused file of a folder that is only read is copied and stays, and is reported once', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  const file = await deliver(from, MESH, 'broken');
  t.false(await isRejected(file, await rejections(root)));
  t.true((await refuse(file, root, false)).isNew);
  t.deepEqual(await treeOf(from), [MESH]);
  t.true(await isRejected(file, await rejections(root)));
  t.false((await refuse(file, root, false, 'again')).isNew);
  const [rejection] = await rejections(root);
  t.is(rejection?.reason, 'section 7 ends after 12 of 90 bytes');
});

test('other content under a refused name is another case: new to us, and put beside the first', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  await refuse(await deliver(from, MESH, 'broken'), root, false);
  const second = await deliver(from, MESH, 'BROKEN');
  t.false(await isRejected(second, await rejections(root)));
  t.true((await refuse(second, root, false)).isNew);
  t.false((await refuse(second, root, false)).isNew);
  t.is((await rejections(root)).length, 2);
  t.is(await readFile(join(root, 'inbox/rejected/observed', MESH), 'utf8'), 'broken');
});

test('a file is put aside without a look at the files that were put aside before', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  for (let number = 10; number < 40; number++) {
    const name = `MRMS_MESH_00.50_20240228-0252${number}.grib2`;
    await refuse(await deliver(from, name, `broken ${number}`), root, false);
  }
  const file = await deliver(from, MESH.replace('025239', '025300'), 'broken too');
  const folder = join(root, 'inbox/rejected/observed');
  // Every reason written so far would stop whoever reads it.
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.reason.json')) continue;
    await rm(join(folder, name));
    await mkdir(join(folder, name));
  }
  t.true((await refuse(file, root, false)).isNew);
  t.is((await readRejections(root, 'observed', [file])).length, 1);
  t.true(await isRejected(file, await readRejections(root, 'observed', [file])));
});

test('an archive of which a part cannot be read is refused: nothing may be made from the rest', async (t) => {
  const root = await scratch(t);
  const place = await put(root, 'archive/observed/date=2024-02-28/MRMS_VIL_00.50_20240228-000039.grib2', 'vil');
  await rm(place);
  await symlink(place, place);
  await t.throwsAsync(listArchive(root, 'observed'), { instanceOf: Unreadable, message: /ELOOP/ });
});

test('a copy of a file that has gone is the fault of that file', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  const file = await deliver(from, MESH, 'mesh');
  await rm(file.location);
  const error = await t.throwsAsync(archiveRaw(file, root, 'observed'), { instanceOf: Unreadable });
  t.deepEqual([error.subject, error.is_gone], [file.location, true]);
});

test('killed before the reason was written, the file is refused again and recorded once', async (t) => {
  const root = await scratch(t);
  const file = await deliver(join(root, 'inbox/observed'), MESH, 'broken');
  await put(root, `inbox/rejected/observed/${MESH}`, 'broken');
  t.true((await refuse(file, root, true)).isNew);
  t.is((await treeOf(root)).length, 2);
});

test('killed before the file was taken from the inbox, the next call takes it and reports nothing new', async (t) => {
  const root = await scratch(t);
  const inbox = join(root, 'inbox/observed');
  const file = await deliver(inbox, MESH, 'broken');
  await refuse(file, root, false);
  t.false((await refuse(file, root, true)).isNew);
  t.deepEqual(await treeOf(inbox), []);
});

test('what is kept or refused is not fetched again; the same name with another size is', async (t) => {
  const listed = ['00:00:00', '00:02:00', '00:04:00', '00:06:00'].map((time) => named('MESH', time, 500));
  const [first, second, third] = listed as [SourceFile, SourceFile, SourceFile];
  const elsewhere = { ...first, key: 'elsewhere' };
  const refused = { file: third.name, stage: 'read', reason: '', found_at: '', bytes: 500, sha256: '' };
  t.deepEqual(withoutKnown(listed, [elsewhere, { ...second, bytes: 499 }], [refused]), [
    listed[1],
    listed[3],
  ] as SourceFile[]);
});

test('a reason that cannot be read counts as not written', async (t) => {
  const root = await scratch(t);
  await put(root, `inbox/rejected/observed/${MESH}.reason.json`, '{"file": "MRMS');
  await put(root, 'inbox/rejected/observed/other.reason.json', '{"file": 7}');
  t.deepEqual(await readRejections(root, 'observed', [{ name: MESH }, { name: 'other' }]), []);
});

sharedTest('a real grid is kept byte for byte, and its plan is the one scan of its folder', async (t) => {
  const root = await scratch(t);
  const { scans, unused } = planScans((await listFolder(sharedData('mrms'))).files);
  t.deepEqual(pluck(scans, 'scan_id'), ['20240228T025239Z']);
  t.is(unused.length, 5);
  const kept = await archiveRaw((scans[0] as ScanPlan).mesh, root, 'observed');
  const expected = JSON.parse(await readFile(sharedData('expected.json'), 'utf8'));
  t.is(await hashOf(kept.location), expected.files[`mrms/${MESH}`].sha256);
});

const INBOX_MESH = 'MRMS_MESH_00.50_20240228-025239.grib2.gz';
const POSH = 'MRMS_POSH_00.50_20240228-025239.grib2';
const INBOX_GRID = tinyGrid('hail');

type Step = (folder: string) => Promise<unknown>;

/**
 * Watches a folder while steps happen to it, one after each look, a second apart on the watch's clock.
 * Returns what each look found: keys that arrived, unknown keys in brackets, in the order of the looks.
 */
async function watched(t: ExecutionContext, steps: readonly Step[], folder?: string): Promise<string[]> {
  const root = folder ?? (await scratch(t));
  const stop = new AbortController();
  const left = [...steps];
  const looks: string[] = [];
  let now_ms = 0;
  let found: Arrival | null = null;
  const pause = async (ms: number) => {
    t.is(ms, 1000);
    const { files, unknown, unreadable } = found ?? { files: [], unknown: [], unreadable: [] };
    const refused = unreadable.map(({ key, reason }) => `!${key.replace(root, '')} ${reason}`);
    looks.push([...pluck(files, 'key'), ...unknown.map((key) => `[${key}]`), ...refused].join(' '));
    found = null;
    now_ms += 1000;
    const step = left.shift();
    if (step) await step(root);
    else stop.abort();
  };
  const options = { folder: root, poll_ms: 1000, unchanged_ms: 3000, signal: stop.signal };
  for await (const arrival of watch({ ...options, now: () => now_ms, pause })) found = arrival;
  return looks;
}

const nothing: Step = async () => {};

test('what lies there at first arrives with the first look, and only then', async (t) => {
  const root = await scratch(t);
  await put(root, `deep/${INBOX_MESH}`, INBOX_GRID);
  await put(root, POSH, tinyGrib('posh'));
  await put(root, 'notes.txt', 'hello');
  t.deepEqual(await watched(t, [nothing], root), [`${POSH} deep/${INBOX_MESH} [notes.txt]`, '']);
});

const WATCHES: readonly (readonly [title: string, steps: readonly Step[], looks: readonly string[]])[] = [
  [
    'a file that is still being written is waited for',
    [
      (folder) => put(folder, INBOX_MESH, INBOX_GRID.subarray(0, 20)),
      (folder) => appendFile(join(folder, INBOX_MESH), INBOX_GRID.subarray(20, 30)),
      nothing,
      (folder) => appendFile(join(folder, INBOX_MESH), INBOX_GRID.subarray(30)),
      nothing,
    ],
    ['', '', '', '', INBOX_MESH, ''],
  ],
  [
    'a file that stays cut off arrives once it has not changed for the settling time, so that it can be refused',
    [
      (folder) => put(folder, INBOX_MESH, INBOX_GRID.subarray(0, 20)),
      (folder) => appendFile(join(folder, INBOX_MESH), INBOX_GRID.subarray(20, 30)),
      nothing,
      nothing,
      nothing,
      nothing,
    ],
    // cut, grown, one to three seconds later: unchanged
    ['', '', '', '', '', INBOX_MESH, ''],
  ],
  [
    'a file that is replaced by other content arrives again, even when its size stays',
    [
      (folder) => put(folder, INBOX_MESH, INBOX_GRID),
      async (folder) => {
        await put(folder, INBOX_MESH, tinyGrid('HAIL'));
        await utimes(join(folder, INBOX_MESH), 1, 1);
      },
      nothing,
    ],
    ['', INBOX_MESH, INBOX_MESH, ''],
  ],
  [
    'a file that was taken out and comes back arrives again',
    [(folder) => put(folder, MESH, GRID), (folder) => rm(join(folder, MESH)), (folder) => put(folder, MESH, GRID)],
    ['', MESH, '', MESH],
  ],
  [
    'an unfinished download is not seen until it has its name',
    [
      (folder) => put(folder, `${INBOX_MESH}.part`, INBOX_GRID),
      (folder) => rename(join(folder, `${INBOX_MESH}.part`), join(folder, INBOX_MESH)),
    ],
    ['', '', INBOX_MESH],
  ],
  [
    'a link in a circle is reported once, and arrives when it has become a file',
    [
      async (folder) => {
        await symlink(join(folder, INBOX_MESH), join(folder, INBOX_MESH));
        await put(folder, POSH, tinyGrib('posh'));
      },
      nothing,
      async (folder) => {
        await rm(join(folder, INBOX_MESH));
        await put(folder, INBOX_MESH, INBOX_GRID);
      },
    ],
    ['', `${POSH} !${INBOX_MESH} cannot be read (ELOOP)`, '', INBOX_MESH],
  ],
  [
    'a watched folder that is out of reach for a while is reported once, and nothing of it arrives twice',
    [
      (folder) => put(folder, INBOX_MESH, INBOX_GRID),
      (folder) => rename(folder, `${folder}-away`),
      nothing,
      (folder) => rename(`${folder}-away`, folder),
      (folder) => put(folder, POSH, tinyGrib('posh')),
    ],
    ['', INBOX_MESH, '! is not a folder that can be read', '', '', POSH],
  ],
];

for (const [title, steps, looks] of WATCHES) test(title, async (t) => t.deepEqual(await watched(t, steps), looks));

test.serial('a file and a folder that may not be read are reported once, and arrive when they may', async (t) => {
  const folder = await scratch(t);
  const mesh = await put(folder, INBOX_MESH, INBOX_GRID);
  const below = await put(folder, `below/${POSH}`, tinyGrib('posh'));
  await chmod(mesh, 0);
  await chmod(dirname(below), 0);
  await chmod(folder, 0o755);
  const readable = (path: string, mode: number) => () => asOwner(() => chmod(path, mode));
  const steps = [nothing, readable(mesh, 0o644), readable(dirname(below), 0o755)];
  const looks = await asNobody(() => watched(t, steps, folder));
  const refused = `!${INBOX_MESH} cannot be read (EACCES)`;
  t.deepEqual(looks, [`!below cannot be read (EACCES) ${refused}`, '', INBOX_MESH, `below/${POSH}`]);
});

test.serial('a folder that may not be read is refused with the reason', async (t) => {
  const folder = await scratch(t);
  await chmod(folder, 0);
  t.teardown(() => chmod(folder, 0o755));
  const message = `sources ${folder}: cannot be read (EACCES), expected a folder that can be read`;
  await asNobody(() => t.throwsAsync(watched(t, [], folder), { instanceOf: PipelineError, message }));
});

/** Root may read everything: as root the work is done by a user who may not. */
async function asNobody<Result>(work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(65_534);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}

async function asOwner(work: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(0);
  await work().finally(() => process.seteuid?.(65_534));
}

test('a folder that is not there is refused by name', async (t) => {
  const folder = join(await scratch(t), 'nowhere');
  const message = /nowhere: is not there, expected a folder/;
  await t.throwsAsync(watched(t, [], folder), { instanceOf: NotFound, message });
});

test('the system’s hint ends the wait long before the next poll, also in a new folder below', async (t) => {
  const folder = await scratch(t);
  const stop = new AbortController();
  const arrivals = watch({ folder, poll_ms: 60_000, signal: stop.signal });
  await put(folder, 'first.txt', '');
  t.deepEqual((await arrivals.next()).value?.unknown, ['first.txt']);
  const second = arrivals.next();
  await put(folder, `CONUS/MESH_00.50/20240228/${INBOX_MESH}`, INBOX_GRID);
  t.deepEqual(pluck((await second).value?.files ?? [], 'name'), [INBOX_MESH]);
  stop.abort();
  t.true((await arrivals.next()).done);
});

test('an abort during the wait ends the watch', async (t) => {
  const stop = new AbortController();
  const end = watch({ folder: await scratch(t), poll_ms: 60_000, signal: stop.signal }).next();
  setImmediate(() => stop.abort());
  t.true((await end).done);
});

test('finds raw files at any depth in order of their keys, and reports the rest by key', async (t) => {
  const root = await scratch(t);
  t.deepEqual(await listFolder(root), { files: [], unknown: [], unreadable: [] });
  await put(root, 'b/deep/MRMS_POSH_00.50_20240228-025239.grib2.gz', 'posh');
  await put(root, 'MRMS_MESH_00.50_20240228-025239.grib2', 'mesh!');
  await put(root, 'a/MRMS_PROBSEVERE_20240228_025200.json', '{}');
  await put(root, 'a/readme.txt', 'hello');
  await put(root, '.hidden/MRMS_MESH_00.50_20240228-030000.grib2', 'not looked at');
  await put(root, 'MRMS_MESH_00.50_20240228-030000.grib2.gz.1234.part', 'unfinished');

  const { files, unknown } = await listFolder(root);

  t.deepEqual(pluck(files, 'key'), [
    'MRMS_MESH_00.50_20240228-025239.grib2',
    'a/MRMS_PROBSEVERE_20240228_025200.json',
    'b/deep/MRMS_POSH_00.50_20240228-025239.grib2.gz',
  ]);
  t.deepEqual(pluck(files, 'product'), ['MESH', 'ProbSevere', 'POSH']);
  t.deepEqual(pluck(files, 'bytes'), [5, 2, 4]);
  for (const { key, location } of files) t.is(location, join(root, key));
  t.deepEqual(unknown, ['a/readme.txt']);
});

test('a link to a file is the file, a link to a folder is reported, a link to nothing is reported', async (t) => {
  const root = await scratch(t);
  const away = await scratch(t);
  const real = await put(away, 'somewhere', 'mesh');
  await symlink(real, join(root, 'MRMS_MESH_00.50_20240228-025239.grib2'));
  await symlink(root, join(root, 'circle'));
  await symlink(join(away, 'gone'), join(root, 'MRMS_MESH_00.50_20240228-030000.grib2'));

  const { files, unknown } = await listFolder(root);

  t.deepEqual(pluck(files, 'key'), ['MRMS_MESH_00.50_20240228-025239.grib2']);
  t.deepEqual(pluck(files, 'bytes'), [4]);
  t.deepEqual(unknown, ['MRMS_MESH_00.50_20240228-030000.grib2', 'circle']);
});

test('a folder that does not exist and a file in place of a folder are refused by name', async (t) => {
  const root = await scratch(t);
  const nowhere = join(root, 'nowhere');
  const gone = `sources ${nowhere}: is not there, expected a folder`;
  await t.throwsAsync(listFolder(nowhere), { instanceOf: NotFound, message: gone });
  const file = await put(root, 'file', '');
  const message = `sources ${file}: is no folder, expected a folder that can be read`;
  await t.throwsAsync(listFolder(file), { instanceOf: PipelineError, message });
});

sharedTest('the real files beside the project are known by name, except a GeoTIFF and a grid of Guam', async (t) => {
  const mrms = await listFolder(sharedData('mrms'));
  t.deepEqual(pluck(mrms.files, 'product'), [
    'EchoTop_18',
    'MESH',
    'MESH_Max_1440min',
    'MergedReflectivityQCComposite',
    'MergedRhoHV',
    'VIL',
  ]);
  t.deepEqual(mrms.unknown, [
    'GUAM_MRMS_MultiSensor_QPE_01H_Pass1_00.00_20220601-120000.grib2.gz',
    'MESH_Max_1440min_20240228-100000.tif',
  ]);
  const sequence = await listFolder(sharedData('mrms-sequence'));
  t.is(sequence.files.length, 20);
  t.true(sequence.files.every((file, n) => file.time_ms === Date.parse('2019-06-10T00:00:00Z') + n * 120_000));
  t.is((await listFolder(sharedData('probsevere'))).files.length, 18);
});

const LONG_MS = 60_000;
const arrival = (key: string): Arrival => ({ files: [], unknown: [key], unreadable: [] });

/** A source that hands over what it is told to, and how far it was read. */
function source() {
  const read: string[] = [];
  let next = Promise.withResolvers<Arrival | null>();
  async function* arrivals() {
    while (true) {
      const found = await next.promise;
      next = Promise.withResolvers();
      if (found === null) return;
      read.push(found.unknown.join());
      yield found;
    }
  }
  return {
    arrivals: arrivals(),
    read,
    bring: (key: string) => next.resolve(arrival(key)),
    fail: (error: Error) => next.reject(error),
    end: () => next.resolve(null),
  };
}

function opened() {
  const stop = new AbortController();
  const given = source();
  const queue: ArrivalQueue = openArrivalQueue(given.arrivals, stop.signal);
  return { ...given, queue, stop };
}

test('what arrived is taken once, and nothing is waited for', async (t) => {
  const { queue, bring } = opened();
  t.is(queue.take(), null);
  bring('one');
  await queue.wait(LONG_MS);
  t.true(queue.hasArrival());
  t.deepEqual(queue.take()?.unknown, ['one']);
  t.deepEqual([queue.hasArrival(), queue.take()], [false, null]);
});

test('the source is read one arrival ahead, no more', async (t) => {
  const { queue, bring, read } = opened();
  bring('one');
  await queue.wait(LONG_MS);
  bring('two');
  await queue.wait(LONG_MS);
  t.deepEqual(read, ['one']);
  queue.take();
  await queue.wait(LONG_MS);
  t.deepEqual(queue.take()?.unknown, ['two']);
});

test('an error of the source is thrown by whoever takes, after what arrived before it', async (t) => {
  const { queue, bring, fail } = opened();
  bring('one');
  await queue.wait(LONG_MS);
  t.deepEqual(queue.take()?.unknown, ['one']);
  fail(new Error('the folder is on fire'));
  await queue.wait(LONG_MS);
  t.false(queue.isOver());
  t.throws(queue.take, { message: 'the folder is on fire' });
});

const grid = tinyGrid('some grid');
const grib = tinyGrib('some grid');
const LYING = Buffer.from(grib);
LYING.writeBigUInt64BE(0n, 8);

const CUT = 'gzip is cut short, expected a whole stream of at most 268435456 bytes';
const DAMAGED = 'gzip is damaged, expected a whole stream of at most 268435456 bytes';
const NOT_ONE = 'JSON does not begin and end as one object or list';

for (const [title, name, content, fault] of [
  ['a packed grid', 'a.grib2.gz', grid, null],
  ['two packed members', 'a.grib2.gz', Buffer.concat([grid, grid]), null],
  ['a packed grid without its trailer', 'a.grib2.gz', grid.subarray(0, -8), CUT],
  ['a packed grid cut in the middle', 'a.grib2.gz', grid.subarray(0, 20), CUT],
  ['a trailer with another CRC', 'a.grib2.gz', flipped(grid, -8), DAMAGED],
  ['a trailer with another length', 'a.grib2.gz', flipped(grid, -4), DAMAGED],
  ['plain text that calls itself packed', 'a.grib2.gz', 'hello', 'does not begin as gzip'],
  ['an empty packed file', 'a.grib2.gz', '', 'does not begin as gzip'],
  ['a packed nothing', 'a.grib2.gz', gzipSync(''), 'gzip file holds nothing'],
  [
    '256 MiB of zeros and one more',
    'a.grib2.gz',
    gzipSync(Buffer.alloc(2 ** 28 + 1), { level: 1 }),
    'gzip unfolds without end, expected a whole stream of at most 268435456 bytes',
  ],
  ['a grid', 'a.grib2', grib, null],
  ['two messages', 'a.grib2', Buffer.concat([grib, grib]), null],
  ['a message cut short', 'a.grib2', grib.subarray(0, -1), 'message at byte 0 states 29 bytes, 28 are there'],
  ['a message that states a length of nothing', 'a.grib2', LYING, 'message at byte 0 states 0 bytes, 29 are there'],
  ['a message cut in its header', 'a.grib2', grib.subarray(0, 10), 'message at byte 0 ends within its section 0'],
  [
    'a second message cut short',
    'a.grib2',
    Buffer.concat([grib, grib.subarray(0, 20)]),
    'message at byte 29 states 29 bytes, 20 are there',
  ],
  ['a message with another end mark', 'a.grib2', flipped(grib, -1), 'message at byte 0 is not closed by 7777'],
  ['stray bytes after a message', 'a.grib2', Buffer.concat([grib, Buffer.from('G'), grib, Buffer.from('G')]), null],
  ['no message at all', 'a.grib2', 'plain text', 'no message begins at byte 0'],
  ['an empty grid file', 'a.grib2', '', 'file is empty'],
  ['objects', 'a.json', '{"features": []}', null],
  ['objects with brackets and quotes in their texts', 'a.json', '{"a": "]}\\"}", "b": ["\\\\"]}\n', null],
  ['objects cut short', 'a.json', '{"features": [', NOT_ONE],
  ['objects cut within a text', 'a.json', '{"features": "]}', NOT_ONE],
  ['objects with something behind them', 'a.json', '{"features": []} <html>', NOT_ONE],
  ['a page that says sorry', 'a.json', '<html>[try later]</html>', NOT_ONE],
  ['an empty object file', 'a.json', '', NOT_ONE],
  ['another format', 'a.tif', 'II', "'a.tif' ends in no known format, expected .grib2, .grib2.gz or .json"],
] as const)
  test(`${title}: ${fault ?? 'whole'}`, async (t) =>
    t.is(await faultOf(await put(await scratch(t), 'content', content), name), fault));

sharedTest(
  'every real grid and ProbSevere file is whole, and is not once its last two bytes are missing',
  async (t) => {
    const folder = await scratch(t);
    for (const place of ['mrms', 'mrms-sequence', 'forecast', 'probsevere'])
      for (const name of await readdir(sharedData(place))) {
        if (!/\.(grib2|gz|json)$/.test(name)) continue;
        t.is(await faultOf(sharedData(place, name), name), null, name);
        const content = await readFile(sharedData(place, name));
        const last = content.toString('latin1').trimEnd().length - 2;
        t.not(await faultOf(await put(folder, 'cut', content.subarray(0, last)), name), null, name);
      }
  },
);

test('other content of the same name and size takes the place of the old', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  await archiveRaw(await deliver(from, MESH, 'old!'), root, 'observed');
  const kept = await archiveRaw(await deliver(from, MESH, 'new!'), root, 'observed');
  t.is(await readFile(kept.location, 'utf8'), 'new!');
});

test('a source that ends is over once everything was taken', async (t) => {
  const { queue, bring, end } = opened();
  bring('last');
  await queue.wait(LONG_MS);
  t.false(queue.isOver());
  queue.take();
  end();
  await queue.wait(LONG_MS);
  t.true(queue.isOver());
});

test('an abort ends the wait', async (t) => {
  const { queue, stop } = opened();
  const wait = queue.wait(LONG_MS);
  stop.abort();
  await t.notThrowsAsync(wait);
});
