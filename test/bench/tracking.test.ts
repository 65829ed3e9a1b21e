import { readFileSync } from 'node:fs';
import test from 'ava';
import { UsageError } from '../../pipeline/error.ts';
import type { HailField } from '../../pipeline/grid.ts';
import { hailField, readGrid } from '../../pipeline/read/mrms.ts';
import { processScan } from '../../pipeline/scans/scan.ts';
import { emptyTrackingState } from '../../pipeline/scans/state.ts';
import { headingOf } from '../../pipeline/track/motion.ts';
import { maskOf } from '../../pipeline/track/track-cell.ts';
import { standInField, standInScan } from '../support/data/hail-mask.ts';
import { START } from '../support/data/parting.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';
import { square } from '../support/data/square.ts';
import { peerFrames, readPeerTracks } from './peer-tracks.ts';
import { isPeersRun, leadsOf, overlaps, trackingOptions } from './tracking.ts';

const ARGUMENTS = ['--product', 'PrecipRate', '--threshold', '50', '--min-pixels', '8', '--bbox', '-107,28.5,-97,36.5'];

for (const [name, args, message] of [
  ['a missing folder', ['--product', 'MESH', '--threshold', '5', '--min-pixels', '1'], /--from/],
  [
    'a threshold in words',
    ['--from', 'x', '--product', 'MESH', '--threshold', 'big', '--min-pixels', '1'],
    /--threshold is 'big'/,
  ],
  [
    'half a pixel',
    ['--from', 'x', '--product', 'MESH', '--threshold', '5', '--min-pixels', '0.5'],
    /--min-pixels is '0.5'/,
  ],
  [
    'a box the wrong way round',
    ['--from', 'x', ...ARGUMENTS.with(-1, '-97,28.5,-107,36.5')],
    /--bbox is '-97,28.5,-107,36.5'/,
  ],
  ['a box of three numbers', ['--from', 'x', ...ARGUMENTS.with(-1, '-97,28.5,-107')], /--bbox/],
  ['a box off the grid', ['--from', 'x', ...ARGUMENTS.with(-1, '5,45,8,47')], /20..55 N/],
  ['an unknown argument', ['--from', 'x', ...ARGUMENTS, '--fast'], /--fast/],
] as const)
  test(`the tracking bench refuses ${name} before it reads anything`, (t) => {
    t.throws(() => trackingOptions([...args]), { instanceOf: UsageError, message });
  });

/** Frames some minutes apart. */
function times(step_min: number, count = 20) {
  const first = Date.parse('2019-06-10T00:00:00Z');
  return Array.from({ length: count }, (_, k) => ({ scan_time: first + k * step_min * 60_000 }));
}

test('the figures of TINT and tobac are shown for the frames and arguments that they were run on, and for no others', (t) => {
  const options = trackingOptions(['--from', 'x', ...ARGUMENTS]);
  t.true(isPeersRun(options, times(2)));
  for (const [flag, value] of [
    ['--product', 'MESH'],
    ['--threshold', '40'],
    ['--min-pixels', '9'],
    ['--bbox', '-107,28.5,-97,36.4'],
  ] as const) {
    const others = ARGUMENTS.with(ARGUMENTS.indexOf(flag) + 1, value);
    t.false(isPeersRun(trackingOptions(['--from', 'x', ...others]), times(2)), flag);
  }
  t.false(isPeersRun(options, times(5)));
  t.false(isPeersRun(options, times(2, 19)));
  t.false(
    isPeersRun(
      options,
      times(2).map(({ scan_time }) => ({ scan_time: scan_time + 120_000 })),
    ),
  );
});

test('overlaps are of leads that the frames have, and null where no frame lies within a minute', (t) => {
  t.deepEqual(leadsOf(times(2)), [4, 8, 14, 20]);
  t.deepEqual(leadsOf(times(5)), [5, 10, 15, 20]);
  t.deepEqual(leadsOf(times(10)), [10, 20]);
  const { rows, cols } = square(1500, 3500);
  const frames = times(5, 6).map((frame) => ({
    ...frame,
    objects: [{ mask: maskOf(rows, cols), velocity: null }],
  }));
  t.deepEqual(overlaps(frames), [1, 1, null, null]); // from 12 minutes on: frames at 15, 20 and 25
});

const TINT = `scan,uid,time,grid_x,grid_y,lon,lat,area
0,7,2019-06-10 00:00:00,1,2,-97.5,36.1,20
1,7,2019-06-10 00:02:00,1,2,-97.48,36.1,20
`;
const TOBAC = `,frame,time,cell,latitude,longitude
0,1,2019-06-10 00:02:00,-1,36.3,-97.1
1,1,2019-06-10T00:02:00Z,3,36.2,-97.2
`;

test('tables of TINT and of tobac are read by their own column names, rows without a track left out', (t) => {
  const [first, second] = readPeerTracks(TINT, 'tint.csv');
  t.deepEqual([first?.track_id, first?.scan_time], ['7', Date.parse('2019-06-10T00:00:00Z')]);
  t.deepEqual([second?.lat, second?.lon], [36.1, -97.48]);
  t.deepEqual(
    readPeerTracks(TOBAC, 'tobac.csv').map(({ track_id, lat }) => [track_id, lat]),
    [['3', 36.2]],
  );
});

