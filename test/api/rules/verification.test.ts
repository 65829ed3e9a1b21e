import test from 'ava';
import fc from 'fast-check';
import {
  bandAt,
  eventOf,
  methodologyOf,
  needsTimes,
  type PixelDay,
  signsAround,
  verificationHash,
} from '../../../api/rules/verification.ts';
import { destination } from '../../../schemas/geo/distance.ts';
import { colLon, latRow, lonCol, rowLat } from '../../../schemas/geo/lattice.ts';
import { METHODOLOGY_VERSION, VERDICTS, type VerificationEvent } from '../../../schemas/resources/verification.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { METRES_PER_MILE } from '../../../schemas/units.ts';
import { pluck } from '../../support/data/rows.ts';

type ReportSeen = Parameters<typeof signsAround>[2][number];

const DAY = '2026-05-01';
const NOON = Date.parse(`${DAY}T12:00:00Z`);
/** The centre of a pixel. */
const POINT = { lat: rowLat(1979), lon: colLon(3256) };
const [ROW, COL] = [latRow(POINT.lat), lonCol(POINT.lon)];
/** Rows to the north of the point in each band: a row is 0.69 miles, measured to its edge. */
const NORTH = { '0-1mi': 0, '1-3mi': 3, '3-5mi': 6 } as const;
type Band = keyof typeof NORTH;

function pixel(max_mm: number, { band = '0-1mi', scans, at = NOON, until = at, ...more }: PixelMade = {}): PixelDay {
  const detection_scans = scans ?? (max_mm >= 10 ? 1 : 0);
  const [first_detected, last_detected] = detection_scans > 0 ? [at, until] : [null, null];
  const place = { storm_date: DAY, row: ROW - NORTH[band], col: COL };
  return { ...place, max_mm, max_time: at, first_detected, last_detected, detection_scans, ...more };
}
interface PixelMade extends Partial<PixelDay> {
  readonly band?: Band;
  readonly scans?: number;
  readonly at?: number;
  readonly until?: number;
}

function report(size_mm: number, { km = 1, bearing = 90, ...more }: ReportMade = {}): ReportSeen {
  const made = { storm_date: DAY, report_id: 'a', source: 'lsr' as const, time: NOON, size_mm };
  return { ...made, ...destination(POINT, bearing, km), ...more };
}
interface ReportMade extends Partial<ReportSeen> {
  readonly km?: number;
  readonly bearing?: number;
}

const CALM = { hdqi: 0.8, has_radar: true, gaps: null, times: null };
function events(pixels: readonly PixelDay[], reports: readonly ReportSeen[] = [], more = {}): VerificationEvent[] {
  return signsAround(POINT, pixels, reports).map((signs) => eventOf(signs, { ...CALM, ...more }));
}
function only(pixels: readonly PixelDay[], reports: readonly ReportSeen[] = [], more = {}): VerificationEvent {
  const [event, ...others] = events(pixels, reports, more);
  if (event === undefined || others.length > 0) throw new Error(`${others.length + 1} events, expected one`);
  return event;
}

for (const [what, verdict, pixels, reports] of [
  ['a small detection with a report', 'hit', [pixel(10)], [report(13)]],
  ['a detection 4 miles away with a report', 'hit', [pixel(12, { band: '3-5mi' })], [report(25)]],
  ['38 mm in 18 scans at the point', 'hit', [pixel(38, { scans: 18 })], []],
  ['50 mm in 3 scans at the point', 'hit', [pixel(50, { scans: 3 })], []],
  ['50 mm in 2 scans at the point', 'marginal', [pixel(50, { scans: 2 })], []],
  ['38 mm in 10 scans, whose confidence is below .70', 'marginal', [pixel(38, { scans: 10 })], []],
  ['37.9 mm in 500 scans', 'marginal', [pixel(37.9, { scans: 500 })], []],
  ['100 mm in 500 scans beyond a mile', 'marginal', [pixel(100, { scans: 500, band: '1-3mi' })], []],
  ['a small detection alone', 'marginal', [pixel(10)], []],
  ['a detection with a report below 13 mm', 'marginal', [pixel(15)], [report(12.9)]],
  ['a report without radar', 'marginal', [], [report(6)]],
  ['a report with an echo below 10 mm', 'marginal', [pixel(9.9)], [report(25)]],
  ['an echo of 9.9 mm', 'miss', [pixel(9.9)], []],
  ['an echo of 5 mm', 'miss', [pixel(5, { band: '3-5mi' })], []],
] as const)
  test(`${what}: ${verdict}`, (t) => {
    t.is(only(pixels, reports).verdict, verdict);
  });

