import test from 'ava';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { advanceTracks, cutCells } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { disc } from '../../support/data/parting.ts';
import { square } from '../../support/data/square.ts';
import { trackCells } from '../../support/data/track-cells.ts';

const SIDE = 80;
const START = Date.parse('2026-05-01T20:00:39Z');
const STORM = disc(7, 40);

/** Speeds and ids of a storm that walks off the drawn grid, two pixels in two minutes to the south and east. */
function walkOff(south: number, east: number) {
  let live: LiveTracks = noLiveTracks;
  const ids = new Set<string>();
  const seen: { cut: boolean; speed_kmh: number | null; direction_deg: number | null }[] = [];
  for (let k = 0; k < 24; k++) {
    const values = Array.from({ length: SIDE }, () => new Array<number>(SIDE).fill(0));
    for (const pixel of STORM) {
      const [row, col] = [SIDE / 2 + south * 2 * k + pixel.south, SIDE / 2 + east * 2 * k + pixel.east];
      if (row >= 0 && row < SIDE && col >= 0 && col < SIDE) (values[row] as number[])[col] = pixel.tenths;
    }
    const field = drawTenths(values);
    const cells = trackCells(field, findObjects(field, 1, 8));
    const cut = cutCells(cells, field.window, []);
    const step = advanceTracks(live, {
      scan_time: START + k * 120_000,
      cells,
      pattern_motion: null,
      cut,
    });
    live = step.live;
    for (const point of step.points) {
      ids.add(point.track_id);
      if (point.state === 'tracked') seen.push({ cut: cut.size > 0, ...point });
    }
  }
  return { ids, seen };
}

for (const [edge, south, east] of [
  ['north', -1, 0],
  ['south', 1, 0],
  ['west', 0, -1],
  ['east', 0, 1],
  ['south-east', 1, 1],
] as const)
  test(`a storm that walks off the ${edge} edge keeps its published speed and direction to its last scan`, (t) => {
    const { ids, seen } = walkOff(south, east);
    const before = seen.findLast(({ cut }) => !cut);
    const leaving = seen.filter(({ cut }) => cut);
    t.is(ids.size, 1);
    t.true(leaving.length >= 3, `${leaving.length} scans on the edge`);
    for (const { speed_kmh, direction_deg } of leaving) {
      t.true(
        Math.abs((speed_kmh as number) / (before?.speed_kmh as number) - 1) < 0.05,
        `${before?.speed_kmh} ${speed_kmh}`,
      );
      const turn = Math.abs((direction_deg as number) - (before?.direction_deg as number));
      t.true(Math.min(turn, 360 - turn) < 3, `${before?.direction_deg} ${direction_deg}`);
    }
  });

test('a cell is cut by the edge of the grid and by pixels beside it that no radar covers, not by those farther away', (t) => {
  const window = { row0: 1000, col0: 2000, rows: 100, cols: 100 };
  const unseen = [{ row_first: 1040, row_last: 1049, col_first: 2040, col_last: 2049 }];
  const cells = [square(1000, 2020), square(1034, 2042), square(1033, 2042), square(1042, 2050), square(1042, 2051)];
  t.deepEqual([...cutCells(cells, window, unseen)], [0, 1, 3]);
});
