import { readFileSync } from 'node:fs';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { assembleLines } from '../../../pipeline/read/outlook-lines.ts';
import { faultOfTimes, parseSections, readOutlookPoints } from '../../../pipeline/read/spc-outlook-points.ts';
import { productLines } from '../../../pipeline/read/text-product.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import type { FileOutlook } from '../../../schemas/tables/spc-outlooks.ts';
import { feedFigures, minuteOf } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

const NOW = Date.parse('2026-11-22T00:00:00Z');
const NAMES = [
  'PTSD48.txt',
  'PTSD48_day6.txt',
  'PTSDY1.txt',
  'PTSDY1_bigenh.txt',
  'PTSDY1_hole.txt',
  'PTSDY1_new.txt',
  'PTSDY1_nogeom.txt',
  'PTSDY2.txt',
  'PTSDY3.txt',
  'PTSDY3_CIG1.txt',
];
/** Its issue line says `SUN` where the time zone belongs. */
const WITHOUT_ZONE = 'PTSDY1_new.txt';

const bytesOf = (name: string) => readFileSync(sharedData('outlooks', 'points', name));

for (const name of NAMES)
  sharedTest(`${name} has the sections, labels, lines and positions read by others`, (t) => {
    const figures = feedFigures().outlooks.points[name]!;
    t.deepEqual(
      parseSections(productLines(bytesOf(name), name)).map(({ day, name: section, groups }) => ({
        day,
        section,
        groups: groups.map(({ label, lines, broken }) => ({
          label: broken.length === 0 ? label : broken,
          lines: lines.length,
          points: lines.map((line) => line.length),
          closed: lines.map((line) => String(line[0]) === String(line.at(-1))),
          first_lonlat: lines[0]![0],
        })),
      })),
      figures.sections.map((section) => ({ ...section })) as never,
    );
  });

for (const name of NAMES)
  sharedTest(`every area of ${name} is valid`, (t) => {
    for (const { day, name: section, groups } of parseSections(productLines(bytesOf(name), name))) {
      const areas = groups.map(({ label, lines }) => ({ label, ...assembleLines(lines) }));
      for (const { label, polygons, refused } of areas)
        t.deepEqual([refused, isValidMultiPolygon(polygons)], [[], null], `${day} ${section} ${label}`);
    }
  });

for (const name of NAMES.filter((other) => other !== WITHOUT_ZONE))
  sharedTest(`${name} gives one row a label, one for each empty layer, and the validity of its text`, (t) => {
    const figures = feedFigures().outlooks.points[name]!;
    const { rows, set_aside } = readOutlookPoints(bytesOf(name), name, NOW);
    t.deepEqual(set_aside, []);
    t.true(rows.every(({ is_complete, data_source }) => is_complete && data_source === 'observed'));
    const labels = figures.sections.flatMap(({ section, day, groups }) => [
      ...new Set(groups.map(({ label }) => `${day} ${section.toLowerCase().replace(' ', '_')} ${label}`)),
    ]);
    t.is(rows.filter(({ label }) => label !== null).length, labels.length);
    const dayTime = (time_ms: number) => minuteOf(time_ms).slice(8, 16).replaceAll(/[T:]/g, '');
    t.is(dayTime(Math.min(...rows.map(({ valid_time }) => valid_time))), figures.valid_ddhhmm[0]);
    t.is(dayTime(Math.max(...rows.map(({ expire_time }) => expire_time))), figures.valid_ddhhmm[1]);
  });

sharedTest('an issue line whose time zone is none refuses the outlook', (t) => {
  t.throws(() => readOutlookPoints(bytesOf(WITHOUT_ZONE), WITHOUT_ZONE, NOW), {
    instanceOf: BadInput,
    message: /time zone/,
  });
});

/** True when a place `lat lon` lies in the area of a label. */
function holds(rows: readonly FileOutlook[], hazard: string, label: string, place: string): boolean {
  const [lat, lon] = place.split(' ').map(Number);
  const row = rows.find((one) => one.hazard === hazard && one.label === label);
  const coordinates = multiPolygonFromWkt(row!.geometry!);
  return booleanPointInPolygon([lon!, lat!], { type: 'MultiPolygon', coordinates });
}

