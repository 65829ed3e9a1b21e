import test from 'ava';
import fc from 'fast-check';
import {
  bucketPrefix,
  bucketStem,
  parseName,
  SCAN_PRODUCTS,
  type SourceFile,
} from '../../../pipeline/sources/names.ts';
import { planScans } from '../../../pipeline/sources/plan.ts';
import { bucketKey, instant, named } from '../../support/data/source-files.ts';

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
  t.deepEqual(
    scans.map((scan) => [scan.scan_id, scan.scan_time, scan.mesh.product]),
    [['20240228T025239Z', instant('02:52:39'), 'MESH']],
  );
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
    t.deepEqual(
      contradicting.map(({ file, taken }) => [file.sha256, taken.sha256]),
      [['bb', 'aa']],
    );
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

test('any order of arrival and any repetition of the same files give the same plan', (t) => {
  const shuffledTwice = fc
    .uniqueArray(someFile, { maxLength: 60, selector: (file) => file.location })
    .chain((files) =>
      fc.tuple(fc.constant(files), fc.shuffledSubarray([...files, ...files], { minLength: files.length * 2 })),
    );
  fc.assert(
    fc.property(shuffledTwice, ([files, again]) => {
      t.deepEqual(planScans(again), planScans(files));
    }),
  );
});

test('every file is used, unused or a duplicate, and a companion is never after its scan', (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(someFile, { maxLength: 60, selector: (file) => file.location }), (files) => {
      const { scans, unused, duplicates } = planScans(files);
      const used = scans.flatMap((scan) => {
        const others = [...Object.values(scan.companions), scan.probsevere, scan.previous_probsevere];
        const theirs = others.filter((file) => file !== null);
        t.true(theirs.every((file) => file.time_ms <= scan.scan_time));
        return [scan.mesh, ...theirs];
      });
      t.is(new Set(used).size + unused.length + duplicates.length, files.length);
    }),
  );
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
