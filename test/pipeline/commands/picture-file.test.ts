import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { readGridPicture } from '../../../pipeline/commands/picture-file.ts';
import { BadInput } from '../../../pipeline/error.ts';
import { drawPicture } from '../../../pipeline/picture/picture.ts';
import { type Bbox, parseBbox } from '../../../schemas/geo/position.ts';
import { gribFile, type ProductOptions, pngPacking } from '../../support/data/grib2-files.ts';
import { codeBlocks, readDocument, sectionOf } from '../../support/data/markdown.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const MAX_24_HOURS = 34;
/** Side of the grid, pixels: 4 degrees, so that hail in two corners is two outbreaks. */
const SIDE = 400;

/**
 * A grid of `SIDE` x `SIDE` pixels from 40 N, 100 W: `hail` in mm by row and column, its 100 westernmost columns not seen by
 * radar, the rest covered and dry.
 */
function hailFile(
  hail: readonly (readonly [row: number, col: number, mm: number])[],
  product?: ProductOptions,
): Buffer {
  const values: number[] = Array.from({ length: SIDE * SIDE }, (_, i) => (i % SIDE < 100 ? 0 : 20));
  for (const [row, col, mm] of hail) values[row * SIDE + col] = 30 + 10 * mm;
  return gribFile(
    pngPacking(values, { columns: SIDE, rows: SIDE, bits: 16, filters: [0] }),
    { columns: SIDE, rows: SIDE, la1: 39_995_000, lo1: 260_005_000 },
    product,
  );
}

/** A swath of ten columns with one pixel of golf ball size, and a single pixel of 80 mm far away. */
const SWATH = Array.from(
  { length: 30 },
  (_, i) => [300 + Math.floor(i / 10), 150 + (i % 10), i === 14 ? 41 : 20] as const,
);
const SPIKE = [20, 390, 80] as const;

const draw = async (file: Uint8Array, bbox?: readonly [number, number, number, number]) =>
  drawPicture(await readGridPicture(file, 'hail.grib2'), bbox);

/** Visible texts of a picture. */
function texts(svg: string): string[] {
  return Array.from(svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g), (match) => match[1] as string);
}

test('a maximum of 24 hours says which hours, which product and whose data it shows', async (t) => {
  const [title, summary, source] = texts(await draw(hailFile(SWATH, { number: MAX_24_HOURS })));
  t.is(title, 'Hail of the 24 hours to 20:12 UTC, 1 May 2024');
  t.is(summary, 'Largest 1.6 in (41 mm)  ·  30 km² with 0.75 in (19 mm) or more');
  t.is(
    source,
    'Radar estimate, not a ground measurement  ·  MESH_Max_1440min, 2024-04-30 20:12 to 2024-05-01 20:12 UTC  ·  source: NOAA MRMS, public domain',
  );
});

test('a scan is drawn from 10 mm on, at its instant, and a gzipped file like the plain one', async (t) => {
  const file = hailFile([[100, 200, 12]]);
  const svg = await draw(file);
  t.is(texts(svg)[0], 'Hail at 20:12 UTC, 1 May 2024');
  t.true(texts(svg).includes('below nickel') && texts(svg).includes('1 km²'));
  t.is(await draw(gzipSync(file)), svg);
});

test('the area that no radar sees is hatched, and the legend says so', async (t) => {
  const { uncovered, bounds } = await readGridPicture(hailFile(SWATH), 'hail.grib2');
  t.deepEqual(bounds, [-100, 36, -96, 40]);
  t.is(uncovered.runs.length, 40);
  t.deepEqual(uncovered.runs[0], [0, 0, 10]);
  const svg = await draw(hailFile(SWATH), [-99.5, 37, -98.5, 38]);
  t.true(texts(svg).includes('not seen by radar'));
  t.regex(svg, /fill-rule="evenodd" fill="url\(#unseen\)"/);
});

