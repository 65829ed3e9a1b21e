import test from 'ava';
import fc from 'fast-check';
import { bucketKey, bucketPrefix, bucketStem, parseName } from '../../../pipeline/sources/names.ts';
import { SCAN_PRODUCTS } from '../../../pipeline/sources/plan.ts';

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
  t.is(
    bucketKey('PrecipRate', time_ms),
    'CONUS/PrecipRate_00.00/20240228/MRMS_PrecipRate_00.00_20240228-025239.grib2.gz',
  );
  t.is(bucketKey('ProbSevere', time_ms), 'ProbSevere/20240228/MRMS_PROBSEVERE_20240228_025239.json');
});

test('the key of any product and second reads back as that product and second, in its folder and after its stem', (t) => {
  const seconds = fc.integer({
    min: Date.parse('2020-10-14T00:00:00Z') / 1000,
    max: Date.parse('2049-12-31T23:59:59Z') / 1000,
  });
  fc.assert(
    fc.property(fc.constantFrom(...SCAN_PRODUCTS), seconds, (product, s) => {
      const time_ms = s * 1000;
      const key = bucketKey(product, time_ms);
      t.deepEqual(parseName(key), { product, time_ms });
      t.true(key.startsWith(bucketPrefix(product, new Date(time_ms).toISOString().slice(0, 10))));
      t.true(key > bucketStem(product, time_ms) && key < bucketStem(product, time_ms + 1000));
    }),
  );
});
