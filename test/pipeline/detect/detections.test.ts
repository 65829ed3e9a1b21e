import { readFileSync } from 'node:fs';
import test from 'ava';
import { findDetections } from '../../../pipeline/detect/detections.ts';
import { type DetectionHistory, emptyDetectionHistory } from '../../../pipeline/detect/history.ts';
import type { CompanionValues, HailField, ScanInput } from '../../../pipeline/grid.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { foundCells } from '../../support/data/found-cells.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const START = Date.UTC(2026, 4, 1, 20, 12);
const NONE: CompanionValues = {
  posh_pct: null,
  vil_kg_m2: null,
  echo_top_18_km: null,
  echo_top_50_km: null,
  max_reflectivity_dbz: null,
};
const scan = (mesh: HailField, minute = 0, companions: Partial<CompanionValues> = {}): ScanInput => ({
  scan_time: START + minute * 60_000,
  simulated: false,
  mesh,
  companions: { ...NONE, ...companions },
  uncovered: null,
  probsevere: null,
  products: ['MESH'],
});
const detect = (input: ScanInput, history: DetectionHistory = emptyDetectionHistory) =>
  findDetections(input, foundCells(input), history, null);
/** The last of some scans, two minutes apart, each with the history of the one before. */
function inTurn(fields: readonly HailField[], every_min = 2) {
  let history = emptyDetectionHistory;
  let last = detect(scan(draw('.')));
  fields.forEach((field, n) => {
    last = detect(scan(field, n * every_min), history);
    history = last.history;
  });
  return last;
}
const DRY = draw('. . . . . . . . .');

test('every pixel of at least 10.0 mm is one detection, in rows from north', (t) => {
  const { detections } = detect(
    scan(
      drawTenths([
        [0, 99, 100],
        [250, 0, 50],
      ]),
    ),
  );
  t.deepEqual(
    detections.map(({ row, col, lat, lon, estimated_size_mm, geohash5 }) => [
      row,
      col,
      lat,
      lon,
      estimated_size_mm,
      geohash5,
    ]),
    [
      [1500, 3502, 39.995, -94.975, 10, '9zh7w'],
      [1501, 3500, 39.985, -94.995, 25, '9zh7q'],
    ],
  );
});

test('a detection knows its cell, and has none outside any', (t) => {
  const { detections } = detect(scan(drawTenths([[200, 60, 60, 60, 60, 0, 120]])));
  t.deepEqual(
    detections.map(({ cell_index }) => cell_index),
    [0, null],
  );
});

test('the confidence of a cell is that of its largest pixel', (t) => {
  const input = scan(draw('2 3 4 3 2 . . 2 2 2 3 2'));
  const { detections, cellConfidence } = detect(input);
  t.deepEqual(cellConfidence, [detections[2]?.confidence, detections[8]?.confidence]);
  t.true(cellConfidence[0] > cellConfidence[1]);
});

test('companions are those of the pixel; missing products and unknown values are null', (t) => {
  const [detection] = detect(
    scan(draw('2'), 0, { posh_pct: Float32Array.of(40), vil_kg_m2: Float32Array.of(Number.NaN) }),
  ).detections;
  t.deepEqual([detection?.posh_pct, detection?.vil_kg_m2, detection?.echo_top_18_km], [40, null, null]);
});

test('without a POSH product the row says null and the confidence still counts on SHI', (t) => {
  const [computed] = detect(scan(draw('5'))).detections;
  const [none] = detect(scan(draw('5'), 0, { posh_pct: Float32Array.of(0) })).detections;
  t.is(computed?.posh_pct, null);
  t.true((computed?.confidence as number) > (none?.confidence as number));
});

test('a size above 150 mm is stored as 150; above 110 mm it is flagged', (t) => {
  const { detections } = detect(scan(drawTenths([[6805, 1101, 1100]])));
  t.deepEqual(
    detections.map(({ estimated_size_mm, flag_extreme }) => [estimated_size_mm, flag_extreme]),
    [
      [150, true],
      [110.1, true],
      [110, false],
    ],
  );
});

for (const [words, rows, small] of [
  ['three pixels below 15 mm', [[60, 149, 60]], true],
  ['three pixels with 15 mm', [[60, 150, 60]], false],
  ['four pixels', [[60, 149, 60, 60]], false],
  ['three pixels and weaker echo around them', [[49, 60, 149, 60, 49]], true],
] as const)
  test(`a component of ${words} is ${small ? '' : 'not '}small`, (t) => {
    const [detection] = detect(scan(drawTenths(rows))).detections;
    t.is(detection?.flag_small, small);
  });

test('a small echo has less confidence than a large one of the same size', (t) => {
  const [small] = detect(scan(drawTenths([[60, 140, 60]]))).detections;
  const [large] = detect(scan(drawTenths([[60, 140, 60, 60]]))).detections;
  t.true((small?.confidence as number) < (large?.confidence as number));
});

for (const [words, before, single] of [
  ['no echo before', [DRY, DRY], true],
  ['an echo 3 pixels away in the last scan', [DRY, draw('1 . . . . . . . .')], false],
  ['an echo 3 pixels away two scans ago', [draw('1 . . . . . . . .'), DRY], false],
  ['an echo 4 pixels away', [DRY, draw('. . . . . . . . 1')], true],
  ['an echo three scans ago', [draw('. . . 1'), DRY, DRY], true],
  ['an echo below 5 mm before', [DRY, drawTenths([[0, 0, 0, 49]])], true],
] as const)
  test(`an echo with ${words} is ${single ? '' : 'not '}flagged as seen in a single scan`, (t) => {
    const { detections } = inTurn([...before, draw('. . . 1 1 . . . .')]);
    t.deepEqual(
      detections.map(({ flag_single_scan }) => flag_single_scan),
      [single, single],
    );
  });

