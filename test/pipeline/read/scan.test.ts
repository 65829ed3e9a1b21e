import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { BadInput, Unreadable } from '../../../pipeline/error.ts';
import { type NamedFile, readScan, type ScanFiles } from '../../../pipeline/read/scan.ts';
import { type GridOptions, gribFile, type ProductOptions, simplePacking } from '../../support/data/grib2-files.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const folder = mkdtempSync(join(tmpdir(), 'hail-read-scan-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const TIME = [2024, 5, 1, 20, 12, 34] as const;
const SCAN_TIME = Date.parse('2024-05-01T20:12:34Z');

/** Path of a file of 2 x 2 pixels with these packed values. */
function written(name: string, values: readonly number[], product: ProductOptions = {}): string {
  const path = join(folder, name);
  writeFileSync(path, gribFile(simplePacking(values, 16), { columns: 2, rows: 2 }, { time: TIME, ...product }));
  return path;
}

/** Path of a file with as many pixels of the same MESH as the grid has, and one more column without hail. */
function uniform(name: string, { rows, columns }: GridOptions, tenths: number): string {
  const path = join(folder, name);
  const values = Array.from({ length: rows * (columns + 1) }, (_, i) =>
    i % (columns + 1) === columns ? 20 : 30 + tenths,
  );
  writeFileSync(path, gribFile(simplePacking(values, 16), { rows, columns: columns + 1 }, { time: TIME }));
  return path;
}

function probsevere(name: string, storms: Record<string, { mesh: string; west: number }>, source = 'NOAA'): NamedFile {
  const features = Object.entries(storms).map(([ID, { mesh, west }]) => ({
    geometry: {
      type: 'Polygon',
      coordinates: [
        [
          [west, 38],
          [west, 39],
          [west + 1, 39],
          [west, 38],
        ],
      ],
    },
    models: { probhail: { PROB: '40' } },
    properties: { ID, MESH: mesh },
  }));
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify({ source, product: 'ProbSevere', validTime: '20240501_201200 UTC', features }));
  return named(path);
}

const mesh = written('mesh', [0, 20, 130, 230]);
const vil = written('vil', [0, 20, 155, 80], { number: 41 });
const echoTop = written('top', [0, 20, 20, 120], { number: 46 });

/** A file under a name that gives the time of the scan. */
function named(location: string, time_ms = SCAN_TIME): NamedFile {
  return { location, time_ms };
}

function files(change: Partial<ScanFiles> = {}): ScanFiles {
  return { scan_time: SCAN_TIME, mesh, companions: {}, probsevere: null, previous_probsevere: null, ...change };
}

test('a scan of MESH alone has no companions and no ProbSevere objects', async (t) => {
  const scan = await readScan(files());
  t.deepEqual([...scan.mesh.tenths], [100, 200]);
  t.deepEqual([scan.scan_time, scan.simulated, scan.products, scan.probsevere], [SCAN_TIME, false, ['MESH'], null]);
  t.true(Object.values(scan.companions).every((values) => values === null));
});

test('companions are sampled at the pixels of the hail field', async (t) => {
  const scan = await readScan(files({ companions: { vil_kg_m2: named(vil), echo_top_50_km: named(echoTop) } }));
  t.deepEqual([...(scan.companions.vil_kg_m2 ?? [])], [12.5, 5]);
  t.deepEqual([...(scan.companions.echo_top_50_km ?? [])], [Number.NaN, 9]);
  t.deepEqual(scan.products, ['MESH', 'VIL', 'EchoTop_50']);
});

test('the result travels between threads as it is', async (t) => {
  const scan = await readScan(
    files({ companions: { vil_kg_m2: named(vil) }, probsevere: probsevere('a', { 1: { mesh: '1', west: -96 } }) }),
  );
  t.deepEqual(structuredClone(scan), scan);
});

test('an object that repeats polygon and MESH of the file before is stale', async (t) => {
  const before = probsevere('before', {
    1: { mesh: '1', west: -96 },
    2: { mesh: '1', west: -94 },
    3: { mesh: '1', west: -92 },
  });
  const now = probsevere('now', {
    1: { mesh: '1', west: -96 },
    2: { mesh: '1.01', west: -94 },
    3: { mesh: '1', west: -91.99 },
    4: { mesh: '1', west: -96 },
  });
  const { probsevere: objects } = await readScan(files({ probsevere: now, previous_probsevere: before }));
  t.deepEqual(
    objects?.map(({ flag_stale }) => flag_stale),
    [true, false, false, false],
  );
});

test('objects carry the scan they are used for and its storm date', async (t) => {
  const path = probsevere('date', { 1: { mesh: '1', west: -96 } });
  const [object] = (await readScan(files({ probsevere: path }))).probsevere ?? [];
  t.deepEqual(
    [object?.scan_time, object?.storm_date, object?.valid_time],
    [SCAN_TIME, '2024-05-01', Date.parse('2024-05-01T20:12:00Z')],
  );
  const [convective] = (await readScan(files({ probsevere: path, storm_day_start_hour: 21 }))).probsevere ?? [];
  t.is(convective?.storm_date, '2024-04-30');
});

