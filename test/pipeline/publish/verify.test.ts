import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { PipelineError } from '../../../pipeline/error.ts';
import { readCurrent, readNewest } from '../../../pipeline/publish/manifests.ts';
import { headOf } from '../../../schemas/head.ts';
import { layout } from '../../../schemas/layout.ts';
import type { Current, Manifest, PublishedFile } from '../../../schemas/manifest.ts';
import { hasTwoDevices, onOtherDevice } from '../../support/data/other-device.ts';
import { publishBlockage, raysOfKtlx } from '../../support/data/terrain.ts';
import {
  ingest,
  MONTH_LATER_MS,
  publishedRoot,
  type RawScan,
  scansBetween,
  scratch,
  worldOver,
} from '../../support/data/world.ts';
import { faultsOf } from '../../support/kill/killed.ts';

const DATE = '2026-05-02';
const HEAD = `manifests/${DATE}/head.json`;

interface Published {
  readonly root: string;
  readonly manifest: Manifest;
  readonly current: Current;
}

async function published(t: ExecutionContext, scans?: readonly RawScan[]): Promise<Published> {
  const root = await publishedRoot(t, scans ?? (await scansBetween('00:00', '00:09')));
  return { root, manifest: (await readNewest(root, DATE)) as Manifest, current: (await readCurrent(root)) as Current };
}

function fileOf({ manifest }: Published, kind: string): PublishedFile {
  return manifest.files.find((file) => file.table === kind || file.kind === kind) as PublishedFile;
}

/** Changes the newest manifest of the date, and its head with it. */
async function rewriteManifest({ root, manifest }: Published, change: (manifest: Manifest) => Manifest): Promise<void> {
  const changed = change(manifest);
  await fs.writeFile(join(root, layout.manifest(DATE, manifest.commit)), JSON.stringify(changed));
  await fs.writeFile(join(root, HEAD), JSON.stringify(headOf(changed)));
}

test('finds nothing wrong with what was just published, open or closed', async (t) => {
  const { root } = await published(t);
  t.deepEqual(await faultsOf(root), []);
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  t.deepEqual(await faultsOf(root), []);
});

test('finds a head that does not fit its manifest', async (t) => {
  const { root, manifest } = await published(t);
  const head = headOf(manifest);
  await fs.writeFile(join(root, HEAD), JSON.stringify({ ...head, scans: { ...head.scans, count: 7 } }));
  t.deepEqual(await faultsOf(root), [`${HEAD}: is not the head of ${layout.manifest(DATE, manifest.commit)}`]);
});

test('finds a head whose manifest is missing', async (t) => {
  const { root, manifest } = await published(t);
  const numbered = layout.manifest(DATE, manifest.commit);
  await fs.rm(join(root, numbered));
  t.true((await faultsOf(root)).includes(`${numbered}: is missing`));
});

test('finds a missing file', async (t) => {
  const world = await published(t);
  const { path, bytes } = fileOf(world, 'detections');
  await fs.rm(join(world.root, path));
  t.true((await faultsOf(world.root)).includes(`${path}: is missing, expected ${bytes} bytes`));
});

for (const kind of ['cells', 'scan-tiles', 'daily-tiles', 'state'])
  test(`finds a flipped byte in a file of ${kind}`, async (t) => {
    const world = await published(t);
    const { path, sha256 } = fileOf(world, kind);
    const content = await fs.readFile(join(world.root, path));
    content[content.length >> 1] = content[content.length >> 1] ^ 1;
    await fs.writeFile(join(world.root, path), content);
    const faults = await faultsOf(world.root);
    t.true(faults[0]?.startsWith(`${path}: has sha256`) && faults[0].endsWith(`expected ${sha256}`), faults[0]);
  });