/** Cities that the maps of these outlooks show on this or that side of a line. */
const CITIES: readonly (readonly [name: string, hazard: string, label: string, inside: string, outside: string])[] = [
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Houston 29.76 -95.37', 'Wichita Falls inside the hole 34.30 -98.00'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Denver 39.74 -104.99', 'Minneapolis 44.98 -93.27'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Green Bay 44.20 -90.00', 'Chicago 41.88 -87.63'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Miami 25.76 -80.19', 'Jacksonville 30.60 -81.66'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Bangor 45.50 -69.00', 'Los Angeles 34.05 -118.24'],
  ['PTSDY1_hole.txt', 'categorical', 'TSTM', 'Wilmington 34.23 -77.94', 'Atlanta 33.75 -84.39'],
  ['PTSDY1_hole.txt', 'hail', '0.05', 'Midland 32.00 -102.08', 'Dallas 32.78 -96.80'],
  ['PTSDY1_bigenh.txt', 'categorical', 'ENH', 'Omaha 41.00 -96.50', 'Denver 39.74 -104.99'],
  ['PTSDY1_bigenh.txt', 'categorical', 'TSTM', 'Atlanta 33.75 -84.39', 'Seattle 47.61 -122.33'],
  ['PTSDY1_nogeom.txt', 'categorical', 'ENH', 'Chicago 41.88 -87.63', 'Atlanta 33.75 -84.39'],
  ['PTSDY1_nogeom.txt', 'categorical', 'SLGT', 'Buffalo 42.89 -78.88', 'Washington 37.50 -78.00'],
  ['PTSDY2.txt', 'categorical', 'SLGT', 'Abilene 32.45 -99.73', 'Houston 29.76 -95.37'],
  ['PTSDY2.txt', 'categorical', 'TSTM', 'Chicago 41.88 -87.63', 'Nashville 36.16 -86.78'],
  ['PTSDY3_CIG1.txt', 'categorical', 'MRGL', 'Wichita 37.69 -97.34', 'Houston 29.76 -95.37'],
  ['PTSDY3_CIG1.txt', 'any_severe', 'CIG1', 'Oklahoma City 35.47 -98.50', 'Houston 29.76 -95.37'],
];
for (const [name, hazard, label, inside, outside] of CITIES)
  sharedTest(`the ${hazard} ${label} of ${name} holds ${inside}, not ${outside}`, (t) => {
    const { rows } = readOutlookPoints(bytesOf(name), name, NOW);
    const place = (words: string) => words.split(' ').slice(-2).join(' ');
    t.true(holds(rows, hazard, label, place(inside)));
    t.false(holds(rows, hazard, label, place(outside)));
  });

/** An outlook with one hail and one categorical section. */
function outlook(hail: string, categorical = ''): Buffer {
  return Buffer.from(`063
WUUS01 KWNS 011237
PTSDY1

DAY 1 CONVECTIVE OUTLOOK AREAL OUTLINE
NWS STORM PREDICTION CENTER NORMAN OK
0736 AM CDT TUE JUN 01 2021

VALID TIME 011300Z - 021200Z

PROBABILISTIC OUTLOOK POINTS DAY 1

... HAIL ...

${hail}
&&

CATEGORICAL OUTLOOK POINTS DAY 1

... CATEGORICAL ...

${categorical}
&&
THERE IS A MRGL RISK OF SVR TSTMS TO THE RIGHT OF A LINE FROM 40 S
MRGL RISK.
`);
}

const SQUARE = '35009800 36009800 36009700 35009700 35009800';

test('groups of one label are one area, and labels become percent', (t) => {
  const { rows } = readOutlookPoints(outlook(`0.15   ${SQUARE}\n0.15   35009500 36009500 36009400 35009500`), 'x', NOW);
  t.deepEqual(
    rows.map(({ hazard, label, probability_pct, geometry }) => [hazard, label, probability_pct, geometry]),
    [
      [
        'hail',
        '0.15',
        15,
        'MULTIPOLYGON (((-98 35, -97 35, -97 36, -98 36, -98 35)), ((-95 35, -94 36, -95 36, -95 35)))',
      ],
      ['categorical', null, null, null],
    ],
  );
});

test('the date of a forecast is that of the 12 UTC at which its day starts, also after midnight', (t) => {
  const late = outlook('')
    .toString()
    .replace('0736 AM CDT TUE JUN 01', '0736 PM CDT TUE JUN 01')
    .replace('011300Z', '020100Z');
  t.deepEqual(
    readOutlookPoints(Buffer.from(late), 'x', NOW).rows.map(({ forecast_date }) => forecast_date),
    ['2021-06-01', '2021-06-01'],
  );
});

for (const [title, group, reason] of [
  ['of an unknown label', `0.5x   ${SQUARE}`, 'label is not known'],
  ['with a broken position', `0.05   ${SQUARE} 3500`, "position '3500', expected eight digits"],
  ['without positions', '0.05', 'no positions'],
  ['that crosses itself', '0.05   35009800 36009700 36009800 34509700 35009800', 'rings 0 and 0 cross or overlap'],
  ['whose line ends in the middle of the country', '0.05   40009800 41009500 45009000', 'line ends at -98 40'],
] as const)
  test(`a group ${title} is set aside, and the rest of its layer is not complete`, (t) => {
    const { rows, set_aside } = readOutlookPoints(outlook(`${group}\n0.15   ${SQUARE}`, `TSTM   ${SQUARE}`), 'x', NOW);
    t.true(set_aside[0]?.reason.startsWith(reason), set_aside[0]?.reason);
    t.deepEqual(
      rows.map(({ label, is_complete }) => [label, is_complete]),
      [
        ['0.15', false],
        ['TSTM', true],
      ],
    );
  });

