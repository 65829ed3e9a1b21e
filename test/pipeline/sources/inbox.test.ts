import { appendFile, chmod, readdir, readFile, rename, rm, symlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { NotFound, PipelineError } from '../../../pipeline/error.ts';
import { type ArrivalQueue, openArrivalQueue } from '../../../pipeline/sources/arrival-queue.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import { type Arrival, watch } from '../../../pipeline/sources/inbox.ts';
import { faultOf } from '../../../pipeline/sources/integrity.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
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

test('finds raw files at any depth in order of their keys, and reports the rest by key', async (t) => {
  const root = await scratch(t);
  await put(root, 'b/deep/MRMS_POSH_00.50_20240228-025239.grib2.gz', 'posh');
  await put(root, 'MRMS_MESH_00.50_20240228-025239.grib2', 'mesh!');
  await put(root, 'a/MRMS_PROBSEVERE_20240228_025200.json', '{}');
  await put(root, 'a/readme.txt', 'hello');
  await put(root, '.hidden/MRMS_MESH_00.50_20240228-030000.grib2', 'not looked at');
  await put(root, 'MRMS_MESH_00.50_20240228-030000.grib2.gz.1234.part', 'unfinished');

  const { files, unknown } = await listFolder(root);

  t.deepEqual(
    files.map(({ key, product, bytes, location }) => [key, product, bytes, location]),
    [
      ['MRMS_MESH_00.50_20240228-025239.grib2', 'MESH', 5, join(root, 'MRMS_MESH_00.50_20240228-025239.grib2')],
      ['a/MRMS_PROBSEVERE_20240228_025200.json', 'ProbSevere', 2, join(root, 'a/MRMS_PROBSEVERE_20240228_025200.json')],
      [
        'b/deep/MRMS_POSH_00.50_20240228-025239.grib2.gz',
        'POSH',
        4,
        join(root, 'b/deep/MRMS_POSH_00.50_20240228-025239.grib2.gz'),
      ],
    ],
  );
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

  t.deepEqual(
    files.map(({ key, bytes }) => [key, bytes]),
    [['MRMS_MESH_00.50_20240228-025239.grib2', 4]],
  );
  t.deepEqual(unknown, ['MRMS_MESH_00.50_20240228-030000.grib2', 'circle']);
});

test('a link in a circle costs itself only', async (t) => {
  const root = await scratch(t);
  await symlink(
    join(root, 'MRMS_MESH_00.50_20240228-025239.grib2'),
    join(root, 'MRMS_MESH_00.50_20240228-025239.grib2'),
  );
  await put(root, 'MRMS_MESH_00.50_20240228-030000.grib2', 'mesh');
  const { files, unknown, unreadable } = await listFolder(root);
  t.deepEqual([files.map(({ key }) => key), unknown], [['MRMS_MESH_00.50_20240228-030000.grib2'], []]);
  t.deepEqual(unreadable, [{ key: 'MRMS_MESH_00.50_20240228-025239.grib2', reason: 'cannot be read (ELOOP)' }]);
});

test('an empty folder has no files', async (t) => {
  t.deepEqual(await listFolder(await scratch(t)), { files: [], unknown: [], unreadable: [] });
});

test('a folder that does not exist and a file in place of a folder are refused by name', async (t) => {
  const root = await scratch(t);
  const nowhere = join(root, 'nowhere');
  await t.throwsAsync(listFolder(nowhere), {
    instanceOf: NotFound,
    message: `sources ${nowhere}: is not there, expected a folder`,
  });
  const file = await put(root, 'file', '');
  await t.throwsAsync(listFolder(file), {
    instanceOf: PipelineError,
    message: `sources ${file}: is no folder, expected a folder that can be read`,
  });
});

sharedTest('the real files beside the project are known by name, except a GeoTIFF and a grid of Guam', async (t) => {
  const mrms = await listFolder(sharedData('mrms'));
  t.deepEqual(
    mrms.files.map((file) => file.product),
    ['EchoTop_18', 'MESH', 'MESH_Max_1440min', 'MergedReflectivityQCComposite', 'MergedRhoHV', 'VIL'],
  );
  t.deepEqual(mrms.unknown, [
    'GUAM_MRMS_MultiSensor_QPE_01H_Pass1_00.00_20220601-120000.grib2.gz',
    'MESH_Max_1440min_20240228-100000.tif',
  ]);
  const sequence = await listFolder(sharedData('mrms-sequence'));
  t.is(sequence.files.length, 20);
  t.true(sequence.files.every((file, n) => file.time_ms === Date.parse('2019-06-10T00:00:00Z') + n * 120_000));
  const probsevere = await listFolder(sharedData('probsevere'));
  t.is(probsevere.files.length, 18);
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

const grid = tinyGrid('some grid');
const grib = tinyGrib('some grid');

/** A copy with one byte turned over, counted from the end when negative. */
function flipped(bytes: Buffer, index: number): Buffer {
  const copy = Buffer.from(bytes);
  const place = index < 0 ? copy.length + index : index;
  copy[place] = copy[place] ^ 0xff;
  return copy;
}

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
  test(`${title}: ${fault ?? 'whole'}`, async (t) => {
    const path = await put(await scratch(t), 'content', content);
    t.is(await faultOf(path, name), fault);
  });

test('a message that states a length of nothing does not keep us for ever', async (t) => {
  const lying = Buffer.from(grib);
  lying.writeBigUInt64BE(0n, 8);
  const path = await put(await scratch(t), 'content', lying);
  t.is(await faultOf(path, 'a.grib2'), 'message at byte 0 states 0 bytes, 29 are there');
});

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
