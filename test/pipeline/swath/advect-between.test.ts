import test from 'ava';
import { advectBetween, type FilledPixel, type ScanField } from '../../../pipeline/swath/advect-between.ts';
import { draw } from '../../support/data/draw.ts';
import { DAY_MS } from '../../support/data/rows.ts';

/** A scan so many minutes into the day. */
function echo(minute: number, picture: string): ScanField {
  return { scan_time: DAY_MS + minute * 60_000, mesh: draw(picture) };
}

/** Position of a pixel of a picture, from its top left corner. */
function at(row: number, col: number) {
  return { lat: 39.995 - 0.01 * row, lon: -94.995 + 0.01 * col };
}

/** Filled pixels as a picture of tens of millimetres, rounded. */
function picture(pixels: readonly FilledPixel[], rows: number, cols: number): string[] {
  return Array.from({ length: rows }, (_, r) =>
    Array.from({ length: cols }, (_, c) => {
      const pixel = pixels.find(({ row, col }) => row === 1500 + r && col === 3500 + c);
      return pixel ? String(Math.round(pixel.mm / 10)) : '.';
    }).join(' '),
  );
}

const BEFORE = `
  . . . . . . . . . .
  4 . . . . . . . . .
  . . . . . . . . . .`;
const AFTER = `
  . . . . . . . . . .
  . . . . . . . . 2 .
  . . . . . . . . . .`;
const EASTWARD = [{ from: at(1, 0), to: at(1, 8) }];

test('a storm that jumps eight pixels in eight minutes leaves a line that fades from one size to the other', (t) => {
  t.deepEqual(picture(advectBetween(echo(0, BEFORE), echo(8, AFTER), EASTWARD), 3, 10), [
    '. . . . . . . . . .',
    '. 4 4 3 3 3 3 2 . .',
    '. . . . . . . . . .',
  ]);
});

test('values pass in time order and the time is that of passing', (t) => {
  const pixels = advectBetween(echo(0, BEFORE), echo(8, AFTER), EASTWARD);
  t.deepEqual(
    pixels.map(({ time }) => (time - DAY_MS) / 60_000),
    [1, 2, 3, 4, 5, 6, 7],
  );
  t.deepEqual(
    pixels.map(({ mm }) => mm),
    [37.5, 35, 32.5, 30, 27.5, 25, 22.5],
  );
});

test('scans four minutes apart or closer are not filled', (t) => {
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(4, AFTER), EASTWARD), []);
  t.not(advectBetween(echo(0, BEFORE), echo(5, AFTER), EASTWARD).length, 0);
});

test('without a storm seen in both scans nothing is filled', (t) => {
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(8, AFTER), []), []);
});

test('an echo that dies on the way fades out below 5 mm', (t) => {
  const pixels = advectBetween(echo(0, BEFORE), echo(8, '. . .'), EASTWARD);
  t.deepEqual(
    pixels.map(({ mm }) => mm),
    [35, 30, 25, 20, 15, 10, 5],
  );
});

test('an echo that grew on the way is filled from nothing', (t) => {
  const pixels = advectBetween(echo(0, '. . .'), echo(8, AFTER), EASTWARD);
  t.deepEqual(
    pixels.map(({ mm }) => mm),
    [5, 7.5, 10, 12.5, 15, 17.5],
  );
});

test('each echo moves with the storm nearest to it', (t) => {
  const before = echo(
    0,
    `
    3 . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
    . . . . . . 3`,
  );
  const after = echo(
    6,
    `
    . . . . . . 3
    . . . . . . .
    . . . . . . .
    . . . . . . .
    3 . . . . . .`,
  );
  const motions = [
    { from: at(0, 0), to: at(0, 6) },
    { from: at(4, 6), to: at(4, 0) },
  ];
  t.deepEqual(picture(advectBetween(before, after, motions), 5, 7), [
    '. 3 3 3 3 3 .',
    '. . . . . . .',
    '. . . . . . .',
    '. . . . . . .',
    '. 3 3 3 3 3 .',
  ]);
});

test('an echo farther than 30 km from every storm stays where it is', (t) => {
  const far = [{ from: { lat: 40.5, lon: -94.995 }, to: { lat: 40.5, lon: -94.9 } }];
  t.deepEqual(advectBetween(echo(0, BEFORE), echo(8, AFTER), far), []);
});