test('an echo below 5 mm, hail beyond 5 miles and a report there are no signal', (t) => {
  const far = pixel(60, { row: ROW - 9, scans: 20 });
  t.deepEqual(events([pixel(4.9), far], [report(50, { km: 8.0468 })]), []);
  t.is(events([], [report(50, { km: 8.0466 })]).length, 1);
});

for (const [minutes, km, corroborated] of [
  [60, 1, true],
  [-60, 1, true],
  [61, 1, false],
  [-61, 1, false],
  [0, 7.999, true],
  [0, 8.001, false],
] as const)
  test(`a report ${minutes} minutes and ${km} km from the detection ${corroborated ? 'corroborates' : 'does not'}`, (t) => {
    // The detection lies a little south of the point, the report north of it: both within 5 miles, the two farther apart.
    const south = pixel(20, { row: ROW + 2 });
    const edge = { lat: rowLat(ROW + 2) + 0.005, lon: POINT.lon };
    const seen = { ...report(25, { time: NOON + minutes * 60_000 }), ...destination(edge, 0, km) };
    t.is(only([south], [seen]).ground_truth.corroborated, corroborated);
  });

test('time and place must be those of one detection', (t) => {
  const early = pixel(20, { row: ROW + 5, at: NOON - 5 * MS_PER_HOUR });
  const far = pixel(20, { row: ROW + 6 });
  const north = report(25, { bearing: 0, km: 4 });
  t.false(only([early, far], [north]).ground_truth.corroborated, 'one near and early, one in time and far');
  t.true(only([pixel(20)], [north]).ground_truth.corroborated);
});

test('between the first and the last detection of a pixel only its scans tell whether a report corroborates', (t) => {
  const long = pixel(20, { scans: 5, at: NOON - 3 * MS_PER_HOUR, until: NOON + 3 * MS_PER_HOUR });
  const [signs] = signsAround(POINT, [long], [report(25)]);
  if (signs === undefined) throw new Error('no signs');
  t.true(needsTimes(signs));
  const with_ = (...seen: number[]) => eventOf(signs, { ...CALM, times: new Map([[ROW * 7000 + COL, seen]]) });
  t.true(with_(NOON - MS_PER_HOUR).ground_truth.corroborated);
  t.false(with_(NOON - MS_PER_HOUR - 1, NOON + MS_PER_HOUR + 1).ground_truth.corroborated);
  const [clear] = signsAround(POINT, [pixel(20)], [report(25)]);
  t.false(clear !== undefined && needsTimes(clear), 'the day maxima are enough');
});

test('a bound belongs to the nearer band, exactly', (t) => {
  const above = (metres: number) => metres * (1 + Number.EPSILON);
  const bounds = [1, 3, 5].map((miles) => miles * METRES_PER_MILE);
  t.deepEqual(bounds.map(bandAt), [0, 1, 2]);
  t.deepEqual(bounds.map(above).map(bandAt), [1, 2, null]);
  t.is(bandAt(0), 0);
});

test('the band is the nearest with 19 mm or more, else the nearest with a signal', (t) => {
  const near = pixel(18.9);
  t.is(only([near, pixel(19, { band: '3-5mi' })]).band, '3-5mi');
  t.is(only([near, pixel(18, { band: '1-3mi' })]).band, '0-1mi');
  t.is(only([pixel(30, { band: '1-3mi' }), pixel(60, { band: '3-5mi' })]).band, '1-3mi');
  t.is(only([pixel(12, { band: '3-5mi' })], [report(8, { km: 3 })]).band, '1-3mi', 'a report is a signal');
});