test('a table without positions, or with a time that is none, is refused by file and line', (t) => {
  t.throws(() => readPeerTracks('uid,time\n1,2019-06-10 00:00:00', 'x.csv'), {
    instanceOf: UsageError,
    message: /x.csv/,
  });
  t.throws(() => readPeerTracks(TINT.replace('2019-06-10 00:02:00', 'soon'), 'x.csv'), { message: /line 3/ });
});

test("an object moves by the peer's track on it; one without a track by the median of the others", (t) => {
  const [near, far] = [square(1500, 3500), square(1500, 3700)];
  const points = [0, 1, 2].map((k) => ({
    track_id: 'a',
    scan_time: START + k * 120_000,
    lat: near.lat,
    lon: near.lon + 0.02 * k,
    size: 0,
    reshaped: false,
  }));
  const frames = peerFrames(points, [{ scan_time: START + 240_000, cells: [near, far] }]);
  const headings = frames[0]?.objects.map(({ velocity }) => velocity && headingOf(velocity));
  t.is(headings?.length, 2);
  for (const heading of headings ?? []) {
    t.true(Math.abs((heading?.direction_deg as number) - 90) < 1e-6);
    t.true(Math.abs((heading?.speed_kmh as number) - 0.6 * 85.9) < 1); // 0.02 deg of longitude at 40 N in two minutes
  }
});

/** Rain rates, mm/h, as a drawn grid: rows from north. */
function ratesOf(rows: readonly (readonly number[])[]): HailField {
  const cells = rows.flatMap((row, r) => row.flatMap((rate, c) => (rate > 0 ? [{ r, c, rate }] : [])));
  return {
    window: { row0: 1000, col0: 2000, rows: rows.length, cols: rows[0]?.length ?? 0 },
    rowStart: Uint32Array.from({ length: rows.length + 1 }, (_, row) => cells.filter(({ r }) => r < row).length),
    col: Uint16Array.from(cells, ({ c }) => 2000 + c),
    tenths: Uint16Array.from(cells, ({ rate }) => Math.round(10 * rate)),
    covered_px: rows.flat().length,
    uncovered_px: 0,
  };
}

/** The sizes of a field, mm, drawn like the rates. */
function drawn({ window, rowStart, col, tenths }: HailField): number[][] {
  return Array.from({ length: window.rows }, (_, row) => {
    const sizes = new Array<number>(window.cols).fill(0);
    for (let n = rowStart[row]; n < rowStart[row + 1]; n++) sizes[col[n] - window.col0] = tenths[n] / 10;
    return sizes;
  });
}

test('only rates at the cap of 53.8 mm/h are hail: heavier and lighter ones are rain', (t) => {
  const field = standInField(ratesOf([[53.7, 53.8, 53.9, 150, 0, 53.8]]), 'hail');
  t.deepEqual(drawn(field), [[0, 19, 0, 0, 0, 19]]);
});

test('hail of the mask has 19 mm at its edge and 5 mm more with each pixel inwards', (t) => {
  const cap = 53.8;
  const field = standInField(
    ratesOf([
      [0, 0, 0, 0, 0, 0, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, cap, cap, cap, cap, cap, 0],
      [0, 0, 0, 0, 0, 0, 0],
    ]),
    'hail',
  );
  t.deepEqual(drawn(field), [
    [0, 0, 0, 0, 0, 0, 0],
    [0, 19, 19, 19, 19, 19, 0],
    [0, 19, 24, 24, 24, 19, 0],
    [0, 19, 24, 29, 24, 19, 0],
    [0, 19, 24, 24, 24, 19, 0],
    [0, 19, 19, 19, 19, 19, 0],
    [0, 0, 0, 0, 0, 0, 0],
  ]);
});

test('50 mm/h of rain stands for 19 mm, and cores are nothing but rates from there on', (t) => {
  const rates = ratesOf([[10, 30, 49.9, 50, 100]]);
  t.deepEqual(drawn(standInField(rates, 'rain')), [[0, 11.4, 18.9, 19, 38]]);
  t.deepEqual(drawn(standInField(rates, 'cores')), [[0, 0, 0, 19, 38]]);
});

sharedTest('of the pixels from 50 mm/h on in a real frame, 45 of 100 are hail and make 46 storm cells', (t) => {
  const grid = readGrid(readFileSync(sharedData('mrms-sequence', 'PrecipRate_00.00_20190610-000000.grib2')), 'R3');
  const rates = hailField(grid);
  const scan = standInScan(grid.scan_time, rates, 'hail');
  t.is(scan.mesh.tenths.length, 1284);
  t.is(rates.tenths.filter((tenths) => tenths >= 500).length, 2857);
  t.true(scan.mesh.tenths.every((tenths) => tenths >= 190));
  const { cells, detections } = processScan(scan, emptyTrackingState, {
    storm_date: '2019-06-10',
    inputs: '',
    terrain: null,
  }).products;
  t.is(detections.length, 1284);
  t.is(cells.length, 46);
});