test('finds a file that was swapped for another', async (t) => {
  const world = await published(t);
  const [one, other] = world.manifest.files.filter((file) => file.kind === 'scan-tiles') as [
    PublishedFile,
    PublishedFile,
  ];
  await fs.copyFile(join(world.root, one.path), join(world.root, other.path));
  const faults = await faultsOf(world.root);
  t.is(faults.length, 1);
  t.true(faults[0]?.startsWith(other.path));
});

test('finds a wrong number of rows in the manifest', async (t) => {
  const world = await published(t);
  const wrong = fileOf(world, 'tracks');
  await rewriteManifest(world, (manifest) => ({
    ...manifest,
    files: manifest.files.map((file) => (file === wrong ? { ...file, rows: file.rows + 1 } : file)),
  }));
  t.deepEqual(await faultsOf(world.root), [`${wrong.path}: has ${wrong.rows} rows, expected ${wrong.rows + 1}`]);
});

test('finds a file whose times lie outside the range in the manifest', async (t) => {
  const world = await published(t);
  const wrong = fileOf(world, 'detections');
  const first_scan = world.manifest.scans[2]?.scan_id;
  await rewriteManifest(world, (manifest) => ({
    ...manifest,
    files: manifest.files.map((file) => (file === wrong ? { ...file, first_scan } : file)),
  }));
  const faults = await faultsOf(world.root);
  t.regex(faults[0] ?? '', /has times outside its range/);
});

test('finds a table file of another schema version', async (t) => {
  const world = await published(t);
  const wrong = fileOf(world, 'cells');
  await rewriteManifest(world, (manifest) => ({
    ...manifest,
    files: manifest.files.map((file) => (file === wrong ? { ...file, schema_version: 99 } : file)),
  }));
  t.deepEqual(await faultsOf(world.root), [`${wrong.path}: has schema version ${wrong.schema_version}, expected 99`]);
});

test('finds a manifest of another version, and still looks at the rest', async (t) => {
  const world = await published(t);
  const head = { ...headOf(world.manifest), manifest_version: 99 };
  await fs.writeFile(join(world.root, HEAD), JSON.stringify(head));
  t.deepEqual(await faultsOf(world.root), [`${HEAD}: is not a readable manifest of this version`]);
});

test('finds a manifest that is cut off', async (t) => {
  const world = await published(t);
  await fs.truncate(join(world.root, HEAD), 100);
  t.deepEqual(await faultsOf(world.root), [`${HEAD}: is not a readable manifest of this version`]);
});

test('finds a head that is gone, and nothing is published in its place', async (t) => {
  const world = await published(t);
  await fs.rm(join(world.root, HEAD));
  t.deepEqual(await faultsOf(world.root), [
    `${HEAD}: is missing, and manifests are there: restore the file from a backup`,
  ]);
  await t.throwsAsync(ingest(world.root, []), { message: /head.json: is missing, and manifests are there/ });
});

test('finds frames that are not the scans of the manifest', async (t) => {
  const world = await published(t);
  await rewriteManifest(world, (manifest) => ({ ...manifest, scans: manifest.scans.slice(1) }));
  const count = world.manifest.scans.length;
  t.deepEqual(await faultsOf(world.root), [
    `${HEAD}: frames name ${count} scans, expected the ${count - 1} scans of the list`,
  ]);
});

test('finds scans whose uncovered blocks are not listed', async (t) => {
  // Over the Gulf, where radars do not reach.
  const gulf = worldOver({ row0: 2750, col0: 3600, rows: 60, cols: 60 });
  const world = await published(t, await gulf.scansBetween('00:00', '00:09'));
  t.deepEqual(await faultsOf(world.root), []);
  await rewriteManifest(world, (manifest) => ({
    ...manifest,
    files: manifest.files.filter(({ table }) => table !== 'uncovered'),
  }));
  const count = world.manifest.scans.length;
  t.deepEqual(await faultsOf(world.root), [
    `${HEAD}: ${count} scans are not uncovered in as many blocks as their frames say`,
  ]);
});

