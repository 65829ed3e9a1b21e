import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { openStoreRoot } from '../../../api/cache/store-root.ts';
import { DataUnavailable } from '../../../api/data-root.ts';
import { layout } from '../../../schemas/layout.ts';
import { isStoreFault, openObjectStore, type StoreAddress } from '../../../schemas/object-store/client.ts';
import { scratch } from '../../support/data/world.ts';
import { BARE_ENVIRONMENT } from '../../support/kill/bare-environment.ts';
import { scriptedStore } from '../../support/object-store/scripted-store.ts';

const CONTENT = Buffer.alloc(1_000_000, 'rows of a table, ');
const FILE = {
  path: 'tables/a.parquet',
  bytes: CONTENT.length,
  sha256: createHash('sha256').update(CONTENT).digest('hex'),
};
const PROCESS = fileURLToPath(new URL('../../support/object-store/cached-file-process.ts', import.meta.url));

/** A store of one file. `halfway`: called when half of it is sent; the rest follows when it resolves. */
async function storeOf(t: ExecutionContext, halfway: () => Promise<void> = async () => {}) {
  const counts = { asked: 0 };
  const address = await scriptedStore(t, async (_, response) => {
    counts.asked += 1;
    response.writeHead(200, { 'Content-Length': CONTENT.length });
    response.write(CONTENT.subarray(0, CONTENT.length / 2));
    await halfway();
    response.end(CONTENT.subarray(CONTENT.length / 2));
  });
  return { address, counts };
}