test('a single pixel far away does not decide the frame, and the picture says that it is there', async (t) => {
  const file = hailFile([...SWATH, SPIKE], { number: MAX_24_HOURS });
  const summary = texts(await draw(file))[1] as string;
  t.regex(summary, /^Largest 3\.1 in \(80 mm\) {2}· {2}31 km² /);
  t.regex(summary, /outside this map 1 km², up to 3\.1 in \(80 mm\) at 39\.8° N 96\.1° W$/);
  const whole = texts(await draw(file, [-100, 36, -96, 40]));
  t.notRegex(whole[1] as string, /outside/);
  t.true(whole.includes('3.1 in · 80 mm'));
});

test('a file without hail shows the whole grid and says so', async (t) => {
  t.true(texts(await draw(hailFile([], { number: MAX_24_HOURS }))).includes('No hail of 19 mm or more'));
});

test('a simulated file is marked as simulated', async (t) => {
  const shown = texts(await draw(hailFile(SWATH, { production_status: 192 })));
  t.true(shown.includes('SIMULATED · NOT REAL WEATHER'));
  t.true(shown[2]?.endsWith('source: simulated'));
});

for (const [what, file, message] of [
  ['another product', hailFile([], { number: 41 }), /hail\.grib2: product VIL, expected MESH or a maximum such as/],
  ['a file that is cut short', hailFile(SWATH).subarray(0, 150), /hail\.grib2: .*expected/],
  [
    'another lattice',
    gribFile(pngPacking([20, 20], { columns: 2, rows: 1, bits: 8, filters: [0] }), { columns: 2, rows: 1, step: 5000 }),
    /step 0\.005 x 0\.005 degrees, expected 0\.01 x 0\.01/,
  ],
  ['a text', Buffer.from('no grid at all'), /hail\.grib2: .*expected/],
] as const)
  test(`${what} is refused with what was found and expected`, async (t) => {
    await t.throwsAsync(draw(file), { instanceOf: BadInput, message });
  });

const DAY_FILE = 'mrms/MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2';

sharedTest('the real 24-hour maximum has the areas of the expected figures, from GRIB2 and from GeoTIFF', async (t) => {
  const expected = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')).mrms[DAY_FILE.slice(5)].thresholds_mm;
  const whole = [-125, 24, -66, 50] as const;
  const picture = await readGridPicture(readFileSync(sharedData(DAY_FILE)), DAY_FILE);
  const shown = texts(drawPicture(picture, whole));
  t.deepEqual(
    shown.filter((label) => /^[\d,]+ km²$/.test(label)).map((label) => Number(label.replace(/[^\d]/g, ''))),
    [19, 25, 38, 63, 69, 101].map((mm) => Math.round(expected[mm].area_km2)),
  );
  t.is(shown[0], 'Hail of the 24 hours to 10:00 UTC, 28 February 2024');
  t.true(shown.includes('3.3 in · 83 mm'));
  const tiff = 'mrms/MESH_Max_1440min_20240228-100000.tif';
  t.is(drawPicture(await readGridPicture(readFileSync(sharedData(tiff)), tiff), whole), drawPicture(picture, whole));
});

sharedTest(
  'of the real day the main hail is shown, and the area outside the map adds up with the area in it',
  async (t) => {
    const picture = await readGridPicture(readFileSync(sharedData(DAY_FILE)), DAY_FILE);
    const [, summary = ''] = texts(drawPicture(picture));
    t.regex(summary, /outside this map 218 km², up to 3\.3 in \(83 mm\) at 44\.8° N 75\.2° W$/);
  },
);

sharedTest('the command printed with the real picture of the README draws it again, byte for byte', async (t) => {
  const section = sectionOf(readDocument('data/README.md'), '### The pictures in the README');
  const command = codeBlocks(section, 'sh').find((block) => block.includes('--from MRMS_')) ?? '';
  const [, bbox = ''] = /--bbox=(\S+)/.exec(command) ?? [];
  const [, out = ''] = /--out (\S+)/.exec(command) ?? [];
  const [, name] = /--from (\S+)/.exec(command) ?? [];
  t.is(name, DAY_FILE.slice(5));
  t.is(
    drawPicture(await readGridPicture(readFileSync(sharedData(DAY_FILE)), DAY_FILE), parseBbox(bbox) as Bbox),
    readDocument(out),
  );
});
