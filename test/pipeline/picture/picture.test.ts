import test from 'ava';
import { type DayPicture, drawPicture, type ScanPicture } from '../../../pipeline/picture/picture.ts';
import { drawTiers } from '../../../pipeline/swath/tiers.ts';
import { sizeColor } from '../../../schemas/palette.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { cell, DAY, DAY_MS, dayMaxRow, trackPoint } from '../../support/data/rows.ts';

const COUNTS = new Map(SIZE_BANDS.map((band) => [band.threshold_mm as number, 1]));
const minute = (n: number) => DAY_MS + n * 60_000;
const TRACKS = [0, 1, 2].map((i) =>
  trackPoint({ scan_time: minute(2 * i), scan_count: i + 1, lon: -99.995 + 0.02 * i, estimated_size_mm: 30 + i }),
);
const BASICS = {
  data_time: minute(4),
  simulated: false,
  attribution: 'NOAA MRMS',
  tracks: TRACKS,
  bounds: [-130, 20, -60, 55] as const,
};
const DAY_DATA: DayPicture = {
  kind: 'day',
  storm_date: DAY,
  swaths: drawTiers(
    [20, 26, 40].map((max_mm, i) => dayMaxRow({ col: 3000 + i, max_mm })),
    DAY,
    COUNTS,
  ),
  ...BASICS,
};
const SCAN_DATA: ScanPicture = {
  kind: 'scan',
  scan_time: minute(4),
  detections: [12, 22, 32].map((estimated_size_mm, i) => ({ row: 1500, col: 3000 + i, estimated_size_mm })),
  cells: [cell({ estimated_size_mm: 32, scan_time: minute(4) })],
  ...BASICS,
};

/** Visible texts of a picture. */
function texts(svg: string): string[] {
  return Array.from(svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g), (match) => match[1] as string);
}

test('a day says its date, its largest hail, its source, and that it is an estimate', (t) => {
  const [title, summary, caution] = texts(drawPicture(DAY_DATA));
  t.is(title, 'Hail of 1 May 2026');
  t.is(summary, 'Largest 1.6 in (40 mm)  ·  3 km² with 0.75 in (19 mm) or more  ·  1 tracked storm');
  t.is(caution, 'Radar estimate, not a ground measurement  ·  data until 2026-05-01 00:04 UTC  ·  source: NOAA MRMS');
});

test('a scan says its time and shows detections from 10 mm on', (t) => {
  const svg = drawPicture(SCAN_DATA);
  t.is(texts(svg)[0], 'Hail at 00:04 UTC, 1 May 2026');
  for (const mm of [10, 19, 25])
    t.true(svg.includes(`fill="${sizeColor(mm).color}" stroke="${sizeColor(mm).color}"`), `${mm} mm`);
  t.false(svg.includes(`fill="${sizeColor(38).color}" stroke="${sizeColor(38).color}"`));
});

test('the legend has each size band in inches and millimetres', (t) => {
  const shown = texts(drawPicture(DAY_DATA));
  for (const { inches, threshold_mm, category } of SIZE_BANDS)
    for (const label of [`${inches.toFixed(2)} in`, `${threshold_mm} mm`, category.replace('_', ' ')])
      t.true(shown.includes(label), label);
});

test('the storms are labelled in inches and millimetres', (t) =>
  t.true(texts(drawPicture(DAY_DATA)).includes('1.3 in · 32 mm')));

test('simulated data say so in the header and across the map, real data nowhere', (t) => {
  const simulated = drawPicture({ ...DAY_DATA, simulated: true, attribution: 'simulated' });
  t.true(texts(simulated).includes('SIMULATED · NOT REAL WEATHER'));
  t.true(texts(simulated).includes('SIMULATED'));
  t.notRegex(drawPicture(DAY_DATA), /simulated/i);
});

test('a day without hail shows the whole grid and says that there was none', (t) => {
  const shown = texts(drawPicture({ ...DAY_DATA, swaths: [], tracks: [], data_time: null }));
  t.true(shown.includes('No hail of 19 mm or more'));
  t.true(shown.some((label) => label.includes('no scans')));
  t.true(shown.includes('TEXAS'));
});

test('a box is shown instead of fitting the map to the hail', (t) => {
  const shown = texts(drawPicture(DAY_DATA, [-109.5, 36.5, -101.5, 41.5]));
  t.true(shown.includes('COLORADO'));
  t.true(shown.some((label) => label.startsWith('Whole grid')));
  t.false(texts(drawPicture(DAY_DATA)).includes('COLORADO'));
});

test('the same rows give the same text', (t) => t.is(drawPicture(DAY_DATA), drawPicture(DAY_DATA)));

test('tags are closed and nothing is not a number', (t) => {
  for (const svg of [drawPicture(DAY_DATA), drawPicture(SCAN_DATA)]) {
    t.notRegex(svg, /NaN|undefined|Infinity|null/);
    const open = Array.from(svg.matchAll(/<([a-zA-Z]+)[^>]*[^/]>/g)).length;
    t.is(Array.from(svg.matchAll(/<\/[a-zA-Z]+>/g)).length, open);
  }
});