/** A process that copies the file; `blocks` of 512 bytes or 1 kB, by the shell, are the most that it can write to one. */
function copyingProcess(address: StoreAddress, folder: string, blocks = 'unlimited'): ChildProcess {
  const asked = JSON.stringify({ address, folder, file: FILE });
  return spawn('sh', ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', process.execPath, PROCESS, asked], {
    env: { ...BARE_ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map(({ name }) => name);

test('a process that is killed in the middle of a copy leaves nothing that the next one takes for the file', async (t) => {
  const folder = await scratch(t, 'cache');
  const child = Promise.withResolvers<ChildProcess>();
  let killed = false;
  const { address } = await storeOf(t, async () => {
    if (killed) return;
    const copying = await child.promise;
    while (filesIn(folder).length === 0) await new Promise(setImmediate);
    copying.kill('SIGKILL');
    killed = true;
  });
  const copying = copyingProcess(address, folder);
  child.resolve(copying);
  await once(copying, 'exit');
  t.is(copying.signalCode, 'SIGKILL');
  t.is(filesIn(folder).length, 1);
  const root = await openStoreRoot({ store: openObjectStore(address), folder, bytes_max: 1e9 });
  t.deepEqual(filesIn(folder), []);
  const path = root.fileOf(FILE);
  await root.hold?.([path], 'in turn');
  t.is(Buffer.compare(readFileSync(path), CONTENT), 0);
});

test('a disk that takes no more is the fault of this machine: the store is asked once, and nothing stays', async (t) => {
  const folder = await scratch(t, 'cache');
  const { address, counts } = await storeOf(t);
  const copying = copyingProcess(address, folder, '100');
  t.is(copying.stdout === null ? '' : await text(copying.stdout), 'EFBIG');
  t.deepEqual([counts.asked, filesIn(folder)], [1, []]);
});

const LARGE = Buffer.alloc(20_000_000, 'tiles of an archive, ');
const ARCHIVE = {
  path: 'tiles/a.pmtiles',
  bytes: LARGE.length,
  sha256: createHash('sha256').update(LARGE).digest('hex'),
};

/** A root in a store of one large file, of which it answers ranges; `etag` of the answer about bytes from `first` on. */
async function archiveRoot(t: ExecutionContext, etag: (first: number) => string = () => '"a"') {
  const sent = { bytes: 0 };
  const address = await scriptedStore(t, (request, response) => {
    const [first = 0, last = 0] = (request.headers.range ?? '').match(/\d+/g)?.map(Number) ?? [];
    sent.bytes += last + 1 - first;
    response.writeHead(206, { ETag: etag(first), 'Content-Range': `bytes ${first}-${last}/${LARGE.length}` });
    response.end(LARGE.subarray(first, last + 1));
  });
  const folder = await scratch(t, 'cache');
  return { root: await openStoreRoot({ store: openObjectStore(address), folder, bytes_max: 1e9 }), sent };
}

test('of a large file that a client does not read, less than a megabyte is in memory', async (t) => {
  const { root, sent } = await archiveRoot(t);
  const unread = await root.open(ARCHIVE, { first: 0, last: LARGE.length - 1 });
  // A client whose connection is full: its first part was taken, and nothing more.
  const sink = new Writable({ write: () => {} });
  unread.pipe(sink);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.true(sent.bytes > 0 && sent.bytes < 1_000_000, `${sent.bytes} bytes`);
  unread.destroy();
  for (const first of [0, 5]) {
    const read = await root.open(ARCHIVE, { first, last: LARGE.length - 1 });
    t.is(Buffer.compare(await buffer(read), LARGE.subarray(first)), 0);
  }
});

test('a large file of other content, or that is replaced while it is read, is never sent to its end', async (t) => {
  const { root } = await archiveRoot(t);
  const other = { ...ARCHIVE, sha256: '0'.repeat(64) };
  let sent_bytes = 0;
  const read = async () => {
    for await (const chunk of await root.open(other, { first: 0, last: LARGE.length - 1 }))
      sent_bytes += (chunk as Buffer).length;
  };
  await t.throwsAsync(read(), { instanceOf: DataUnavailable, message: /has SHA-256 .*, expected 0{64}/ });
  t.true(sent_bytes < LARGE.length, `${sent_bytes} bytes`);
  const { root: changing } = await archiveRoot(t, (first) => (first < 5_000_000 ? '"a"' : '"b"'));
  const parts = await changing.open(ARCHIVE, { first: 0, last: 9_999_999 });
  await t.throwsAsync(buffer(parts), { instanceOf: DataUnavailable, message: /was replaced while it was read/ });
});

test('a slow store is waited for again once its last failure is ten seconds old, however many questions go on', async (t) => {
  let refuses = true;
  const address = await scriptedStore(t, (_, response) => {
    if (refuses) response.writeHead(403).end();
    else setTimeout(() => response.end('content'), 1_200);
  });
  const clock = { ms: 0 };
  const folder = await scratch(t, 'cache');
  const store = openObjectStore(address);
  const root = await openStoreRoot({ store, folder, bytes_max: 1e9, monotonic_ms: () => clock.ms });
  await t.throwsAsync(root.bytes('live/a.arrow'), { message: /cannot be read from the store/ });
  refuses = false;
  clock.ms = 9_000;
  await t.throwsAsync(root.bytes('live/a.arrow'), { message: /cannot be read from the store/ });
  clock.ms = 10_000;
  t.is(Buffer.from(await root.bytes('live/a.arrow')).toString(), 'content');
});

test('after a failure a question waits a second for a silent store, for a list of a date and for the rest of a file too', async (t) => {
  let asked = 0;
  const address = await scriptedStore(t, ({ url }, response) => {
    asked += 1;
    if (asked === 1) response.writeHead(403).end();
    else if (url?.endsWith('.parquet')) response.writeHead(200, { 'Content-Length': FILE.bytes }).write('half');
  });
  const folder = await scratch(t, 'cache');
  const root = await openStoreRoot({ store: openObjectStore(address), folder, bytes_max: 1e9 });
  await t.throwsAsync(root.mark(layout.current));
  const begun_ms = performance.now();
  const questions = [root.text(layout.manifest('2026-05-01', 7)), root.hold?.([root.fileOf(FILE)], 'in turn')];
  for (const outcome of await Promise.allSettled(questions)) t.is(outcome.status, 'rejected');
  const waited_ms = performance.now() - begun_ms;
  t.true(waited_ms > 900 && waited_ms < 4_900, `${waited_ms} ms`);
});

test('a file of the live snapshot with other bytes than its name says is a fault of the store', async (t) => {
  const address = await scriptedStore(t, (_, response) => response.end('<html>Sign in</html>'));
  const folder = await scratch(t, 'cache');
  const root = await openStoreRoot({ store: openObjectStore(address), folder, bytes_max: 1e9 });
  const error = await t.throwsAsync(root.bytes('live/20260502T001108Z-0a1b2c3d.cells.arrow'), {
    instanceOf: DataUnavailable,
  });
  t.true(isStoreFault(error));
});
