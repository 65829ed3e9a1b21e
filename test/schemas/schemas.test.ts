import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import fc from 'fast-check';
import { z } from 'zod';
import { explainError as explainOfTheService } from '../../api/commands/cli.ts';
import { usStates } from '../../api/rules/geo/us-states.ts';
import tables from '../../data/reference/spc-categories.json' with { type: 'json' };
import { explainError } from '../../pipeline/commands/arguments.ts';
import { columns, table } from '../../schemas/columns.ts';
import { systemFault } from '../../schemas/command-line.ts';
import {
  believedTime,
  type DeletionClock,
  dueForDeletion,
  lookAtClock,
  markForDeletion,
  shareOfSweep,
  vouchedTime,
} from '../../schemas/deletion-clock.ts';
import { destination } from '../../schemas/geo/distance.ts';
import { contains } from '../../schemas/layout.ts';
import { arrivals, fastestKmh } from '../../schemas/nowcast/arrivals.ts';
import { clumps } from '../../schemas/nowcast/clumps.ts';
import {
  fitFor,
  type HailSource,
  nowcast,
  rawNowcast,
  survival,
  untrackedSources,
  weighed,
} from '../../schemas/nowcast/probability.ts';
import { normalQuantile, radicalInverse } from '../../schemas/nowcast/quasi-random.ts';
import { BASEMAPS, MAP_REFLECTIVITY_COLORS, MAP_SIZE_COLORS, SIZE_COLORS, sizeColor } from '../../schemas/palette.ts';
import { freezingLevelKm, hailDayFreezingLevelKm } from '../../schemas/reference/freezing-level.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { OUTLOOK_DOMAIN } from '../../schemas/reference/outlook-domain.ts';
import {
  categoryName,
  categoryRank,
  HAIL_CONTOURS_PCT,
  hailIntensityLabels,
  SPC_CATEGORIES,
} from '../../schemas/reference/spc-categories.ts';
import { groundM } from '../../schemas/reference/terrain.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { ForecastHour, ForecastPeak, HailForecast, modelName, modelSource } from '../../schemas/resources/forecast.ts';
import { leadNote } from '../../schemas/resources/nowcast.ts';
import { HailOutlook, OutlookDay } from '../../schemas/resources/outlook.ts';
import { riskTier } from '../../schemas/risk.ts';
import { collectedReports, groundReports, spcOutlooks, warnings, watches } from '../../schemas/tables/feeds.ts';
import { DAY_TABLES, SCAN_TABLES, TABLES } from '../../schemas/tables/index.ts';
import {
  addDays,
  daysBetween,
  isCalendarDate,
  MS_PER_DAY,
  MS_PER_HOUR,
  monthOf,
  scanId,
  scanTime,
  stormDate,
  stormDateStart,
  timestamp,
} from '../../schemas/time.ts';
import { METRES_PER_FOOT, millimetres, text } from '../../schemas/units.ts';
import { PROJECT, readDocument } from '../support/data/markdown.ts';
import { isValidMultiPolygon } from '../support/data/rings.ts';
import { DAY_MS, pluck, trackPoint } from '../support/data/rows.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';

type ClockLook = Parameters<typeof lookAtClock>[1];

test('columns come in the order of the schema, with type, unit and whether they may be missing', (t) => {
  const row = z.object({ name: text('Who.'), size_mm: millimetres('How large.').nullable() });
  t.deepEqual(columns(table({ name: 'x', row, schema_version: 1, order: 'name' })), [
    { name: 'name', type: 'VARCHAR', nullable: false, description: 'Who.', unit: null },
    { name: 'size_mm', type: 'DOUBLE', nullable: true, description: 'How large.', unit: 'mm' },
  ]);
});

test('a field without a column type is refused by name', (t) => {
  const broken = table({ name: 'x', row: z.object({ size: z.number() }), schema_version: 1, order: 'size' });
  t.throws(() => columns(broken), { message: 'table x: field size has no column type' });
});

for (const definition of TABLES)
  test(`table ${definition.name} describes every column and sorts by columns it has`, (t) => {
    const fields = columns(definition);
    for (const field of fields) t.not(field.description, '', field.name);
    const names = fields.map((field) => field.name);
    for (const word of definition.order.match(/[a-z_]\w*/gi) ?? [])
      t.true(names.includes(word) || /^(desc|asc)$/i.test(word), word);
  });

/** Tables whose rows belong to a storm date: not static ones, nor what is forecast, warned of or watched. */
const DATED = new Set<string>(pluck([...SCAN_TABLES, ...DAY_TABLES, groundReports, collectedReports], 'name'));
for (const definition of TABLES)
  test(`table ${definition.name} carries ${DATED.has(definition.name) ? 'its' : 'no'} storm date`, (t) => {
    const dates = columns(definition).filter(({ name, type }) => name === 'storm_date' && type === 'DATE');
    t.is(dates.length, DATED.has(definition.name) ? 1 : 0);
  });

test('table names are unique', (t) => t.is(new Set(TABLES.map(({ name }) => name)).size, TABLES.length));

