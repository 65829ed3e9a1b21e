import test from 'ava';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { cellAtPixel, maskOf, maskPixels, sharedPixels } from '../../../pipeline/track/mask.ts';
import { draw } from '../../support/data/draw.ts';
import { trackCells } from '../../support/data/track-cells.ts';

function cellsOf(picture: string) {
  const field = draw(picture, { row0: 100, col0: 200 });
  return trackCells(field, findObjects(field, 1, 1));
}

const TWO = cellsOf(`
  . 1 1 . . . 2
  1 1 . . . 2 2
  1 . 1 . . . 2`);

test('a mask is the runs of a cell, row by row', (t) => {
  const [first] = TWO;
  t.deepEqual(first && maskOf(first.rows, first.cols), [100, 201, 2, 101, 200, 2, 102, 200, 1, 102, 202, 1]);
});

test('a mask counts its pixels', (t) => {
  t.deepEqual(
    TWO.map((cell) => maskPixels(maskOf(cell.rows, cell.cols))),
    [6, 4],
  );
});

test('a mask moved over another cell shares pixels with it, and none where it came from', (t) => {
  const [first] = TWO;
  const mask = first ? maskOf(first.rows, first.cols) : [];
  const owner = cellAtPixel(TWO);
  t.deepEqual([...sharedPixels(mask, 0, 0, owner)], [[0, 6]]);
  t.deepEqual([...sharedPixels(mask, 0, 5, owner)], [[1, 3]]);
  t.deepEqual([...sharedPixels(mask, 40, 0, owner)], []);
});

test('a mask moved over the edge of the lattice meets nothing on the other side', (t) => {
  const field = draw('1 1', { row0: 0, col0: 0 });
  const owner = cellAtPixel(trackCells(field, findObjects(field, 1, 1)));
  t.deepEqual([...sharedPixels([1, 6998, 2], -1, 2, owner)], []);
  t.deepEqual([...sharedPixels([0, 0, 2], 0, -1, owner)], [[0, 1]]);
});
