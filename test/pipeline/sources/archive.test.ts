import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { PipelineError, Unreadable } from '../../../pipeline/error.ts';
import { hashOf } from '../../../pipeline/files.ts';
import {
  archiveRaw,
  isRejected,
  listArchive,
  readRejections,
  rejectRaw,
  withoutKnown,
} from '../../../pipeline/sources/archive.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import { planScans, type ScanPlan } from '../../../pipeline/sources/plan.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { named, put, scratch } from '../../support/data/source-files.ts';

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
  t.is(kept.location, join(root, KEPT));
  t.is(kept.key, `date=2024-02-28/${MESH}`);
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

test('other content of the same name and size takes the place of the old', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  await archiveRaw(await deliver(from, MESH, 'old!'), root, 'observed');
  const kept = await archiveRaw(await deliver(from, MESH, 'new!'), root, 'observed');
  t.is(await readFile(kept.location, 'utf8'), 'new!');
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

test('the archive of a source is listed by date and name, whole or for given dates', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  const names = ['MRMS_VIL_00.50_20240228-000039.grib2', MESH, 'MRMS_MESH_00.50_20240227-235839.grib2'];
  for (const name of names) await archiveRaw(await deliver(from, name, name), root, 'observed');
  await archiveRaw(await deliver(from, MESH, 'simulated'), root, 'simulated');
  const keys = (files: readonly SourceFile[]) => files.map((file) => file.key);
  t.deepEqual(keys(await listArchive(root, 'observed')), [
    'date=2024-02-27/MRMS_MESH_00.50_20240227-235839.grib2',
    `date=2024-02-28/${MESH}`,
    'date=2024-02-28/MRMS_VIL_00.50_20240228-000039.grib2',
  ]);
  t.deepEqual(keys(await listArchive(root, 'observed', ['2024-02-27', '2024-02-29'])), [
    'date=2024-02-27/MRMS_MESH_00.50_20240227-235839.grib2',
  ]);
  t.is((await listArchive(root, 'simulated')).length, 1);
});

test('an archive that does not exist yet is empty', async (t) => {
  t.deepEqual(await listArchive(await scratch(t), 'observed'), []);
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

test('a refusal under a name with the start of the hash is found by the name of the file', async (t) => {
  const [from, root] = [await scratch(t), await scratch(t)];
  await refuse(await deliver(from, MESH, 'broken'), root, false);
  const second = await deliver(from, MESH, 'BROKEN');
  await refuse(second, root, false);
  t.is((await readRejections(root, 'observed', [second])).length, 2);
  t.false((await refuse(second, root, false)).isNew);
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
  const kept = [
    { ...first, key: 'elsewhere' },
    { ...second, bytes: 499 },
  ];
  const refused = { file: third.name, stage: 'read', reason: '', found_at: '', bytes: 500, sha256: '' };
  t.deepEqual(withoutKnown(listed, kept, [refused]), [listed[1], listed[3]] as SourceFile[]);
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
  t.deepEqual(
    scans.map((scan) => scan.scan_id),
    ['20240228T025239Z'],
  );
  t.is(unused.length, 5);
  const kept = await archiveRaw((scans[0] as ScanPlan).mesh, root, 'observed');
  const expected = JSON.parse(await readFile(sharedData('expected.json'), 'utf8'));
  t.is(await hashOf(kept.location), expected.files[`mrms/${MESH}`].sha256);
});