/** The error of a folder that we may not write: tests may run as a user who may write everywhere. */
const REFUSAL = { code: 'EACCES', syscall: 'mkdir', path: '/srv/hail' };
const denied = Object.assign(new Error("EACCES: permission denied, mkdir '/srv/hail'"), REFUSAL);

test('a refusal of the operating system is one sentence with its path in front', (t) => {
  t.is(systemFault(denied), '/srv/hail: permission denied (EACCES, mkdir)');
  const gone = t.throws(() => readFileSync('/nowhere/at/all'));
  t.is(systemFault(gone), '/nowhere/at/all: no such file or directory (ENOENT, open)');
});

test('a refusal without a path is told as it is, and other errors are none', (t) => {
  const words = 'listen EADDRINUSE: address already in use 127.0.0.1:8080';
  t.is(systemFault(Object.assign(new Error(words), { code: 'EADDRINUSE', syscall: 'listen' })), words);
  t.is(systemFault(new TypeError('x is not a function')), null);
  t.is(systemFault('text'), null);
});

test('both commands tell a refusal of the operating system without a stack', (t) => {
  for (const explain of [explainError, explainOfTheService])
    t.deepEqual(explain(denied), { code: 1, message: '/srv/hail: permission denied (EACCES, mkdir)' });
});

const START_MS = Date.parse('2026-11-22T12:00:00Z');
const WRONG_MS = Date.parse('2028-11-22T12:00:00Z');

/** A look with nothing but the two clocks. */
const look = (wall_ms: number, run_ms: number, more: Partial<ClockLook> = {}): ClockLook => {
  return { wall_ms, run_ms, newest_scan_ms: null, newest_own_ms: null, ...more };
};

/** Looks every hour for so long, with the clock at some distance from the time, and returns what was due in the end. */
function run(before: DeletionClock, from_ms: number, hours: number, more: Partial<ClockLook> = {}) {
  let [clock, until_ms] = [before, null as number | null];
  for (let hour = 1; hour <= hours; hour++) {
    const now = look(from_ms + hour * MS_PER_HOUR, MS_PER_HOUR, more);
    ({ clock, until_ms } = dueForDeletion(lookAtClock(clock, now), 'it'));
  }
  return { clock, until_ms };
}

test('what has run out is marked, and due a day later', (t) => {
  const first = dueForDeletion(lookAtClock(null, look(START_MS, 0)), 'it');
  t.is(first.until_ms, null);
  t.is(run(first.clock, START_MS, 23).until_ms, null);
  const { clock, until_ms } = run(first.clock, START_MS, 24);
  t.is(until_ms, START_MS);
  const next = markForDeletion(clock, 'it');
  t.is(dueForDeletion(next, 'it').until_ms, null);
  t.is(dueForDeletion(next, 'another').until_ms, null);
});

test('a machine that boots in the wrong year deletes nothing, however long it runs, and goes on once the clock is right', (t) => {
  const before = run(lookAtClock(null, look(START_MS, 0)), START_MS, 30).clock;
  // A new process: 10 s after its start by a clock that is two years ahead.
  const wrong = lookAtClock(before, look(WRONG_MS, 10_000));
  t.true(believedTime(wrong, WRONG_MS) < WRONG_MS);
  const { clock, until_ms } = run(wrong, WRONG_MS, 100 * 24);
  t.true((until_ms ?? 0) <= START_MS + 30 * MS_PER_HOUR, 'what was marked before, by the right clock');
  t.true(vouchedTime(clock) <= START_MS + 101 * MS_PER_DAY + 30 * MS_PER_HOUR);
  const right_ms = START_MS + 30 * MS_PER_HOUR + 100 * MS_PER_DAY;
  const right = lookAtClock(clock, look(right_ms, MS_PER_HOUR));
  t.is(believedTime(right, right_ms), right_ms);
  t.true(vouchedTime(run(right, right_ms, 2).clock) >= right_ms);
});

test('a first look by a clock that is far ahead of what was written before trusts what was written', (t) => {
  t.is(vouchedTime(lookAtClock(null, look(WRONG_MS, 0, { newest_own_ms: START_MS }))), START_MS);
  t.is(vouchedTime(lookAtClock(null, look(START_MS, 0, { newest_own_ms: START_MS - MS_PER_DAY }))), START_MS);
});

test('observed scans make a clock right at once, after however long a pause', (t) => {
  const before = lookAtClock(null, look(START_MS, 0));
  const later_ms = START_MS + 90 * MS_PER_DAY;
  t.true(believedTime(lookAtClock(before, look(later_ms, 0)), later_ms) < later_ms);
  t.is(vouchedTime(lookAtClock(before, look(later_ms, 0, { newest_scan_ms: later_ms - 5 * 60_000 }))), later_ms);
});

test('a mark that the clock has gone back behind is made anew, and its day begins again', (t) => {
  const ahead = dueForDeletion(lookAtClock(null, look(START_MS + 5 * MS_PER_DAY, 0)), 'it').clock;
  const { clock, until_ms } = run(ahead, START_MS, 23);
  t.is(until_ms, null);
  t.is(clock.marks.it?.until_ms, START_MS + MS_PER_HOUR);
  t.is(run(clock, START_MS + 23 * MS_PER_HOUR, 2).until_ms, START_MS + MS_PER_HOUR);
});

