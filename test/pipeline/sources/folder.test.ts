import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { NotFound, PipelineError } from '../../../pipeline/error.ts';
import { listFolder } from '../../../pipeline/sources/folder.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { put, scratch } from '../../support/data/source-files.ts';

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