test('size and confidence weigh each band, count the detections of the best one and follow the published formula', (t) => {
  const { ml_confidence, max_size_mm, n_detections } = only([
    pixel(25, { scans: 5 }),
    pixel(50, { scans: 7, band: '3-5mi' }),
  ]);
  const sum = -1.2 + 1.6 * Math.log((50 * 0.7) / 19) + 0.25 * Math.log(6) + 0.8 * 0.3;
  t.is(ml_confidence, Math.round(1000 / (1 + Math.exp(-sum))) / 1000);
  t.deepEqual([max_size_mm, n_detections], [50, 12]);
});

test('a report that radar does not confirm has no size and no detection, and raises the confidence by its distance', (t) => {
  t.like(only([], [report(44.45)]), {
    max_size_mm: null,
    // Odds of .02 are 1 to 49: times e^3, and e^.24 less at an hdqi of .8, 16.1 to 49.
    ml_confidence: 0.244,
    n_detections: 0,
    first_detected: null,
    last_detected: null,
    band: '0-1mi',
  });
});

test('farther away, and where radar sees well, a report raises the confidence by less; it stays below .5', (t) => {
  const at = (km: number, hdqi = 0.8) => only([], [report(44.45, { km })], { hdqi }).ml_confidence;
  t.deepEqual([at(1), at(3), at(7)], [0.244, 0.171, 0.116]);
  t.deepEqual([at(1, 0), at(1, 1)], [0.379, 0.216]);
});

test('neither a report nor a radar signal ever lowers the confidence', (t) => {
  const sizes = fc.double({ min: 5, max: 60, noNaN: true });
  const property = fc.property(
    sizes,
    fc.integer({ min: 1, max: 40 }),
    fc.double({ min: 0.1, max: 7, noNaN: true }),
    (mm, scans, km) => {
      const [seen, reports] = [[pixel(mm, { scans })], [report(25, { km })]];
      const both = only(seen, reports).ml_confidence ?? 0;
      return both >= (only(seen).ml_confidence ?? 1) && both >= (only([], reports).ml_confidence ?? 1);
    },
  );
  t.notThrows(() => fc.assert(property));
});

test('without radar data at the point a report has no confidence, and the note says why', (t) => {
  const reports = [report(25.4, { km: 0.708 })];
  const nothing = { verdict: 'marginal', ml_confidence: null } as const;
  t.like(only([], reports, { has_radar: false }), {
    ...nothing,
    note: 'No radar data are published for the date: reports alone speak of it, without a confidence.',
  });
  t.like(only([], reports, { gaps: { scans: 24, uncovered: 24 } }), {
    ...nothing,
    note: 'No radar covered the point on the date: reports alone speak of it, without a confidence.',
  });
  t.is(only([], reports).note, null);
});

test('the five nearest reports are told, by distance, then id', (t) => {
  const far = [1, 2, 3, 4].map((km) => report(20, { km, report_id: `far ${km}` }));
  const same = ['c', 'b', 'a'].map((report_id, k) => report(10 * (k + 1), { km: 0.5, report_id }));
  const { nearest_reports } = only([], [...far, ...same]).ground_truth;
  const nearest = nearest_reports.map(({ max_size_mm, distance_m }) => [max_size_mm, distance_m]);
  t.deepEqual(nearest, [
    [30, 500],
    [20, 500],
    [10, 500],
    [20, 1000],
    [20, 2000],
  ]);
});

test('where radars did not cover the point in more than a quarter of the scans, .5 is the most and the note says why', (t) => {
  const strong = [pixel(75, { scans: 40 })];
  t.like(only(strong, [], { gaps: { scans: 24, uncovered: 6 } }), { verdict: 'hit', note: null });
  const capped = only(strong, [], { gaps: { scans: 24, uncovered: 7 } });
  t.like(capped, { verdict: 'marginal', ml_confidence: 0.5 });
  t.regex(capped.note ?? '', /7 of the 24 scans/);
});

test('rows of several stretches of a running date add up', (t) => {
  const stretches = [
    pixel(22, { scans: 2 }),
    pixel(30, { scans: 3, at: NOON + MS_PER_HOUR, until: NOON + 2 * MS_PER_HOUR }),
  ];
  t.like(only(stretches), {
    max_size_mm: 30,
    n_detections: 5,
    first_detected: '2026-05-01T12:00:00Z',
    last_detected: '2026-05-01T14:00:00Z',
  });
});