test('two steps of the clock within an hour make no day', (t) => {
  let due = dueForDeletion(lookAtClock(null, look(START_MS, 0)), 'it');
  for (const days of [6, 12])
    due = dueForDeletion(lookAtClock(due.clock, look(START_MS + days * MS_PER_DAY, 60_000)), 'it');
  t.is(due.until_ms, null);
});

test('several processes that look in turn count an hour as an hour', (t) => {
  let clock = lookAtClock(null, look(START_MS, 0));
  for (let half = 1; half <= 48; half++)
    clock = lookAtClock(clock, look(START_MS + (half * MS_PER_HOUR) / 2, MS_PER_HOUR));
  t.is(clock.passed_ms, MS_PER_DAY);
});

test('whatever the clock says, nothing goes more than a week before its time, nor before a day has passed', (t) => {
  const step = fc.record({ ran_h: fc.integer({ min: 0, max: 30 }), jump_h: fc.integer({ min: -20_000, max: 20_000 }) });
  const holds = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
    let [true_ms, offset_ms] = [START_MS, 0];
    let due = dueForDeletion(lookAtClock(null, look(START_MS, 0)), 'it');
    for (const { ran_h, jump_h } of steps) {
      true_ms += ran_h * MS_PER_HOUR;
      // Wrong by years: what is within a week may be a machine that was off.
      offset_ms = Math.abs(jump_h) > 400 ? jump_h * MS_PER_HOUR : offset_ms;
      due = dueForDeletion(lookAtClock(due.clock, look(true_ms + offset_ms, ran_h * MS_PER_HOUR)), 'it');
      if (due.until_ms !== null && (due.until_ms > true_ms + 7 * MS_PER_DAY || true_ms - START_MS < MS_PER_DAY))
        return false;
    }
    return true;
  });
  t.notThrows(() => fc.assert(holds));
});

test('a sweep takes a twentieth at most, and one at least', (t) =>
  t.deepEqual([0, 1, 20, 21, 1000].map(shareOfSweep), [1, 1, 1, 2, 50]));

for (const [name, schema] of Object.entries({ ForecastHour, ForecastPeak, OutlookDay }))
  test(`the example of ${name} is one`, (t) => t.notThrows(() => schema.parse(schema.meta()?.example)));

test('a simulated run never bears the name of the real model alone, a real one nothing else', (t) => {
  t.is(modelName('hrrr', true), 'simulated-hrrr');
  t.is(modelName('hrrr', false), 'hrrr');
  t.regex(modelSource('hrrr', true), /simulated/);
  t.notRegex(modelSource('hrrr', false), /simulated/);
});

test('a forecast outside the area of any model has no hours, no peak and no model', (t) => {
  const location = { lat: 10, lon: 10, geohash4: 's1z0' };
  const model = { name: null, run_time: null, source: null };
  t.notThrows(() => HailForecast.parse({ location, model, peak: null, hourly: [], count: 0 }));
});

test('an outlook that is not covered has no cell and no days', (t) => {
  const location = { lat: 10, lon: 10 };
  t.notThrows(() => HailOutlook.parse({ location, covered: false, cell: null, outlook: [], data_as_of: null }));
});

test('a day of the outlook has 24 hours or none', (t) => {
  const example = OutlookDay.meta()?.example as Record<string, unknown>;
  t.notThrows(() => OutlookDay.parse({ ...example, hourly: new Array(24).fill(0.4) }));
  t.throws(() => OutlookDay.parse({ ...example, hourly: new Array(23).fill(0.4) }));
});

for (const [folder, path, expected, why] of [
  ['/data/archive', '/data/archive', true, 'itself'],
  ['/data/archive', '/data/archive/observed/a.grib2', true, 'a file below it'],
  ['/data/archive', '/data/archive-old/a.grib2', false, 'a neighbour whose name begins alike'],
  ['/data/archive', '/data', false, 'the folder above'],
  ['/data/archive', '/data/a.grib2', false, 'a file beside it'],
  ['/data/archive', '/data/archive/../a.grib2', false, 'a way that leads out again'],
  ['/data/archive', '/data/archive/..a.grib2', true, 'a name that begins with two dots'],
  ['/', '/data', true, 'anything below the root of the disk'],
] as const)
  test(`${folder} ${expected ? 'contains' : 'does not contain'} ${path}: ${why}`, (t) =>
    t.is(contains(folder, path), expected));

/** Relative luminance of an sRGB colour, WCAG 2. */
function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

test('larger hail is darker, so that the order reads without colour vision', (t) => {
  const bands = SIZE_COLORS.filter(({ category }) => category !== null).map(({ color }) => luminance(color));
  for (let i = 1; i < bands.length; i++) t.true(bands[i] < 0.75 * bands[i - 1]);
});

/** Contrast of two colours, WCAG 2. */
function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)].sort((x, y) => y - x) as [number, number];
  return (a + 0.05) / (b + 0.05);
}