for (const [title, change, subject, reason] of [
  ['a MESH file that holds VIL', { mesh: vil }, vil, 'product VIL, expected MESH'],
  ['a companion of another product', { companions: { posh_pct: named(vil) } }, vil, 'product VIL, expected POSH'],
  [
    'a MESH file of another time',
    { scan_time: SCAN_TIME + 1000 },
    mesh,
    'time 2024-05-01T20:12:34Z, expected 2024-05-01T20:12:35Z',
  ],
  [
    'a companion of another time than its name says',
    { companions: { vil_kg_m2: named(vil, SCAN_TIME - 60_000) } },
    vil,
    'time 2024-05-01T20:12:34Z, expected 2024-05-01T20:11:34Z',
  ],
  [
    'ProbSevere more than two minutes off its name',
    { probsevere: { ...probsevere('late.json', {}), time_ms: SCAN_TIME - 155_000 } },
    join(folder, 'late.json'),
    'validTime 2024-05-01T20:12:00Z, expected 2024-05-01T20:09:59Z within 120 s',
  ],
  [
    'a simulated companion beside an observed scan',
    { companions: { vil_kg_m2: named(written('simulated', [0, 0, 0, 0], { number: 41, production_status: 192 })) } },
    join(folder, 'simulated'),
    'simulated data, expected observed data as in the MESH file',
  ],
  [
    'simulated ProbSevere beside an observed scan',
    { probsevere: probsevere('simulated.json', {}, 'simulated') },
    join(folder, 'simulated.json'),
    'simulated data, expected observed data as in the MESH file',
  ],
] as const)
  test(`${title}: refused, and the error names that file`, async (t) => {
    const error = await t.throwsAsync(readScan(files(change)), { instanceOf: BadInput });
    t.deepEqual([error.subject, error.reason], [subject, reason]);
  });

test('a file that is not there is an error of the file system, not of its content', async (t) => {
  const error = await t.throwsAsync(readScan(files({ mesh: join(folder, 'absent') })), {
    instanceOf: Unreadable,
    message: /no such file|is gone|is not there/,
  });
  t.false(error instanceof BadInput);
});

sharedTest('of the real objects that appear in two files in a row, 77 and 193 repeat their polygon', async (t) => {
  const { readdirSync, readFileSync } = await import('node:fs');
  const { readProbSevere } = await import('../../../pipeline/read/probsevere.ts');
  const counts: Record<string, { again: number; same: number }> = {};
  let before = new Map<string, string>();
  let day = '';
  for (const name of readdirSync(sharedData('probsevere'))
    .filter((file) => file.endsWith('.json'))
    .sort()) {
    const date = name.slice(16, 24);
    if (date !== day) before = new Map();
    day = date;
    counts[date] ??= { again: 0, same: 0 };
    const { objects } = readProbSevere(readFileSync(sharedData('probsevere', name)), name);
    for (const { probsevere_id, geometry } of objects) {
      if (!before.has(probsevere_id)) continue;
      counts[date].again++;
      if (before.get(probsevere_id) === geometry) counts[date].same++;
    }
    before = new Map(objects.map(({ probsevere_id, geometry }) => [probsevere_id, geometry]));
  }
  t.deepEqual(counts, { 20211011: { again: 622, same: 77 }, 20220720: { again: 906, same: 193 } });
});

for (const [title, grid, tenths, reason] of [
  ['0.1 mm on more than 2 % of it', { rows: 500, columns: 1000 }, 1, /more than 490000 pixels above 0/],
  ['5 mm on more than 0.6 % of it', { rows: 301, columns: 500 }, 50, /150500 pixels of 5 mm and more/],
  ['10 mm on more than 0.2 % of it', { rows: 201, columns: 250 }, 100, /50250 pixels of 10 mm and more/],
] as const)
  test(`${title} is refused by name: no scan has so much hail`, async (t) => {
    const path = uniform(`${tenths}-tenths`, grid, tenths);
    const error = await t.throwsAsync(readScan(files({ mesh: path })), { instanceOf: BadInput });
    t.deepEqual([error.subject, error.stage], [path, 'read']);
    t.regex(error.reason, reason);
  });

for (const [grid, tenths] of [
  [{ rows: 490, columns: 1000 }, 49],
  [{ rows: 300, columns: 500 }, 99],
  [{ rows: 200, columns: 250 }, 800],
] as const)
  test(`${grid.rows * grid.columns} pixels of ${tenths / 10} mm are taken: the bound itself belongs to the scan`, async (t) => {
    const scan = await readScan(files({ mesh: uniform(`${tenths}-at-most`, grid, tenths) }));
    t.is(scan.mesh.tenths.length, grid.rows * grid.columns);
  });

sharedTest('a real file whose reference lost its sign is refused: nothing would be hail everywhere', async (t) => {
  const bytes = readFileSync(sharedData('mrms', 'MRMS_MESH_00.50_20240228-025239.grib2'));
  // Section 5 begins with its length, 21 bytes, and its number; the reference stands at octet 12, its sign in the first bit.
  const at = bytes.indexOf(Buffer.from([0, 0, 0, 21, 5])) + 11;
  bytes[at] = bytes[at] ^ 0x80;
  const path = join(folder, 'flipped');
  writeFileSync(path, bytes);
  const scan_time = Date.parse('2024-02-28T02:52:39Z');
  const error = await t.throwsAsync(readScan(files({ mesh: path, scan_time })), { instanceOf: BadInput });
  t.regex(error.reason, /value 3 in a corner of the lattice, expected -3, no coverage/);
});
