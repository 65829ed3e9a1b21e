import { appendFile, chmod, rename, rm, symlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { NotFound, PipelineError } from '../../../pipeline/error.ts';
import { type Arrival, watch } from '../../../pipeline/sources/inbox.ts';
import { put, scratch, tinyGrib, tinyGrid } from '../../support/data/source-files.ts';

const MESH = 'MRMS_MESH_00.50_20240228-025239.grib2.gz';
const POSH = 'MRMS_POSH_00.50_20240228-025239.grib2';
const GRID = tinyGrid('hail');

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
    looks.push(
      found === null
        ? ''
        : [
            ...found.files.map((file) => file.key),
            ...found.unknown.map((key) => `[${key}]`),
            ...found.unreadable.map(({ key, reason }) => `!${key.replace(root, '')} ${reason}`),
          ].join(' '),
    );
    found = null;
    now_ms += 1000;
    const step = left.shift();
    if (step) await step(root);
    else stop.abort();
  };
  for await (const arrival of watch({
    folder: root,
    poll_ms: 1000,
    unchanged_ms: 3000,
    signal: stop.signal,
    now: () => now_ms,
    pause,
  }))
    found = arrival;
  return looks;
}

const nothing: Step = async () => {};

test('what lies there at first arrives with the first look, and only then', async (t) => {
  const root = await scratch(t);
  await put(root, `deep/${MESH}`, GRID);
  await put(root, POSH, tinyGrib('posh'));
  await put(root, 'notes.txt', 'hello');
  t.deepEqual(await watched(t, [nothing], root), [`${POSH} deep/${MESH} [notes.txt]`, '']);
});

test('a whole file arrives with the next look', async (t) => {
  t.deepEqual(await watched(t, [(folder) => put(folder, MESH, GRID), nothing]), ['', MESH, '']);
});

test('a file that is still being written is waited for', async (t) => {
  const looks = await watched(t, [
    (folder) => put(folder, MESH, GRID.subarray(0, 20)),
    (folder) => appendFile(join(folder, MESH), GRID.subarray(20, 30)),
    nothing,
    (folder) => appendFile(join(folder, MESH), GRID.subarray(30)),
    nothing,
  ]);
  t.deepEqual(looks, ['', '', '', '', MESH, '']);
});

test('a file that stays cut off arrives once it has not changed for the settling time, so that it can be refused', async (t) => {
  const looks = await watched(t, [
    (folder) => put(folder, MESH, GRID.subarray(0, 20)),
    (folder) => appendFile(join(folder, MESH), GRID.subarray(20, 30)),
    nothing,
    nothing,
    nothing,
    nothing,
  ]);
  //                    cut  grown +1s +2s +3s: unchanged
  t.deepEqual(looks, ['', '', '', '', '', MESH, '']);
});

test('a file that is replaced by other content arrives again, even when its size stays', async (t) => {
  const looks = await watched(t, [
    (folder) => put(folder, MESH, GRID),
    async (folder) => {
      await put(folder, MESH, tinyGrid('HAIL'));
      await utimes(join(folder, MESH), 1, 1);
    },
    nothing,
  ]);
  t.deepEqual(looks, ['', MESH, MESH, '']);
});

test('a file that was taken out and comes back arrives again', async (t) => {
  const looks = await watched(t, [
    (folder) => put(folder, MESH, GRID),
    (folder) => rm(join(folder, MESH)),
    (folder) => put(folder, MESH, GRID),
  ]);
  t.deepEqual(looks, ['', MESH, '', MESH]);
});

test('an unfinished download is not seen until it has its name', async (t) => {
  const looks = await watched(t, [
    (folder) => put(folder, `${MESH}.part`, GRID),
    (folder) => rename(join(folder, `${MESH}.part`), join(folder, MESH)),
  ]);
  t.deepEqual(looks, ['', '', MESH]);
});

test('a link in a circle is reported once, and arrives when it has become a file', async (t) => {
  const looks = await watched(t, [
    async (folder) => {
      await symlink(join(folder, MESH), join(folder, MESH));
      await put(folder, POSH, tinyGrib('posh'));
    },
    nothing,
    async (folder) => {
      await rm(join(folder, MESH));
      await put(folder, MESH, GRID);
    },
  ]);
  t.deepEqual(looks, ['', `${POSH} !${MESH} cannot be read (ELOOP)`, '', MESH]);
});

test('a watched folder that is out of reach for a while is reported once, and nothing of it arrives twice', async (t) => {
  const looks = await watched(t, [
    (folder) => put(folder, MESH, GRID),
    (folder) => rename(folder, `${folder}-away`),
    nothing,
    (folder) => rename(`${folder}-away`, folder),
    (folder) => put(folder, POSH, tinyGrib('posh')),
  ]);
  t.deepEqual(looks, ['', MESH, '! is not a folder that can be read', '', '', POSH]);
});

test.serial('a file and a folder that may not be read are reported once, and arrive when they may', async (t) => {
  const folder = await scratch(t);
  const [mesh, below] = [await put(folder, MESH, GRID), await put(folder, `below/${POSH}`, tinyGrib('posh'))];
  await chmod(mesh, 0);
  await chmod(dirname(below), 0);
  await chmod(folder, 0o755);
  const looks = await asNobody(() =>
    watched(
      t,
      [nothing, () => asOwner(() => chmod(mesh, 0o644)), () => asOwner(() => chmod(dirname(below), 0o755))],
      folder,
    ),
  );
  const refused = `!${MESH} cannot be read (EACCES)`;
  t.deepEqual(looks, [`!below cannot be read (EACCES) ${refused}`, '', MESH, `below/${POSH}`]);
});

test.serial('a folder that may not be read is refused with the reason', async (t) => {
  const folder = await scratch(t);
  await chmod(folder, 0);
  t.teardown(() => chmod(folder, 0o755));
  await asNobody(() =>
    t.throwsAsync(watched(t, [], folder), {
      instanceOf: PipelineError,
      message: `sources ${folder}: cannot be read (EACCES), expected a folder that can be read`,
    }),
  );
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
  await t.throwsAsync(watched(t, [], folder), {
    instanceOf: NotFound,
    message: /nowhere: is not there, expected a folder/,
  });
});

test('the system’s hint ends the wait long before the next poll, also in a new folder below', async (t) => {
  const folder = await scratch(t);
  const stop = new AbortController();
  const arrivals = watch({ folder, poll_ms: 60_000, signal: stop.signal });
  await put(folder, 'first.txt', '');
  t.deepEqual((await arrivals.next()).value?.unknown, ['first.txt']);
  const second = arrivals.next();
  await put(folder, `CONUS/MESH_00.50/20240228/${MESH}`, GRID);
  t.deepEqual(
    (await second).value?.files.map((file) => file.name),
    [MESH],
  );
  stop.abort();
  t.true((await arrivals.next()).done);
});

test('an abort during the wait ends the watch', async (t) => {
  const stop = new AbortController();
  const end = watch({ folder: await scratch(t), poll_ms: 60_000, signal: stop.signal }).next();
  setImmediate(() => stop.abort());
  t.true((await end).done);
});