for (const scheme of ['light', 'dark'] as const) {
  test(`text reads on every colour of sizes: ${scheme}`, (t) => {
    for (const { color, ink } of MAP_SIZE_COLORS[scheme]) t.true(contrast(color, ink) >= 4, `${ink} on ${color}`);
  });

  test(`names on the map and words of the page read on land and paper: ${scheme}`, (t) => {
    const { land, paper, neighbour, ink, town, quiet, faint, warning } = BASEMAPS[scheme];
    for (const ground of [land, paper, neighbour]) {
      for (const text of [ink, town, quiet]) t.true(contrast(text, ground) >= 4.5, `${text} on ${ground}`);
      t.true(contrast(faint, ground) >= 3.8, `${faint} on ${ground}`);
    }
    t.true(contrast(warning, paper) >= 4.5);
  });

  test(`weak echoes are nearer to the land than hail and strong echoes are: ${scheme}`, (t) => {
    const { land } = BASEMAPS[scheme];
    const [weakest, ...more] = MAP_REFLECTIVITY_COLORS[scheme];
    for (const { color } of more) t.true(contrast(weakest?.color ?? '', land) <= contrast(color, land));
    const [small, , nickel] = MAP_SIZE_COLORS[scheme];
    t.true(contrast(small?.color ?? '', land) < contrast(nickel?.color ?? '', land));
  });
}

for (const [mm, step] of [
  [0, 5],
  [9.9, 5],
  [10, 10],
  [18.9, 10],
  [19, 19],
  [150, 101],
] as const)
  test(`${mm} mm has the colour of ${step} mm`, (t) => t.is(sizeColor(mm).mm_min, step));

