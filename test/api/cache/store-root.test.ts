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

test('of a large file that a client does not read, less than a megabyte is in memory', async (t) => {
  const bytes = 20_000_000;
  let sent_bytes = 0;
  const address = await scriptedStore(t, (request, response) => {
    const [first = 0, last = 0] = (request.headers.range ?? '').match(/\d+/g)?.map(Number) ?? [];
    sent_bytes += last + 1 - first;
    response.writeHead(206).end(Buffer.alloc(last + 1 - first, 1));
  });
  const folder = await scratch(t, 'cache');
  const root = await openStoreRoot({ store: openObjectStore(address), folder, bytes_max: 1e9 });
  const file = { path: 'tiles/a.pmtiles', bytes, sha256: '' };
  const unread = await root.open(file, { first: 0, last: bytes - 1 });
  // A client whose connection is full: its first part was taken, and nothing more.
  const sink = new Writable({ write: () => {} });
  unread.pipe(sink);
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.true(sent_bytes > 0 && sent_bytes < 1_000_000, `${sent_bytes} bytes`);
  unread.destroy();
  const read = await root.open(file, { first: 5, last: bytes - 1 });
  const content = await buffer(read);
  t.is(content.length, bytes - 5);
  t.is(
    content.findIndex((byte) => byte !== 1),
    -1,
  );
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