test('finds scans of the other provenance than their manifest is of', async (t) => {
  const world = await published(t);
  await rewriteManifest(world, (manifest) => ({ ...manifest, source: 'observed' }));
  const faults = await faultsOf(world.root);
  t.true(
    faults.includes(`${HEAD}: ${world.manifest.scans.length} frames are not of observed data, which the list is of`),
    faults.join('\n'),
  );
});

test('finds table files that say they are of the other provenance', async (t) => {
  const world = await published(t);
  await rewriteManifest(world, (manifest) => ({ ...manifest, source: 'observed' }));
  const { path } = fileOf(world, 'cells');
  t.true((await faultsOf(world.root)).includes(`${path}: says that its data are simulated, expected observed`));
});

test('finds a current pointer that names a manifest that does not exist', async (t) => {
  const world = await published(t);
  await fs.writeFile(
    join(world.root, 'current.json'),
    JSON.stringify({ ...world.current, open_dates: { [DATE]: 77 } }),
  );
  t.deepEqual(await faultsOf(world.root), [`manifests/${DATE}/000077.json: is missing`]);
});

test('finds a live snapshot that is gone, and one that is cut off', async (t) => {
  const world = await published(t);
  await fs.rm(join(world.root, world.current.live.cells));
  await fs.truncate(join(world.root, world.current.live.tracks), 20);
  const faults = await faultsOf(world.root);
  t.deepEqual(
    faults.map((fault) => fault.split(':')[0]),
    [world.current.live.cells, world.current.live.tracks],
  );
});

test('finds a current pointer that is gone', async (t) => {
  const world = await published(t);
  await fs.rm(join(world.root, 'current.json'));
  t.deepEqual(await faultsOf(world.root), ['current.json: is missing']);
});

test('finds nothing wrong with a data root on which nothing is published', async (t) => {
  t.deepEqual(await faultsOf(await scratch(t)), []);
});

test('finds shares of blocked beams that fall along a ray', async (t) => {
  const root = await scratch(t);
  const falling = [
    { tilt_deg: 0.5, distance_km: 20, blocked: 0.5 },
    { tilt_deg: 0.5, distance_km: 30, blocked: 0.4 },
  ];
  await publishBlockage(root, raysOfKtlx(falling, 10, 12));
  t.deepEqual(await faultsOf(root), [
    'manifests/undated/head.json: 3 shares that terrain blocks do not rise along their ray',
  ]);
});

test('finds nothing wrong with a first commit killed over the draft of a manifest', async (t) => {
  const { root } = await published(t);
  const folder = join(root, layout.manifestFolder('2026-05-03'));
  await fs.mkdir(folder);
  await fs.writeFile(join(folder, '000001.json'), '{}');
  await fs.writeFile(join(folder, 'head.json.part'), '{');
  t.deepEqual(await faultsOf(root), []);
});

const FOREIGN =
  'lies on another file system than its data root, expected one file system: files are moved into it in one step';

(hasTwoDevices ? test : test.skip)(
  'a link to tables on another file system is one sentence, of verify and of whoever wants to write (needs /tmp and /dev/shm on two devices)',
  async (t) => {
    const { root } = await published(t);
    const elsewhere = await fs.mkdtemp(join(onOtherDevice(root), 'hail-tables-'));
    t.teardown(() => fs.rm(elsewhere, { recursive: true }));
    await fs.cp(join(root, 'tables'), elsewhere, { recursive: true });
    await fs.rm(join(root, 'tables'), { recursive: true });
    await fs.symlink(elsewhere, join(root, 'tables'));
    t.deepEqual(await faultsOf(root), [`tables: ${FOREIGN}`]);
    await t.throwsAsync(ingest(root, [], { now_ms: MONTH_LATER_MS }), {
      instanceOf: PipelineError,
      message: `publish ${join(root, 'tables')}: ${FOREIGN}`,
    });
  },
);