test('the README of schemas names every file of it, and no other', (t) => {
  const files = readdirSync(join(PROJECT, 'schemas'), { recursive: true, encoding: 'utf8' });
  const named = [...readDocument('schemas/README.md').matchAll(/\]\(([^)#]+\.ts)\)/g)].map(([, path]) => path);
  t.deepEqual(named.toSorted(), files.filter((path) => path.endsWith('.ts')).toSorted());
});

const OUTSIDE = new Set(['AK', 'HI', 'AS', 'GU', 'MP', 'PR', 'UM', 'VI']);

test('the border of the outlook domain is one simple ring, clockwise', (t) =>
  t.is(isValidMultiPolygon([[OUTLOOK_DOMAIN.toReversed()]]), null));

test('the outlook domain holds every position of the outlines of the 48 states', (t) => {
  const domain = { type: 'Polygon' as const, coordinates: [OUTLOOK_DOMAIN] };
  const states = [...usStates().values()].filter(({ usps }) => !OUTSIDE.has(usps));
  const positions = states.flatMap(({ polygons }) => polygons.flat(2));
  t.true(positions.length > 5000);
  t.true(positions.every((position) => booleanPointInPolygon(position, domain)));
});

test('radars are sorted by id, each once', (t) => {
  const ids = WSR88D.map(({ id }) => id);
  t.deepEqual(ids, [...new Set(ids)].sort());
});

/** Field elevations of airports, m (Federal Aviation Administration). */
for (const [airport, lat, lon, field_m, within_m] of [
  ['Denver', 39.862, -104.673, 1656, 230],
  ['Grand Junction', 39.122, -108.527, 1481, 360],
  ['Las Vegas', 36.084, -115.154, 665, 230],
  ['Oklahoma City', 35.393, -97.601, 395, 56],
  ['Miami', 25.796, -80.29, 3, 56],
  ['Minneapolis', 44.882, -93.222, 256, 56],
] as const)
  test(`the coarse ground at the airport of ${airport} is ${field_m} m within ${within_m} m`, (t) => {
    const ground_m = groundM({ lat, lon }, null);
    t.true(Math.abs(ground_m - field_m) <= within_m, `${ground_m}`);
  });

test('the coarse ground is that of its cells, and sea level at sea and outside of the lattice', (t) => {
  // ETOPO at 20 arc-minutes has 354.75 m at this centre, and all neighbours are less than 100 m lower.
  t.is(Math.round(groundM({ lat: 35.5, lon: -97.5 }, null)), 355);
  for (const [lat, lon] of [
    [30, -125],
    [21.31, -157.86],
    [64.84, -147.72],
    [19.8, -100],
  ] as const)
    t.is(groundM({ lat, lon }, null), 0);
});

sharedTest('positions and antennas are those of the public site list', (t) => {
  type Site = { readonly [name in 'type' | 'id']: string } & { readonly [name in 'lat' | 'lon' | 'elevation']: number };
  const text = readFileSync(sharedData('sites', 'supercell-wx_radar_sites.json'), 'utf8');
  const sites = (JSON.parse(text) as Site[]).filter(({ type }) => type === 'wsr88d');
  t.is(WSR88D.length, sites.length);
  for (const { id, lat, lon, elevation } of sites) {
    const antenna_m = Math.round(elevation * METRES_PER_FOOT * 10) / 10;
    t.like(
      WSR88D.find((radar) => radar.id === id),
      { id, lat, lon, antenna_m },
    );
  }
});

for (const [lat, month, km] of [
  [25, 1, 4.1],
  [40, 6, 4.2],
  [49, 12, 0.7],
  [37.5, 6, 4.4],
  [47, 7, 3.85],
  [20, 1, 4.1],
  [55, 12, 0.7],
] as const)
  test(`the freezing level at ${lat} N in month ${month} is ${km} km`, (t) =>
    t.true(Math.abs(freezingLevelKm(lat, month) - km) < 1e-9));

test('a hail day is 0.4 km warmer from November to April and 0.2 km in the other months', (t) => {
  const warmth = (month: number) =>
    Math.round(10 * (hailDayFreezingLevelKm(40, month) - freezingLevelKm(40, month))) / 10;
  for (const month of [11, 12, 1, 2, 3, 4]) t.is(warmth(month), 0.4);
  for (const month of [5, 6, 7, 8, 9, 10]) t.is(warmth(month), 0.2);
});

test('a month that does not exist is refused', (t) =>
  t.throws(() => freezingLevelKm(40, 13), { message: 'month is 13, expected 1 to 12' }));

/** Last minute of the significant area, first minute of the intensity groups. */
const OLD = Date.parse('2026-03-03T16:29:00Z');
const NEW = Date.parse('2026-03-03T16:30:00Z');

/**
 * Category that a hail contour makes by itself on day 1, inside an area of intensity or outside of any (`null`), by the reference
 * table; null where the table has none or is not certain.
 */
function hailCategory(at_ms: number, probability_pct: number, intensity: string | null): string | null {
  const table = tables.hail.find(
    ({ from, until }) => (from === null || at_ms >= Date.parse(from)) && (until === null || at_ms < Date.parse(until)),
  );
  const rows: Readonly<Record<string, Readonly<Record<string, string | null>>>> =
    table?.category_by_probability_pct ?? {};
  return rows[intensity ?? 'none']?.[String(probability_pct)] ?? null;
}

test('categories rank from thunderstorms to high, and every one has a name', (t) => {
  t.deepEqual(SPC_CATEGORIES.map(categoryRank), [1, 2, 3, 4, 5, 6]);
  t.true(SPC_CATEGORIES.every((label) => categoryName(label) !== null));
  t.deepEqual([categoryName('SIGN'), categoryRank('SIGN')], [null, null]);
});

test('significant hail is the SIGN area until 3 March 2026, 16:30 UTC, and the intensity groups since', (t) => {
  t.deepEqual(hailIntensityLabels(OLD), ['SIGN']);
  t.deepEqual(hailIntensityLabels(NEW), ['CIG1', 'CIG2']);
});

for (const [when, at, intensity, expected] of [
  ['before', OLD, null, ['MRGL', 'SLGT', 'ENH', 'ENH', null]],
  ['before', OLD, 'SIGN', [null, null, null, 'MDT', 'MDT']],
  ['since', NEW, null, ['MRGL', 'SLGT', 'SLGT', 'ENH', 'ENH']],
  ['since', NEW, 'CIG1', ['MRGL', 'SLGT', 'ENH', 'ENH', 'MDT']],
  ['since', NEW, 'CIG2', ['SLGT', 'ENH', 'ENH', 'MDT', 'MDT']],
] as const)
  test(`hail contours ${when} March 2026 in ${intensity ?? 'no area'} make ${expected.join(', ')}`, (t) => {
    const found = HAIL_CONTOURS_PCT.map((contour) => hailCategory(at, contour, intensity));
    t.deepEqual(found, [...expected]);
  });

test('a higher intensity never lowers a category', (t) => {
  for (const contour of HAIL_CONTOURS_PCT) {
    const ranks = [null, 'CIG1', 'CIG2'].map((label) => categoryRank(hailCategory(NEW, contour, label) ?? '') ?? 0);
    t.true(ranks[0] <= ranks[1] && ranks[1] <= ranks[2], `${contour} %`);
  }
});

test('the note of a lead says of each evening how much better than the best simple forecast it was, and how often hail came', (t) => {
  const evening = { rival: 'flow', low: 0.07, high: 0.14, intercept: 0.19 };
  const note = leadNote([
    { ...evening, evening: 'Texas 2019' },
    { ...evening, evening: 'Switzerland 2015', low: -0.06, intercept: -0.65 },
  ]);
  t.regex(note, /^Not proven: that takes five evenings of radar hail sizes \(MESH\) in two climates/);
  t.true(
    note.endsWith(
      ' Texas 2019: skill over the best simple forecast (flow) 0.07 to 0.14; hail came more often than forecast (intercept 0.19).' +
        ' Switzerland 2015: skill over the best simple forecast (flow) -0.06 to 0.14, which may be none; hail came less often than forecast (intercept -0.65).',
    ),
    note,
  );
  t.regex(leadNote([], ' Beyond.'), / Beyond\.$/);
});

test('leads come apart where the arrival of a storm lies between them', (t) => {
  const point = { lat: 35.5, lon: -97.5 };
  const [at, fit] = [destination(point, 270, 18), NOWCAST_MODEL.observed];
  const seen = { scan_time: 0, ...at, speed_kmh: 55, direction_deg: 90, scan_count: 12 };
  const hail = [-2, 0, 2].flatMap((km) => [0, 1, 2].map((east_km) => destination(destination(at, 0, km), 90, east_km)));
  const { t15, t30, t45 } = nowcast(point, [{ seen, hail }], 0, fit);
  t.true(t30 > 2 * t15, `${t15} ${t30}`);
  t.true(t45 >= t30);
});

for (const [score, tier] of [
  [0, 'very_low'],
  [9, 'very_low'],
  [10, 'low'],
  [29, 'low'],
  [30, 'moderate'],
  [54, 'moderate'],
  [55, 'high'],
  [79, 'high'],
  [80, 'very_high'],
  [100, 'very_high'],
] as const)
  test(`a score of ${score} is a ${tier} risk`, (t) => t.is(riskTier(score), tier));

test('what is no score has no tier', (t) => {
  for (const score of [-1, Number.NaN]) t.throws(() => riskTier(score), { message: /expected 0 to 100/ });
});

for (const table of [groundReports, warnings, watches, spcOutlooks])
  test(`every row of ${table.name} has its provenance`, (t) => {
    const provenance = columns(table).find(({ name }) => name === 'data_source');
    t.like(provenance, { type: 'VARCHAR', nullable: false });
  });

const at = (text: string) => Date.parse(text);

for (const [instant, startHour, date] of [
  ['2026-05-01T00:00:00Z', 0, '2026-05-01'],
  ['2026-05-01T23:59:59Z', 0, '2026-05-01'],
  ['2026-05-01T11:59:59Z', 12, '2026-04-30'],
  ['2026-05-01T12:00:00Z', 12, '2026-05-01'],
  ['2024-03-01T05:00:00Z', 6, '2024-02-29'],
  ['2026-01-01T00:00:00Z', 1, '2025-12-31'],
] as const)
  test(`${instant} belongs to the storm date ${date} when days start at ${startHour} UTC`, (t) =>
    t.is(stormDate(at(instant), startHour), date));

test('a storm date starts at its hour, and its first instant belongs to it', (t) => {
  for (const hour of [0, 6, 12, 23]) {
    const start = stormDateStart('2026-05-01', hour);
    t.is(stormDate(start, hour), '2026-05-01');
    t.is(stormDate(start - 1, hour), '2026-04-30');
  }
});

test('a scan id is its time to the second, there and back', (t) => {
  t.is(scanId(at('2026-05-01T20:12:34.567Z')), '20260501T201234Z');
  t.is(scanTime('20260501T201234Z'), at('2026-05-01T20:12:34Z'));
});

for (const id of ['20260230T000000Z', '20260501T240000Z', '20260501T201234', '2026-05-01T20:12:34Z', ''])
  test(`'${id}' is no scan id`, (t) => t.throws(() => scanTime(id), { instanceOf: RangeError }));

test('timestamps have whole seconds and end in Z', (t) =>
  t.is(timestamp(at('2026-05-01T20:12:34.999Z')), '2026-05-01T20:12:34Z'));

test('days are added across months, years and leap days', (t) => {
  t.is(addDays('2026-04-30', 1), '2026-05-01');
  t.is(addDays('2024-02-28', 1), '2024-02-29');
  t.is(addDays('2026-01-01', -1), '2025-12-31');
  t.is(monthOf('2025-12-31'), '2025-12');
});

for (const [text, exists] of [
  ['2024-02-29', true],
  ['2026-02-29', false],
  ['2026-13-01', false],
  ['2026-5-1', false],
  ['tomorrow', false],
] as const)
  test(`${text} ${exists ? 'is a' : 'is no'} date of the calendar`, (t) => t.is(isCalendarDate(text), exists));

test('days between two dates count both, over months, leap days and to the last date there is', (t) => {
  for (const [first, last, days] of [
    ['2026-05-01', '2026-05-01', 1],
    ['2024-02-28', '2024-03-01', 3],
    ['2026-01-31', '2026-04-30', 90],
    ['9999-12-30', '9999-12-31', 2],
    ['2026-05-02', '2026-05-01', 0],
  ] as const)
    t.is(daysBetween(first, last), days);
});

const AT = { lat: 39.995, lon: -99.995 };
function storm(fields: Parameters<typeof trackPoint>[0] = {}): HailSource {
  const seen = trackPoint({ ...AT, scan_count: 8, duration_min: 20, ...fields });
  return { seen, hail: [seen] };
}

test('without storms nothing strikes', (t) => t.deepEqual(rawNowcast(AT, [], DAY_MS), { t15: 0, t30: 0, t45: 0 }));

test('under hail the raw probability is what survived since its scan, for every lead', (t) => {
  const { t15, t30, t45 } = rawNowcast(AT, [storm({ speed_kmh: 0 })], DAY_MS);
  for (const value of [t15, t30, t45]) t.true(Math.abs(value - 1) < 1e-12);
  const late = { seen: storm().seen, hail: [destination(AT, 270, 5)] };
  t.true(rawNowcast(AT, [late], DAY_MS + 5 * 60_000).t15 < survival(5) + 1e-12);
});

test('two storms strike unless both spare the point', (t) => {
  const ahead = destination(AT, 90, 10);
  const { t15: one } = rawNowcast(ahead, [storm()], DAY_MS);
  const { t15: both } = rawNowcast(ahead, [storm(), storm()], DAY_MS);
  t.true(one > 0.02 && one < 0.98);
  t.true(Math.abs(both - (1 - (1 - one) ** 2)) < 1e-12);
});

test('a longer lead never strikes less, at any place around a storm', (t) => {
  for (let bearing = 0; bearing < 360; bearing += 45)
    for (const km of [2, 10, 25, 45]) {
      const { t15, t30, t45 } = nowcast(destination(AT, bearing, km), [storm()], DAY_MS, NOWCAST_MODEL.observed);
      t.true(t15 <= t30 && t30 <= t45);
    }
});

test('ahead of the storm strikes more than beside it, and behind it least', (t) => {
  const at = (bearing: number) => rawNowcast(destination(AT, bearing, 12), [storm({ direction_deg: 90 })], DAY_MS).t30;
  t.true(at(90) > at(45) && at(45) > at(270));
});

test('a storm seen five minutes ago is where its motion took it since', (t) => {
  const ahead = destination(AT, 90, 5); // 60 km/h for five minutes
  const late = DAY_MS + 5 * 60_000;
  t.true(rawNowcast(ahead, [storm()], late).t15 > 1.3 * rawNowcast(AT, [storm()], late).t15);
});

test('a young track spreads more: less ahead, more beside', (t) => {
  const young = storm({ scan_count: 3 });
  const ahead = destination(AT, 90, 10);
  const beside = destination(AT, 10, 8);
  t.true(rawNowcast(ahead, [young], DAY_MS).t30 < rawNowcast(ahead, [storm()], DAY_MS).t30);
  t.true(rawNowcast(beside, [young], DAY_MS).t30 > rawNowcast(beside, [storm()], DAY_MS).t30);
});

test('a storm of unknown motion may go anywhere', (t) => {
  const unknown = storm({ speed_kmh: null, direction_deg: null });
  const strikes = [0, 90, 180, 270].map((bearing) => rawNowcast(destination(AT, bearing, 8), [unknown], DAY_MS).t30);
  t.true(Math.min(...strikes) > 0.4 * Math.max(...strikes) && Math.min(...strikes) > 0);
});

test('raw probabilities of 0 and 1 have logits that end', (t) => {
  const lead = { base: 0, raw: 1 };
  const { t15, t30, t45 } = weighed({ t15: 0, t30: 0.5, t45: 1 }, { t15: lead, t30: lead, t45: lead });
  t.true(Math.abs(t15 - 0.001) < 1e-12 && t30 === 0.5 && Math.abs(t45 - 0.999) < 1e-12);
});

test('a weighed probability is the logistic of the logit of the raw one, and never below that of a shorter lead', (t) => {
  const leads = { t15: { base: 1, raw: 2 }, t30: { base: -1, raw: 1 }, t45: { base: 2, raw: 0 } };
  const { t15, t30, t45 } = weighed({ t15: 0.5, t30: 0.5, t45: 0.1 }, leads);
  t.is(t15, 1 / (1 + Math.exp(-1)));
  t.is(t30, t15);
  t.is(t45, 1 / (1 + Math.exp(-2)));
});

test('hail without a track is as many sources as it has clumps, each moving as the nearest storm that has a motion', (t) => {
  const far = storm({ ...destination(AT, 90, 90), speed_kmh: 30, direction_deg: 10 });
  const near = storm({ ...destination(AT, 0, 30), speed_kmh: 50, direction_deg: 70 });
  const still = storm({ ...destination(AT, 0, 10), speed_kmh: null, direction_deg: null });
  const pixels = [AT, destination(AT, 90, 1), destination(AT, 90, 40)];
  const [first, second, ...rest] = untrackedSources(pixels, DAY_MS, [far, near, still]);
  t.deepEqual([first?.hail, second?.hail, rest], [pixels.slice(0, 2), pixels.slice(2), []]);
  t.like(first?.seen, { scan_time: DAY_MS, speed_kmh: 50, direction_deg: 70, scan_count: 1 });
});

test('hail without a track and without a storm near has no motion, and strikes where it is', (t) => {
  const far = storm({ ...destination(AT, 90, 101) });
  const sources = untrackedSources([AT], DAY_MS, [far]);
  t.like(sources[0]?.seen, { speed_kmh: null, direction_deg: null });
  t.is(rawNowcast(AT, sources, DAY_MS).t15, 1);
  t.deepEqual(untrackedSources([], DAY_MS, [far]), []);
});

test('pixels that touch are one clump, whatever their order, and those 10 km off another', (t) => {
  const line = Array.from({ length: 12 }, (_, k) => destination(AT, 90, 2 * k));
  const apart = destination(AT, 0, 10);
  t.deepEqual(pluck(clumps([...line, apart]), 'length').sort(), [1, 12]);
  t.deepEqual(pluck(clumps([apart, ...line.toReversed()]), 'length'), [1, 12]);
});

test('what was fitted on simulations holds for nothing but simulated data', (t) => {
  t.is(fitFor('simulated'), NOWCAST_MODEL.simulated);
  for (const source of ['observed', 'mixed', null] as const) t.is(fitFor(source), NOWCAST_MODEL.observed);
});

test('under hail that is there now a strike is likelier than beside it, and far away it is rare, by either fit', (t) => {
  const under = { seen: storm().seen, hail: [AT, destination(AT, 90, 1), destination(AT, 180, 1)] };
  for (const fit of [NOWCAST_MODEL.observed, NOWCAST_MODEL.simulated]) {
    const at = (km: number) => nowcast(destination(AT, 0, km), [under], DAY_MS, fit).t15;
    t.true(at(0) > 0.5 && at(0) > at(2) && at(2) > at(12));
    t.true(at(45) < 0.03);
  }
});

const SPREAD = { speed_error_kmh: 12, direction_error_deg: 26 };
const CERTAIN = { speed_kmh: 60, direction_deg: 90, speed_error_kmh: 0, direction_error_deg: 0 };

/** Minutes until each future of hail at a distance and bearing comes within 1 km. */
function comes(km: number, bearing: number, motion: Parameters<typeof arrivals>[2], from_min = 0, lead_min = 45) {
  const hail = [destination(AT, bearing, km)];
  return arrivals(AT, hail, motion, { within_km: 1, from_min, to_min: from_min + lead_min });
}

test('arrival times follow from distance and speed when nothing is uncertain', (t) => {
  for (const after of comes(20, 270, CERTAIN)) t.true(Math.abs(after - 19) < 0.05);
  for (const after of comes(20, 270, CERTAIN, 5)) t.true(Math.abs(after - 14) < 0.05);
});

test('hail within 1 km is there at once in every future, hail that moves away never comes', (t) => {
  t.true(comes(0.9, 45, { speed_kmh: 50, direction_deg: 45, ...SPREAD }).every((after) => after === 0));
  const eastward = { speed_kmh: 60, direction_deg: 90, speed_error_kmh: 5, direction_error_deg: 5 };
  t.true(comes(20, 90, eastward).every(Number.isNaN));
});

test('the first of several pixels to come counts', (t) => {
  const hail = [destination(AT, 270, 30), destination(AT, 270, 11), destination(AT, 200, 5)];
  const times = arrivals(AT, hail, CERTAIN, { within_km: 1, from_min: 0, to_min: 45 });
  t.true(times.every((after) => Math.abs(after - 10) < 0.05));
});

test('128 futures hit as often as many random ones', (t) => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  for (const [km, bearing] of [
    [5, 270],
    [10, 260],
    [15, 280],
  ] as const) {
    const place = { x: km * Math.sin((bearing * Math.PI) / 180), y: km * Math.cos((bearing * Math.PI) / 180) };
    let hits = 0;
    for (let n = 0; n < 20_000; n++) {
      const km_min = (50 + 12 * normalQuantile(random())) / 60;
      const towards = ((90 + 26 * normalQuantile(random())) * Math.PI) / 180;
      const [vx, vy] = [km_min * Math.sin(towards), km_min * Math.cos(towards)];
      const at_min = Math.min(30, Math.max(0, -(place.x * vx + place.y * vy) / (km_min * km_min)));
      if (Math.hypot(place.x + vx * at_min, place.y + vy * at_min) <= 1) hits += 1;
    }
    const times = comes(km, bearing, { speed_kmh: 50, direction_deg: 90, ...SPREAD }, 0, 30);
    const share = times.filter((after) => !Number.isNaN(after)).length / times.length;
    t.true(Math.abs(share - hits / 20_000) < 0.03, `${km} km: ${share} and ${hits / 20_000}`);
  }
});

test('hail out of reach of the fastest future comes in none', (t) => {
  const motion = { speed_kmh: 50, direction_deg: 90, speed_error_kmh: 12, direction_error_deg: 0 };
  const reach = 1 + (fastestKmh(motion) * 45) / 60;
  t.true(comes(1.001 * reach, 270, motion).every(Number.isNaN));
  t.false(comes(0.8 * reach, 270, motion).every(Number.isNaN));
});

test('the normal quantile meets its table', (t) => {
  for (const [probability, value] of [
    [0.5, 0],
    [0.975, 1.959963984540054],
    [0.99, 2.3263478740408408],
    [0.001, -3.090232306167813],
  ] as const)
    t.true(Math.abs(normalQuantile(probability) - value) < 1e-8);
});

test('the Halton sequence begins as published', (t) => {
  for (const [k, value] of [0.5, 0.25, 0.75, 0.125, 0.625, 0.375].entries()) t.is(radicalInverse(k + 1, 2), value);
  for (const [k, ninths] of [3, 6, 1].entries()) t.true(Math.abs(radicalInverse(k + 1, 3) - ninths / 9) < 1e-12);
});