for (const [title, stray] of [
  ['an unreadable position', '35009500 3500 36009500 36009400 35009400 35009500'],
  ['a position that makes it cross itself', '35009500 36009400 36009500 35009400 35009500'],
] as const)
  test(`${title} costs the polygon that it stands in, not the others of its label`, (t) => {
    const { rows, set_aside } = readOutlookPoints(outlook(`0.15   ${stray} 99999999 ${SQUARE}`), 'x', NOW);
    t.deepEqual(
      set_aside.map(({ item }) => item),
      ["day 1 hail '0.15'"],
    );
    t.deepEqual(
      rows.map(({ label, is_complete, geometry }) => [label, is_complete, geometry]),
      [
        ['0.15', false, 'MULTIPOLYGON (((-98 35, -97 35, -97 36, -98 36, -98 35)))'],
        [null, true, null],
      ],
    );
  });

/** Times of an outlook of a day, from hours before (or after, below zero) the 12 UTC at which the day starts. */
function faultAt(day: number, issued_h: number, begins_h = 0, ends_h = 24): string | null {
  const start_ms = Date.parse('2026-05-10T12:00:00Z');
  const HOUR_MS = 3_600_000;
  return faultOfTimes(day, start_ms - issued_h * HOUR_MS, start_ms + begins_h * HOUR_MS, start_ms + ends_h * HOUR_MS);
}

test('the issues of every day that the Storm Prediction Center makes are taken, with their updates', (t) => {
  for (const [issued_h, begins_h] of [
    [6.3, 0],
    [-0.8, 1],
    [-4.4, 4.5],
    [-7.9, 8],
    [-12.8, 13],
    [-20, 13],
  ] as const)
    t.is(faultAt(1, issued_h, begins_h), null, `${issued_h} h`);
  for (const [day, issued_h] of [
    [2, 30],
    [2, 18.5],
    [3, 52.5],
    [3, 40.5],
    [4, 75],
    [5, 99],
    [6, 123],
    [7, 147],
    [8, 171],
  ] as const)
    t.is(faultAt(day, issued_h), null, `day ${day}, ${issued_h} h`);
});

test('dates that no outlook of a day has are named', (t) => {
  t.regex(faultAt(1, 240) ?? '', /^issued .* which is not day 1 then$/);
  t.regex(faultAt(2, 240) ?? '', /not day 2 then/);
  t.regex(faultAt(8, 195) ?? '', /not day 8 then/);
  t.regex(faultAt(3, 6) ?? '', /not day 3 then/);
  t.regex(faultAt(1, 6, -24) ?? '', /expected at most a day/);
  t.regex(faultAt(2, 24, 0, 48) ?? '', /expected just a day/);
  t.regex(faultAt(4, 75, 0, 26) ?? '', /expected an end at 12 UTC/);
});

for (const [title, validity] of [
  ['ten days ahead', '111300Z - 121200Z'],
  ['48 hours long', '011300Z - 031200Z'],
] as const)
  test(`an outlook of day 1 that is valid ${title} is refused`, (t) => {
    const text = outlook(`0.15   ${SQUARE}`).toString().replace('011300Z - 021200Z', validity);
    t.throws(() => readOutlookPoints(Buffer.from(text), 'x', NOW), {
      instanceOf: BadInput,
      message: /valid from 2021-06/,
    });
  });

test('a section is known by its word, however many dots stand around it', (t) => {
  const text = outlook(`0.15   ${SQUARE}`).toString().replace('... HAIL ...', '..HAIL....');
  t.deepEqual(readOutlookPoints(Buffer.from(text), 'x', NOW), readOutlookPoints(outlook(`0.15   ${SQUARE}`), 'x', NOW));
});

test('a section that is not known is set aside', (t) => {
  const text = outlook('').toString().replace('... HAIL ...', '... LOCUSTS ...');
  const { rows, set_aside } = readOutlookPoints(Buffer.from(text), 'x', NOW);
  t.deepEqual([rows.length, set_aside[0]?.reason], [1, 'section is not known']);
});

test('an outlook of the simulator is simulated', (t) => {
  const { rows } = readOutlookPoints(Buffer.from(outlook('').toString().replace('KWNS', 'KSIM')), 'x', NOW);
  t.true(rows.every(({ data_source }) => data_source === 'simulated'));
});

for (const [title, from, to] of [
  ['without issue', 'TUE JUN 01 2021', ''],
  ['without validity', 'VALID TIME', 'VALID'],
  ['that ends before it begins', '021200Z', '011200Z'],
  ['without sections', 'OUTLOOK POINTS DAY 1', 'OUTLOOK POINTS'],
  ['from the future', '2021', '2031'],
] as const)
  test(`an outlook ${title} is refused`, (t) => {
    t.throws(() => readOutlookPoints(Buffer.from(outlook('').toString().replaceAll(from, to)), 'x', NOW), {
      instanceOf: BadInput,
    });
  });