test('the methodology says what a storm date is, and speaks of evenings only where one falls apart', (t) => {
  const said = (storm_day_start_hour: number) =>
    methodologyOf('observed', {
      hasReports: true,
      without_data: 0,
      without_reports: 0,
      isPublished: true,
      storm_day_start_hour,
    }).description;
  t.regex(
    said(0),
    /A storm date is a UTC calendar day; .* An evening in the United States falls on the next UTC date\./,
  );
  t.regex(said(12), /A storm date runs from 12:00 UTC to 12:00 UTC of the next day/);
  t.notRegex(said(12), /evening/);
});

test('hail and a report of different storm dates do not corroborate each other, however soon the one came after the other', (t) => {
  const midnight = Date.parse('2026-05-02T00:00:00Z');
  const hail = pixel(20, { at: midnight - 60_000 });
  const told = events([hail], [report(25, { storm_date: '2026-05-02', time: midnight })]);
  t.deepEqual(pluck(told, 'event_date'), [DAY, '2026-05-02']);
  t.deepEqual(pluck(told, 'verdict'), ['marginal', 'marginal']);
});

const someTime = fc.integer({ min: -300, max: 300 }).map((minutes) => NOON + minutes * 60_000);
const someDate = fc.constantFrom(DAY, '2026-05-02');
const somePixel = fc
  .record({
    max_mm: fc.integer({ min: 50, max: 800 }).map((tenths) => tenths / 10),
    row: fc.integer({ min: ROW - 8, max: ROW + 8 }),
    col: fc.integer({ min: COL - 10, max: COL + 10 }),
    scans: fc.integer({ min: 1, max: 20 }),
    at: someTime,
    storm_date: someDate,
  })
  .map(({ max_mm, scans, ...more }) => pixel(max_mm, max_mm >= 10 ? { ...more, scans } : more));
const someReport = fc
  .record({
    size_mm: fc.constantFrom(6.4, 12.7, 13, 19.1, 44.5),
    km: fc.double({ min: 0, max: 8.5, noNaN: true }),
    bearing: fc.integer({ min: 0, max: 359 }),
    time: someTime,
    storm_date: someDate,
    report_id: fc.uuid(),
  })
  .map(({ size_mm, ...more }) => report(size_mm, more));
const someDay = fc.record({
  pixels: fc.array(somePixel, { maxLength: 12 }),
  reports: fc.array(someReport, { maxLength: 6 }),
});
const rank = (found: readonly VerificationEvent[], date: string) =>
  VERDICTS.length - VERDICTS.indexOf(found.find(({ event_date }) => event_date === date)?.verdict ?? 'miss');

test('a further report never lowers a verdict, nor does a larger detection', (t) => {
  const property = fc.property(
    someDay,
    someReport,
    somePixel,
    fc.integer({ min: 0, max: 400 }),
    ({ pixels, reports }, more, hail, by) => {
      const before = events(pixels, reports);
      const grown = pixels.map((one) => (one.max_mm >= 10 ? { ...one, max_mm: one.max_mm + by / 10 } : one));
      for (const after of [
        events(pixels, [...reports, more]),
        events([...pixels, hail], reports),
        events(grown, reports),
      ])
        for (const { event_date } of before) t.true(rank(after, event_date) >= rank(before, event_date));
    },
  );
  fc.assert(property, { numRuns: 200 });
});

test('the order of the rows changes nothing, the hash neither', (t) => {
  const shuffledDay = someDay.chain((day) =>
    fc.record({
      day: fc.constant(day),
      pixels: fc.shuffledSubarray(day.pixels, { minLength: day.pixels.length }),
      reports: fc.shuffledSubarray(day.reports, { minLength: day.reports.length }),
    }),
  );
  const hashOf = (found: VerificationEvent[]) =>
    verificationHash({
      location: POINT,
      date_range: { start: DAY, end: DAY },
      events: found,
      methodology: { version: METHODOLOGY_VERSION, description: '', bands_mi: [] },
    });
  const property = fc.property(shuffledDay, ({ day, pixels, reports }) => {
    t.is(hashOf(events(pixels, reports)), hashOf(events(day.pixels, day.reports)));
  });
  fc.assert(property, { numRuns: 200 });
});