test('an echo 3 rows away in the last scan counts, one 4 rows away does not', (t) => {
  const now = draw(`
    .
    .
    .
    .
    1`);
  const flags = ([3, 4] as const).map((rows) => {
    const before = drawTenths(Array.from({ length: 5 }, (_, r) => [r === 4 - rows ? 100 : 0]));
    return inTurn([DRY, before, now]).detections[0]?.flag_single_scan;
  });
  t.deepEqual(flags, [false, true]);
});

test('an echo of 19 mm is believed in its first scan, with all its weaker pixels', (t) => {
  const { detections } = inTurn([DRY, DRY, drawTenths([[120, 190]])]);
  t.true(detections.every(({ flag_single_scan }) => !flag_single_scan));
});

test('without an earlier scan in the last ten minutes nothing is held against an echo', (t) => {
  t.false(inTurn([draw('1')]).detections[0]?.flag_single_scan);
  t.false(inTurn([DRY, DRY, draw('1')], 11).detections[0]?.flag_single_scan);
  t.true(inTurn([DRY, DRY, draw('1')], 10).detections[0]?.flag_single_scan);
});

test('scan_count counts the scans with a detection in the same geohash5, this one included', (t) => {
  // Pixels 0 and 1 share a geohash5, pixel 8 lies in the next one.
  const { detections } = inTurn([draw('1'), draw('. 1'), DRY, draw('1 . . . . . . . 1')]);
  t.deepEqual(
    detections.map(({ scan_count }) => scan_count),
    [3, 1],
  );
});

test('a scan with several detections in one geohash5 counts once', (t) => {
  t.is(inTurn([draw('1 1 1'), draw('1')]).detections[0]?.scan_count, 2);
});

test('scans of more than 30 minutes ago are forgotten', (t) => {
  t.is(inTurn([draw('1'), draw('1'), draw('1'), draw('1')], 10).detections[0]?.scan_count, 4);
  t.is(inTurn([draw('1'), draw('1'), draw('1'), draw('1')], 11).detections[0]?.scan_count, 3);
});

test('history stays bounded: two scans, and places of the last 30 minutes', (t) => {
  const fields = Array.from({ length: 40 }, (_, n) => drawTenths([[100 + n]], { col0: 3000 + 10 * n }));
  const { history } = inTurn(fields);
  t.is(history.scans.length, 2);
  // 30 minutes and both ends are 16 scans; two neighbouring ones may share a place.
  t.true(Object.keys(history.places).length <= 16);
});

test('history that went through a JSON checkpoint gives the same detections', (t) => {
  const fields = [draw('1 . . 2'), draw('. 1 . 2'), draw('. 1 . . . . 2')];
  const plain = inTurn(fields);
  let history: DetectionHistory = emptyDetectionHistory;
  let last = detect(scan(DRY));
  fields.forEach((field, n) => {
    last = detect(scan(field, 2 * n), JSON.parse(JSON.stringify(history)) as DetectionHistory);
    history = last.history;
  });
  t.deepEqual(last.detections, plain.detections);
  t.is(JSON.stringify(last.history), JSON.stringify(plain.history));
});

test('the history handed in is left as it was', (t) => {
  const first = detect(scan(draw('1'))).history;
  const before = JSON.stringify(first);
  detect(scan(draw('1 2'), 2), first);
  t.is(JSON.stringify(first), before);
});

test('a scan without hail has no detection and no history of places', (t) => {
  const { detections, cellConfidence, history } = detect(scan(draw('. x .')));
  t.deepEqual([detections, cellConfidence, history.places], [[], [], {}]);
});

sharedTest('the real scan of 28 Feb 2024 has 153 detections, two of them of 19 mm', (t) => {
  const path = sharedData('mrms', 'MRMS_MESH_00.50_20240228-025239.grib2');
  const { detections } = detect(scan(hailField(readGrid(readFileSync(path), path))));
  t.is(detections.length, 153);
  t.is(detections.filter(({ estimated_size_mm }) => estimated_size_mm >= 19).length, 2);
  const largest = detections.reduce((a, b) => (b.estimated_size_mm > a.estimated_size_mm ? b : a));
  t.like(largest, { row: 1343, col: 4230, lat: 41.565, lon: -87.695, estimated_size_mm: 20.8 });
  t.true(detections.every(({ confidence }) => confidence > 0 && confidence < 1));
});

test('a few extreme pixels where it was dry have less confidence than where an echo lasts, or a wide one', (t) => {
  const confidence = (...fields: readonly HailField[]) => inTurn(fields).detections[0]?.confidence ?? Number.NaN;
  const spike = draw('. . . . 9');
  const dry = confidence(DRY, DRY, spike);
  t.true(dry < 0.5, `${dry}`);
  t.true(confidence(DRY, draw('. . . . 1'), spike) > dry + 0.3);
  t.true(confidence(DRY, DRY, draw('. . 9 9 9 9 9')) > dry + 0.3);
  t.true(confidence(spike) > dry + 0.3, 'without an earlier scan nothing is held against an echo');
});
