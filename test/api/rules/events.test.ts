import test from 'ava';
import fc from 'fast-check';
import { damageEstimate, forecastConfidence, trendOfYears } from '../../../api/legacy/resources.ts';
import { warningsSince } from '../../../api/queries/warnings.ts';
import { damageWord, hailDuration, kineticEnergy, terminalVelocity } from '../../../api/rules/damage.ts';
import { CLEAR_AFTER_MS, type Episode, LATE_AFTER_MS, nextStep } from '../../../api/rules/episodes.ts';
import { nearestWithin } from '../../../api/rules/nearest.ts';
import { boundedDistanceM, pixelDistanceM, pixelsAround } from '../../../api/rules/pixel-distance.ts';
import { pointConfidence } from '../../../api/rules/point-confidence.ts';
import { NO_PRODUCTS, radarBlock } from '../../../api/rules/radar-block.ts';
import { radarCoverageOf, radarGapsOf, type Span } from '../../../api/rules/radar-coverage.ts';
import { drawTiers } from '../../../api/rules/swath-tiers.ts';
import { drawTiers as publishedTiers } from '../../../pipeline/swath/tiers.ts';
import { distanceKm, roughDistanceKm } from '../../../schemas/geo/distance.ts';
import { geodesicAreaKm2, pixelHull } from '../../../schemas/geo/hull.ts';
import { colLon, latRow, lonCol, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { groundM } from '../../../schemas/reference/terrain.ts';
import { type DateSeenInPart, GAPS_LISTED_MAX } from '../../../schemas/resources/radar-gaps.ts';
import { poshOfShi, SIZE_BANDS } from '../../../schemas/size.ts';
import type { Warning } from '../../../schemas/tables/feeds.ts';
import { MS_PER_MIN, timestamp } from '../../../schemas/time.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { pixelsOf, REAL_DAY, realField } from '../../support/data/pixels.ts';
import { isValidMultiPolygon } from '../../support/data/rings.ts';
import { DAY, dayMaxRow, pluck } from '../../support/data/rows.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

/** Observation time of the first column. */
const START_MS = Date.parse('2026-05-01T20:00:00Z');

/** What a column of a timeline, or a scan of a property, says of the place. */
type Look = Parameters<typeof nextStep>[0];

const MARKS = { nothing: '.', open: 'C', keep: '-', resolve: 'R', close: 'X' } as const;

/** The alerts of one place, changed by scans one after the other. */
function place() {
  const alerts: { -readonly [Name in keyof Episode]: Episode[Name] }[] = [];
  const look = (scan: Look): string => {
    const step = nextStep(scan, alerts);
    const open = alerts.find(({ status }) => status === 'open');
    const { scan_ms, covered_blocks, hail_mm } = scan;
    if (step.kind === 'open')
      alerts.push(episode({ triggered_ms: scan_ms, last_seen_ms: scan_ms, max_size_mm: hail_mm ?? 0, covered_blocks }));
    if (open !== undefined && step.kind === 'keep') {
      Object.assign(open, { last_seen_ms: step.last_seen_ms, max_size_mm: step.max_size_mm });
      if (step.newer) open.covered_blocks = covered_blocks;
    }
    if (open !== undefined && step.kind === 'resolve') open.status = 'resolved';
    if (open !== undefined && step.kind === 'close') open.status = 'closed';
    return MARKS[step.kind];
  };
  return { alerts, look };
}

/**
 * Plays a timeline, a scan every five minutes from left to right:
 * `H` hail, `.` none, `x` not covered, `h` hail in a scan that came too late, `o` none in one that came too late, `P` no hail and
 * nobody asks, `?` coverage unknown, ` ` no scan.
 */
function play(scans: string): string {
  const { look } = place();
  return [...scans]
    .map((mark, column) => {
      if (mark === ' ') return ' ';
      return look({
        scan_ms: START_MS + column * 5 * MS_PER_MIN,
        on_time: mark !== 'h' && mark !== 'o',
        asked: mark !== 'P',
        hail_mm: mark === 'H' || mark === 'h' ? 30 : null,
        covered_blocks: mark === 'x' ? 0 : mark === '?' ? null : 9,
      });
    })
    .join('');
}

for (const [what, scans, steps] of [
  ['hail opens an alert once, and half an hour without it resolves it', '.HHH......', '.C--.....R'],
  ['hail after 25 clear minutes belongs to the same alert', 'H....H......', 'C....-.....R'],
  ['hail half an hour after the last is a new alert', 'H......H......', 'C.....RC.....R'],
  ['a feed that stops resolves nothing, however long', 'HH          ', 'C-          '],
  ['the first clear scan after a gap resolves it', 'HH           .', 'C-           R'],
  ['hail after a gap is the same alert: nobody saw it end', 'HH           H......', 'C-           -.....R'],
  ['scans without coverage resolve nothing', 'Hxxxxxxxxxxxx', 'C............'],
  ['coverage that comes back resolves it', 'Hxxxxxxxx..', 'C........R.'],
  ['scans of which nothing is known resolve nothing', 'H????????.', 'C........R'],
  ['a scan that comes too late opens nothing', '.h.h......', '..........'],
  ['a scan that comes too late still prolongs an open alert', 'H....h......', 'C....-.....R'],
  ['a clear scan that comes too late still resolves an alert', 'H     o', 'C     R'],
  ['an alert that nobody asks for is closed, and not resolved later', 'HH.P.......', 'C-.X.......'],
  ['hail that goes on when somebody asks again is a new alert', 'HHPH......', 'C-XC.....R'],
  ['nobody who does not ask is told', 'PP', '..'],
] as const)
  test(what, (t) => {
    t.is(`\n${scans}\n${play(scans)}`, `\n${scans}\n${steps}`);
  });

test('an alert is resolved half an hour after its last detection, not when the clear scan was made', (t) => {
  const open = episode({ last_seen_ms: START_MS + 7 * MS_PER_MIN });
  const step = nextStep(clear(START_MS + 90 * MS_PER_MIN), [open]);
  t.deepEqual(step, { kind: 'resolve', resolved_ms: START_MS + 37 * MS_PER_MIN });
});

test('a clear scan one millisecond before the half hour resolves nothing', (t) => {
  t.is(nextStep(clear(START_MS + CLEAR_AFTER_MS - 1), [episode({})]).kind, 'nothing');
  t.is(nextStep(clear(START_MS + CLEAR_AFTER_MS), [episode({})]).kind, 'resolve');
});

test('a scan that covers less of the place than the one that saw the hail resolves nothing', (t) => {
  const scan = clear(START_MS + CLEAR_AFTER_MS);
  t.is(nextStep({ ...scan, covered_blocks: 8 }, [episode({ covered_blocks: 9 })]).kind, 'nothing');
  t.is(nextStep({ ...scan, covered_blocks: 9 }, [episode({ covered_blocks: 9 })]).kind, 'resolve');
  t.is(nextStep({ ...scan, covered_blocks: 0 }, [episode({ covered_blocks: 0 })]).kind, 'nothing');
  t.is(nextStep({ ...scan, covered_blocks: 1 }, [episode({ covered_blocks: null })]).kind, 'resolve');
});

test('a late scan with hail inside an alert that was resolved does not raise it again', (t) => {
  const resolved = episode({ status: 'resolved', last_seen_ms: START_MS + 10 * MS_PER_MIN });
  const hailAt = (minute: number) =>
    nextStep({ ...clear(START_MS + minute * MS_PER_MIN), hail_mm: 30 }, [resolved]).kind;
  t.deepEqual([-31, -30, 40].map(hailAt), Array(3).fill('open'));
  t.deepEqual([-29, 0, 20, 39].map(hailAt), Array(4).fill('nothing'));
});

test('an older scan raises the largest size of an open alert, and leaves its last detection', (t) => {
  const open = episode({ last_seen_ms: START_MS + 20 * MS_PER_MIN, max_size_mm: 30 });
  const earlier = { ...clear(START_MS + 10 * MS_PER_MIN), hail_mm: 45 };
  t.deepEqual(nextStep(earlier, [open]), {
    kind: 'keep',
    last_seen_ms: START_MS + 20 * MS_PER_MIN,
    max_size_mm: 45,
    newer: false,
  });
  t.is(nextStep({ ...earlier, hail_mm: 29 }, [open]).kind, 'nothing');
});

/** Minutes of hail of one to three storms an hour and a half apart, hail never more than 15 minutes apart within one. */
const storms = fc
  .array(fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 0, maxLength: 6 }), { minLength: 1, maxLength: 3 })
  .map((found) => {
    const hail = new Set<number>();
    let minute = 2;
    const ends: number[] = [];
    for (const steps of found) {
      hail.add(minute);
      for (const step of steps) {
        minute += 2 * step;
        hail.add(minute);
      }
      ends.push(minute);
      minute += 90;
    }
    return { hail, ends, last: minute };
  });

test('any order within ten minutes, with any repetitions, gives one created and one resolved for each storm', (t) => {
  const property = fc.property(
    storms,
    fc.infiniteStream(fc.nat(10)),
    fc.infiniteStream(fc.nat(3)),
    ({ hail, ends, last }, delays, repeats) => {
      const scans = Array.from({ length: last / 2 + 1 }, (_, k) => 2 * k);
      const arrivals = scans
        .flatMap((minute) =>
          Array.from({ length: 1 + (repeats.next().value ?? 0) }, () => ({
            minute,
            at: minute + (delays.next().value ?? 0),
          })),
        )
        .sort((a, b) => a.at - b.at);
      const { alerts, look } = place();
      const marks = arrivals.map(({ minute, at }) =>
        look({
          scan_ms: START_MS + minute * MS_PER_MIN,
          on_time: (at - minute) * MS_PER_MIN <= LATE_AFTER_MS,
          asked: true,
          hail_mm: hail.has(minute) ? 30 : null,
          covered_blocks: 9,
        }),
      );
      const count = (mark: string) => marks.filter((one) => one === mark).length;
      t.deepEqual([count('C'), count('R')], [ends.length, ends.length]);
      const lastMinutes = alerts.map(({ last_seen_ms }) => (last_seen_ms - START_MS) / MS_PER_MIN);
      t.deepEqual(lastMinutes, ends);
    },
  );
  fc.assert(property, { numRuns: 300 });
});

function episode(change: Partial<Episode>): Episode {
  return {
    status: 'open',
    triggered_ms: START_MS,
    last_seen_ms: START_MS,
    max_size_mm: 30,
    covered_blocks: 9,
    ...change,
  };
}

function clear(scan_ms: number): Look {
  return { scan_ms, on_time: true, asked: true, hail_mm: null, covered_blocks: 9 };
}

sharedTest('the hull of the real day has the area measured independently: 2,850,762.686 km2', (t) => {
  t.is(geodesicAreaKm2(pixelHull(pixelsOf(realField(REAL_DAY), 19))).toFixed(3), '2850762.686');
});

for (const [size_mm, roof, vehicle] of [
  [18.9, 'none', 'none'],
  [19, 'none', 'possible'],
  [24.9, 'none', 'possible'],
  [25, 'possible', 'likely'],
  [37.9, 'possible', 'likely'],
  [38, 'likely', 'severe'],
  [62.9, 'likely', 'severe'],
  [63, 'severe', 'severe'],
] as const)
  test(`hail of ${size_mm} mm: roof ${roof}, vehicle ${vehicle}`, (t) => {
    t.is(damageWord(size_mm, 'roof'), roof);
    t.is(damageWord(size_mm, 'vehicle'), vehicle);
  });

for (const [size_mm, m_s] of [
  [25.4, 18.2],
  [50.8, 25.8],
] as const)
  test(`a stone of ${size_mm} mm falls at ${m_s} m/s`, (t) => {
    t.is(Math.round(10 * terminalVelocity(size_mm)) / 10, m_s);
  });

const minutes = (...values: number[]) => values.map((value) => value * 60_000);

test('hail in scans two minutes apart lasts twice as many minutes as scans', (t) => {
  t.is(hailDuration(minutes(0, 2, 4, 6)), 8);
});

test('a gap counts up to four minutes, one scan alone as two, none as nothing', (t) => {
  t.is(hailDuration(minutes(0, 2, 20)), 8);
  t.is(hailDuration(minutes(7)), 2);
  t.is(hailDuration([]), 0);
});

/** Scans every two minutes over a place. */
const echoes = (...reflectivities: readonly (number | null)[]) =>
  reflectivities.map((reflectivity_dbz, index) => ({ scan_time: index * 120_000, reflectivity_dbz }));

for (const [dbz, j_m2] of [
  [60, 329],
  [50, 47.5],
  [45, 9],
  [40, 0],
  [10, 0],
] as const)
  test(`ten minutes of ${dbz} dBZ bring ${j_m2} J per square metre`, (t) => {
    const energy = kineticEnergy(echoes(dbz, dbz, dbz, dbz, dbz)) ?? Number.NaN;
    t.true(Math.abs(energy - j_m2) < 0.6, `${energy}`);
  });

test('the energy of hail is not known without the product, and a scan without it adds nothing', (t) => {
  t.is(kineticEnergy(echoes(null, null)), null);
  t.is(kineticEnergy([]), null);
  t.is(kineticEnergy(echoes(60, null)), kineticEnergy(echoes(60)));
});

for (const [before, recent, trend] of [
  [10, 10, 'stable'],
  [10, 12, 'stable'],
  [10, 13, 'increasing'],
  [10, 8, 'stable'],
  [10, 7, 'decreasing'],
  [0, 1, 'increasing'],
  [0, 0, 'stable'],
] as const)
  test(`${recent} hail days in two years after ${before} in the two before are ${trend}`, (t) => {
    t.is(trendOfYears({ days: before, dates: 730 }, { days: recent, dates: 730 }), trend);
  });

test('hail days are held against the dates that there are data of', (t) => {
  t.is(trendOfYears({ days: 20, dates: 1460 }, { days: 10, dates: 730 }), 'stable');
});

test('less than a year of dates on either side is no trend, a year may be one', (t) => {
  t.is(trendOfYears({ days: 1, dates: 364 }, { days: 40, dates: 730 }), 'stable');
  t.is(trendOfYears({ days: 40, dates: 730 }, { days: 1, dates: 364 }), 'stable');
  t.is(trendOfYears({ days: 1, dates: 365 }, { days: 40, dates: 365 }), 'increasing');
});

for (const [mm, word] of [
  [18.9, 'none'],
  [19, 'minor'],
  [25, 'moderate'],
  [38, 'significant'],
  [62.9, 'significant'],
  [63, 'severe'],
] as const)
  test(`the damage of ${mm} mm is ${word} in the earlier variant`, (t) => t.is(damageEstimate(mm), word));

test('the confidence of a forecast falls evenly from .9 in the first hour to .4 in the 48th', (t) => {
  t.deepEqual([1, 24.5, 48].map(forecastConfidence), [0.9, 0.65, 0.4]);
});

const T0 = Date.parse('2025-05-01T20:00:00Z');

/** A message `sent` minutes after 20 UTC about an event that ends `ends` minutes after it. */
function message(warning_id: string, sent: number, ends: number, more: Partial<Warning> = {}): Warning {
  return {
    warning_id,
    event: 'Severe Thunderstorm Warning',
    message_type: 'Alert',
    severity: 'Severe',
    office: 'NWS Norman OK',
    headline: null,
    areas: null,
    issued_at: T0 + sent * MS_PER_MIN,
    expires_at: T0 + ends * MS_PER_MIN,
    tornado_detection: null,
    hail_size_mm: 25.4,
    gust_kmh: null,
    speed_kmh: null,
    direction_deg: null,
    vtec_action: 'NEW',
    vtec_event: 'KOUN.SV.W.0101',
    replaces: '',
    positions: 0,
    geometry: null,
    west: null,
    south: null,
    east: null,
    north: null,
    is_refused_polygon: false,
    data_source: 'observed',
    received_at: 0,
    ...more,
  };
}

const warningsInForce = (messages: readonly Warning[], at: number) =>
  warningsSince(messages, T0 + at * MS_PER_MIN, T0 + at * MS_PER_MIN).map(({ message }) => message);
const inForce = (messages: readonly Warning[], at: number) =>
  warningsInForce(messages, at).map(({ warning_id }) => warning_id);

test('a warning is in force from when it is sent until the event ends, the end excluded', (t) => {
  const warning = message('a', 0, 45);
  const counts = [-1, 0, 44, 45].map((at) => inForce([warning], at).length);
  t.deepEqual(counts, [0, 1, 1, 0]);
});

const NO_VTEC = { vtec_event: null, vtec_action: null };
const YEAR_MIN = 365 * 24 * 60;
const FIRST = message('a', 0, 45);
const UNNAMED = message('a', 0, 45, NO_VTEC);
const CONTINUED = message('c', 20, 45, { message_type: 'Update', vtec_action: 'CON' });
const CANCELLED = message('b', 20, 45, { message_type: 'Update', vtec_action: 'CAN' });

const IN_FORCE: readonly (readonly [
  title: string,
  messages: readonly Warning[],
  expected: readonly (readonly [minute: number, ids: string])[],
])[] = [
  [
    'an update replaces its predecessor by name, without a VTEC line too',
    [UNNAMED, message('b', 20, 45, { ...NO_VTEC, message_type: 'Update', replaces: 'a' })],
    [
      [10, 'a'],
      [20, 'b'],
    ],
  ],
  [
    'an update replaces all earlier messages of its event, named or not',
    [FIRST, message('b', 10, 45), CONTINUED],
    [[20, 'c']],
  ],
  ['an update that shortens an event ends it early', [FIRST, message('b', 10, 15, { vtec_action: 'CON' })], [[20, '']]],
  ...['CAN', 'EXP', 'UPG'].map(
    (vtec_action) =>
      [
        `the VTEC action ${vtec_action} ends its event`,
        [FIRST, message('b', 10, 45, { message_type: 'Update', vtec_action })],
        [[10, '']],
      ] as const,
  ),
  [
    'a CAP cancellation ends what it names',
    [UNNAMED, message('b', 10, 45, { ...NO_VTEC, message_type: 'Cancel', replaces: 'a' })],
    [[10, '']],
  ],
  [
    'a cancellation of a part leaves the part that the same minute continues',
    [FIRST, CANCELLED, CONTINUED],
    [[25, 'c']],
  ],
  [
    'the same event number in the next year is another event',
    [FIRST, message('b', YEAR_MIN, YEAR_MIN + 45)],
    [
      [10, 'a'],
      [YEAR_MIN + 1, 'b'],
    ],
  ],
  ['messages of the future change nothing yet', [FIRST, CANCELLED], [[19, 'a']]],
];

for (const [title, messages, expected] of IN_FORCE)
  test(title, (t) => {
    for (const [minute, ids] of expected) t.is(inForce(messages, minute).join(), ids, `${minute} min`);
  });

test('the newest comes first', (t) => {
  const messages = ['a', 'b', 'c'].map((id, i) => message(id, [5, 10, 0][i]!, 45, { vtec_event: `KOUN.SV.W.010${i}` }));
  t.deepEqual(inForce(messages, 20), ['b', 'a', 'c']);
});

test('nothing in force has expired, and the order of arrival does not matter', (t) => {
  const anyMessage = fc
    .record({
      id: fc.integer({ min: 0, max: 9 }),
      sent: fc.integer({ min: 0, max: 60 }),
      lasts: fc.integer({ min: 0, max: 60 }),
      replaces: fc.integer({ min: 0, max: 9 }),
      vtec_action: fc.constantFrom('NEW', 'CON', 'CAN'),
      event: fc.integer({ min: 0, max: 2 }),
    })
    .map(({ id, sent, lasts, replaces, vtec_action, event }) =>
      message(`${id}`, sent, sent + lasts, { replaces: `${replaces}`, vtec_action, vtec_event: `E${event}` }),
    );
  const property = fc.property(
    fc.uniqueArray(anyMessage, { selector: (m) => m.warning_id }),
    fc.integer({ min: 0, max: 120 }),
    (messages, at) => {
      const found = warningsInForce(messages, at);
      const isAllInForce = found.every(
        ({ issued_at, expires_at }) => issued_at <= T0 + at * MS_PER_MIN && expires_at > T0 + at * MS_PER_MIN,
      );
      t.true(isAllInForce);
      t.deepEqual(warningsInForce(messages.toReversed(), at), found);
    },
  );
  fc.assert(property, { numRuns: 200 });
});

/** Id and minutes after 20 UTC at which each warning of the past was over. */
const past = (messages: readonly Warning[], since: number, at: number) =>
  warningsSince(messages, T0 + since * MS_PER_MIN, T0 + at * MS_PER_MIN).map(({ message: { warning_id }, end_ms }) => [
    warning_id,
    (end_ms - T0) / MS_PER_MIN,
  ]);

for (const [title, messages, since, at, expected] of [
  ['a warning of the past is its last message, once', [FIRST, CONTINUED], 0, 100, [['c', 45]]],
  ['a warning that expired before the span asked for is left out', [FIRST], 45, 100, []],
  ['a warning that reaches into the span asked for is not left out', [FIRST], 44, 100, [['a', 45]]],
  ['a warning that was cancelled was over with its cancellation', [FIRST, CANCELLED], 0, 100, [['a', 20]]],
  ['a warning that was cancelled before the span is left out', [FIRST, CANCELLED], 20, 100, []],
  ['a cancellation of the future ends nothing yet', [FIRST, CANCELLED], 0, 19, [['a', 45]]],
  ['a warning lives on in the part that was continued', [FIRST, CANCELLED, CONTINUED], 0, 100, [['c', 45]]],
] as const)
  test(title, (t) => t.deepEqual(past(messages, since, at), expected as never));

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);
const at = (minute: number) => DAY_MS + minute * MS_PER_MIN;
const WHOLE_DAY: Span = { from_ms: at(0), to_ms: at(1440) };
const every = (minutes: number, from = 0, to = 1440) =>
  Array.from({ length: Math.ceil((to - from) / minutes) }, (_, k) => from + k * minutes);

/** Coverage of scans at these minutes; those of `blind` did not see the place. */
function ofScans(minutes: readonly number[], blind: readonly number[] = [], span = WHOLE_DAY, isRunning = false) {
  const times = minutes.map(at);
  return radarCoverageOf(
    { times, seen: minutes.map((minute) => Number(!blind.includes(minute))) },
    span,
    null,
    isRunning,
  );
}
function partOf(coverage: ReturnType<typeof ofScans>): DateSeenInPart | undefined {
  return radarGapsOf([], new Map([[DATE, coverage]])).dates_seen_in_part[0];
}
const clocks = (part: DateSeenInPart | undefined) =>
  part?.gaps.map(({ from, to }) => `${from.slice(11, 16)}-${to.slice(11, 16)}`);

test('24 scans of 720, one an hour, see a sixth of the date, and every gap is told', (t) => {
  const part = partOf(ofScans(every(60)));
  t.is(part?.share, 0.167);
  t.is(part?.gaps.length, 24);
  t.deepEqual(clocks(part)?.slice(0, 2), ['00:10-01:00', '01:10-02:00']);
  t.deepEqual(part?.gaps.at(-1), { from: `${DATE}T23:10:00Z`, to: '2026-05-02T00:00:00Z' });
});

test('two missing hours are told although nine tenths of the date were seen', (t) => {
  const part = partOf(ofScans([...every(2, 0, 540), ...every(2, 660, 1440)]));
  t.is(part?.share, 0.922);
  t.deepEqual(clocks(part), ['09:08-11:00']);
});

test('more than ten minutes between two scans are a gap, ten are none', (t) => {
  t.is(partOf(ofScans([...every(2, 0, 602), ...every(2, 610, 1440)])), undefined);
  t.deepEqual(clocks(partOf(ofScans([...every(2, 0, 602), ...every(2, 611, 1440)]))), ['10:10-10:11']);
});

test('a scan that does not see the place ends what the one before it stands for, and stands for nothing', (t) => {
  const minutes = every(2);
  t.is(ofScans(minutes, minutes).share, 0);
  t.deepEqual(clocks(partOf(ofScans(minutes, minutes))), ['00:00-00:00']);
  t.is(ofScans(minutes, minutes).uncovered, 720);
  t.deepEqual(clocks(partOf(ofScans(minutes, every(2, 600, 900)))), ['10:00-15:00']);
  // One scan without coverage is two minutes, which count, but no gap.
  const { share, gaps } = ofScans(minutes, [600]);
  t.is(share, 1438 / 1440);
  t.is(gaps.length, 1);
  t.is(partOf(ofScans(minutes, [600])), undefined);
});

test('below nine tenths every minute that was not seen counts, however short, and the 24 longest gaps are listed', (t) => {
  const minutes = every(2);
  // Two minutes of every ten, but four of each tenth time.
  const blind = minutes.filter((minute) => minute % 10 === 0 || minute % 100 === 2);
  const part = partOf(ofScans(minutes, blind));
  t.is(part?.gap_count, 144);
  t.is(part?.gaps.length, GAPS_LISTED_MAX);
  const longest = every(100).map((minute) => timestamp(at(minute)));
  const unlisted = longest.filter((from) => !part?.gaps.some((gap) => gap.from === from));
  t.deepEqual(unlisted, []);
  const starts = part?.gaps.map(({ from }) => from);
  t.deepEqual(starts, part?.gaps.map(({ from }) => from).toSorted());
  t.is(partOf(ofScans(minutes, every(30))), undefined);
});

test('a date that still runs counts up to its newest scan, and says so', (t) => {
  const part = partOf(ofScans(every(2, 0, 38), [], { from_ms: at(0), to_ms: at(36) }, true));
  t.deepEqual(part, { date: DATE, share: 1, until: `${DATE}T00:36:00Z`, gap_count: 0, gaps: [] });
  const late = partOf(ofScans(every(2, 1200, 1238), [], { from_ms: at(0), to_ms: at(1236) }, true));
  t.deepEqual([clocks(late), late?.share], [['00:00-20:00'], 0.029]);
  // Its only scan is its first instant: there are no minutes yet.
  t.is(ofScans([0], [], { from_ms: at(0), to_ms: at(0) }, true).share, 1);
  t.is(ofScans([0], [0], { from_ms: at(0), to_ms: at(0) }, true).share, 0);
});

test('the last scan before a date stands for its first minutes, where it saw the place', (t) => {
  const times = every(2, 5, 1440).map(at);
  const seen = times.map(() => 1);
  const share = (before: Parameters<typeof radarCoverageOf>[2]) =>
    radarCoverageOf({ times, seen }, WHOLE_DAY, before, false).share;
  t.is(share({ time_ms: at(-3), seen_ms: at(-3) }), 1);
  t.is(share({ time_ms: at(-7), seen_ms: at(-7) }), 1438 / 1440);
  for (const before of [null, { time_ms: at(-3), seen_ms: at(-5) }, { time_ms: at(-20), seen_ms: at(-20) }])
    t.is(share(before), 1435 / 1440);
});

test('a gap that begins on the date before is as long as both parts together, however short its part of the date is', (t) => {
  const times = every(2, 8).map(at);
  const looks = { times, seen: times.map(() => 1) };
  const part = (time_ms: number, seen_ms: number | null) =>
    clocks(partOf(radarCoverageOf(looks, WHOLE_DAY, { time_ms, seen_ms }, false)));
  t.deepEqual(part(at(-18), at(-18)), ['00:00-00:08']);
  t.deepEqual(part(at(-2), at(-18)), ['00:00-00:08']);
  t.is(part(at(-2), at(-2)), undefined);
  t.deepEqual(part(at(-2), null), ['00:00-00:08']);
});

test('shares and gaps fill the date together, whatever the scans', (t) => {
  const looks = fc.uniqueArray(fc.record({ minute: fc.integer({ min: 0, max: 1439 }), seen: fc.boolean() }), {
    selector: ({ minute }) => minute,
    maxLength: 80,
  });
  const property = fc.property(looks, (drawn) => {
    const sorted = drawn.toSorted((a, b) => a.minute - b.minute);
    const coverage = radarCoverageOf(
      { times: sorted.map(({ minute }) => at(minute)), seen: sorted.map(({ seen }) => Number(seen)) },
      WHOLE_DAY,
      null,
      false,
    );
    // Minute by minute, from the definition alone.
    const isSeen = (minute: number) => {
      const newest = sorted.findLast((look) => look.minute <= minute);
      return newest?.seen === true && minute - newest.minute < 10;
    };
    const unseen = Array.from({ length: 1440 }, (_, minute) => minute).filter((minute) => !isSeen(minute));
    t.true(Math.abs(coverage.share - (1440 - unseen.length) / 1440) < 1e-12);
    const told = coverage.gaps.flatMap(({ from_ms, to_ms }) =>
      Array.from({ length: (to_ms - from_ms) / MS_PER_MIN }, (_, k) => (from_ms - DAY_MS) / MS_PER_MIN + k),
    );
    t.deepEqual(told, unseen);
  });
  fc.assert(property);
});

test('a date that came as the sum of a day has unknown scans, which are not full ones', (t) => {
  t.deepEqual(radarGapsOf(['2026-05-02'], new Map([[DATE, null]])), {
    dates_without_data: ['2026-05-02'],
    dates_with_unknown_scans: [DATE],
    dates_seen_in_part: [],
    coverage: [{ date: DATE, share: null }],
  });
});

const OKLAHOMA = { lat: 35.3, lon: -97.3 };
/** 4.1 km at 35 N and 3.5 km at 40 N in May: 4.064 km at 35.3 N, and 0.2 km warmer on a day with hail. */
const FREEZING_KM = 4.264;
const MAY_MS = Date.parse('2026-05-01T20:12:38Z');

/** MESH, SHI and MESH95 of SCIENCE.md, "Hail size". */
for (const [mesh_mm, shi, mesh95_mm] of [
  [10, 15.5, 39.6],
  [19, 56, 52],
  [25.4, 100, 58.8],
  [50.8, 400, 78.9],
  [101.6, 1600, 105.9],
] as const)
  test(`${mesh_mm} mm is an index of ${shi} and a 95th percentile of ${mesh95_mm} mm`, (t) => {
    t.like(radarBlock(mesh_mm, NO_PRODUCTS, OKLAHOMA, MAY_MS, null), { mesh_mm, shi, mesh95_mm });
  });

test('missing products are null, none is invented', (t) => {
  t.like(radarBlock(30, NO_PRODUCTS, OKLAHOMA, MAY_MS, null), {
    vil_kg_m2: null,
    vil_density_g_m3: null,
    max_reflectivity_dbz: null,
    reflectivity_minus20c_dbz: null,
    echo_top_18_km: null,
    echo_top_50_km: null,
    h50_above_0c_km: null,
    azshear_0_2km_per_s: null,
  });
});

test('POSH is that of the product; without it the index and the freezing level above the ground decide', (t) => {
  t.is(radarBlock(30, { ...NO_PRODUCTS, posh_pct: 60 }, OKLAHOMA, MAY_MS, null).posh_pct, 60);
  const above_ground_km = FREEZING_KM - groundM(OKLAHOMA, null) / 1000;
  const shi = (30 / 2.54) ** 2;
  t.is(
    radarBlock(30, NO_PRODUCTS, OKLAHOMA, MAY_MS, null).posh_pct,
    Math.round(10 * poshOfShi(shi, above_ground_km)) / 10,
  );
});

test('VIL density is VIL over the 18 dBZ echo top, and the 50 dBZ echo stands above the freezing level', (t) => {
  const products = { ...NO_PRODUCTS, vil_kg_m2: 56.5, echo_top_18_km: 15.767, echo_top_50_km: 10.078 };
  const block = radarBlock(48, products, OKLAHOMA, MAY_MS, null);
  t.is(block.vil_density_g_m3, 3.58);
  t.is(block.h50_above_0c_km, Math.round(100 * (10.078 - FREEZING_KM)) / 100);
});

test('reflectivity at -20 C and shear below 2 km are those of their products', (t) => {
  const products = { ...NO_PRODUCTS, reflectivity_minus20c_dbz: 57.25, azshear_0_2km_per_s: 0.00512 };
  t.like(radarBlock(48, products, OKLAHOMA, MAY_MS, null), {
    reflectivity_minus20c_dbz: 57.3,
    azshear_0_2km_per_s: 0.0051,
  });
});

/** Size, detections, corroborated, hdqi and the published confidence of methodology 1.1.0. */
for (const [size_mm, n_detections, corroborated, hdqi, confidence] of [
  [10, 1, false, 0.5, 0.114],
  [19, 1, false, 0.7, 0.296],
  [19, 3, true, 0.7, 0.624],
  [25, 5, false, 0.7, 0.462],
  [38, 3, false, 0.7, 0.602],
  [38, 10, false, 0.8, 0.679],
  [38, 20, false, 0.8, 0.713],
  [50, 3, false, 0.8, 0.718],
  [50, 10, false, 0.8, 0.766],
  [50, 10, true, 0.8, 0.916],
  [75, 20, true, 0.9, 0.964],
] as const)
  test(`${n_detections} detections up to ${size_mm} mm, ${corroborated ? 'reported' : 'unreported'}, at hdqi ${hdqi} give ${confidence}`, (t) => {
    t.is(Math.round(1000 * pointConfidence({ size_mm, n_detections, corroborated, hdqi })) / 1000, confidence);
  });

test('without a detection, and at the extremes, it stays within 0.02 and 0.98', (t) => {
  t.is(pointConfidence({ size_mm: 0, n_detections: 0, corroborated: false, hdqi: 1 }), 0.02);
  t.is(pointConfidence({ size_mm: 0.1, n_detections: 1, corroborated: false, hdqi: 0 }), 0.02);
  t.is(pointConfidence({ size_mm: 150, n_detections: 5000, corroborated: true, hdqi: 1 }), 0.98);
});

const POINTS: readonly Position[] = [24, 31.37, 38.9999, 45.12, 50].map((lat) => ({ lat, lon: -97.123 }));

/** Distance to the rectangle by measuring to 4,000 points on its edge. */
function slowDistanceM(from: Position, row: number, col: number): number {
  const steps = 1000;
  const distances: number[] = [];
  for (let step = 0; step <= steps; step++) {
    const lat = rowLat(row) - 0.005 + (0.01 * step) / steps;
    const lon = colLon(col) - 0.005 + (0.01 * step) / steps;
    for (const edge of [-0.005, 0.005])
      distances.push(
        distanceKm(from, { lat, lon: colLon(col) + edge }),
        distanceKm(from, { lat: rowLat(row) + edge, lon }),
      );
  }
  return 1000 * Math.min(...distances);
}

test('the distance is 0 inside the pixel and on its edge', (t) => {
  t.is(pixelDistanceM({ lat: 38.995, lon: -97.005 }, 1600, 3299), 0);
  t.true(pixelDistanceM({ lat: 39, lon: -97 }, 1600, 3299) < 1e-6);
});

test('the distance is that of a fine walk along the edge, in every direction', (t) => {
  for (const point of POINTS.slice(0, 3))
    for (const [dRow, dCol] of [
      [0, 1],
      [0, -2],
      [1, 0],
      [-2, 1],
      [1, 2],
      [2, -1],
    ] as const) {
      const row = latRow(point.lat) + dRow;
      const col = lonCol(point.lon) + dCol;
      const slow_m = slowDistanceM(point, row, col);
      t.true(Math.abs(pixelDistanceM(point, row, col) - slow_m) < 0.1);
      t.true(pixelDistanceM(point, row, col) <= slow_m + 0.0001);
    }
});

test('the short distance agrees with the geodesic to a millimetre within 2 km, and exactly next to a bound', (t) => {
  for (const point of POINTS)
    for (const [row, col] of [
      [latRow(point.lat) + 1, lonCol(point.lon)],
      [latRow(point.lat), lonCol(point.lon) - 2],
      [latRow(point.lat) - 1, lonCol(point.lon) + 1],
    ] as const) {
      const exact_m = pixelDistanceM(point, row, col);
      t.true(Math.abs(boundedDistanceM(point, row, col, []) - exact_m) < 0.001);
      t.is(boundedDistanceM(point, row, col, [exact_m + 0.5]), exact_m);
    }
});

test('every pixel within the distance is looked at', (t) => {
  for (const point of POINTS) {
    const { row0, row1, col0, col1 } = pixelsAround(point, 1609.344);
    for (let row = latRow(point.lat) - 4; row <= latRow(point.lat) + 4; row++)
      for (let col = lonCol(point.lon) - 5; col <= lonCol(point.lon) + 5; col++) {
        const inReach = row >= row0 && row <= row1 && col >= col0 && col <= col1;
        if (pixelDistanceM(point, row, col) <= 1609.344) t.true(inReach, `${point.lat}: ${row}, ${col}`);
      }
    t.true((row1 - row0 + 1) * (col1 - col0 + 1) <= 5 * 7);
  }
});

const HERE = { lat: 45, lon: -100 };

test('the nearest by the geodesic wins, though the sphere takes another for nearer', (t) => {
  const north = { lat: 45.45, lon: -100 };
  const east = { lat: 45, lon: -99.3651 };
  t.true(
    roughDistanceKm(HERE, north) < roughDistanceKm(HERE, east) !== distanceKm(HERE, north) < distanceKm(HERE, east),
  );
  const expected = distanceKm(HERE, north) < distanceKm(HERE, east) ? north : east;
  for (const items of [
    [north, east],
    [east, north],
  ])
    t.deepEqual(nearestWithin(HERE, items, 100), { item: expected, distance_km: distanceKm(HERE, expected) });
});

test('a place at the radius is within it, one beyond is not', (t) => {
  const item = { lat: 45.3, lon: -100.2 };
  const km = distanceKm(HERE, item);
  t.is(nearestWithin(HERE, [item], km)?.item, item);
  t.is(nearestWithin(HERE, [item], km - 1e-6), null);
  t.is(nearestWithin(HERE, [], km), null);
});

test('of equally near places the first wins, and a place has no distance to itself', (t) => {
  const [east, west] = [
    { lat: 45, lon: -99.5 },
    { lat: 45, lon: -100.5 },
  ];
  t.is(nearestWithin(HERE, [east, west], 100)?.item, east);
  t.is(nearestWithin(HERE, [west, east], 100)?.item, west);
  t.deepEqual(nearestWithin(HERE, [east, HERE, west], 100), { item: HERE, distance_km: 0 });
});
function maximumPixelsOf(field: ReturnType<typeof drawTenths>) {
  const pixels = { row: [] as number[], col: [] as number[], mm: [] as number[] };
  for (let r = 0; r < field.window.rows; r++)
    for (let i = field.rowStart[r]; i < field.rowStart[r + 1]; i++) {
      pixels.row.push(field.window.row0 + r);
      pixels.col.push(field.col[i]);
      pixels.mm.push(field.tenths[i] / 10);
    }
  return pixels;
}

test('tiers start at the first bound from the smallest size on, inclusive, and hold all larger hail', (t) => {
  const pixels = maximumPixelsOf(drawTenths([[190, 189, 250, 379, 380, 0, 1010]]));
  const bounds = (min_size_mm: number) =>
    drawTiers({ pixels, min_size_mm, simplify_m: 0 }).map(({ threshold_mm }) => threshold_mm);
  t.deepEqual(bounds(10), [19, 25, 38, 63, 69, 101]);
  t.deepEqual(bounds(19), [19, 25, 38, 63, 69, 101]);
  t.deepEqual(bounds(19.1), [25, 38, 63, 69, 101]);
  t.deepEqual(bounds(150), []);
});

test('a pixel named twice counts once, as the larger', (t) => {
  const once = drawTiers({ pixels: { row: [1500], col: [3000], mm: [30] }, min_size_mm: 19, simplify_m: 0 });
  t.deepEqual(
    drawTiers({ pixels: { row: [1500, 1500], col: [3000, 3000], mm: [20, 30] }, min_size_mm: 19, simplify_m: 0 }),
    once,
  );
});

test('order does not matter', (t) => {
  const pixels = maximumPixelsOf(
    drawTenths([
      [200, 0, 300],
      [200, 300, 300],
      [0, 0, 200],
    ]),
  );
  const turned = { row: pixels.row.toReversed(), col: pixels.col.toReversed(), mm: pixels.mm.toReversed() };
  const redrawn = drawTiers({ pixels: turned, min_size_mm: 19, simplify_m: 500 });
  t.deepEqual(redrawn, drawTiers({ pixels, min_size_mm: 19, simplify_m: 500 }));
});

sharedTest(
  'the real day has the areas measured independently, whatever the simplification, and valid geometries',
  (t) => {
    const pixels = maximumPixelsOf(realField(REAL_DAY));
    for (const simplify_m of [0, 500, 5000]) {
      const tiers = drawTiers({ pixels, min_size_mm: 19, simplify_m });
      t.deepEqual(pluck(tiers, 'threshold_mm'), [19, 25, 38, 63, 69]);
      const areas = tiers.map(({ area_km2 }) => area_km2.toFixed(4));
      t.deepEqual(areas, ['2554.3145', '820.3107', '84.9898', '2.8536', '1.7587']);
      for (const { geometry } of tiers) t.is(isValidMultiPolygon(geometry), null);
    }
  },
);

sharedTest('unsimplified tiers of the real day are those the pipeline publishes', (t) => {
  const pixels = maximumPixelsOf(realField(REAL_DAY));
  const rows = pixels.mm.map((max_mm, i) => dayMaxRow({ row: pixels.row[i], col: pixels.col[i], max_mm }));
  const published = publishedTiers(rows, DAY, new Map(SIZE_BANDS.map(({ threshold_mm }) => [threshold_mm, 0])));
  t.deepEqual(
    drawTiers({ pixels, min_size_mm: 19, simplify_m: 0 }).map(({ threshold_mm, category, geometry }) => ({
      threshold_mm,
      category,
      geometry,
    })),
    published.map(({ threshold_mm, category, geometry }) => ({
      threshold_mm,
      category,
      geometry: multiPolygonFromWkt(geometry),
    })) as never,
  );
});

/** Metres of a degree of latitude, not less than anywhere. */
const METRES_PER_DEGREE = 111_700;
/** How closely points are sampled, metres. */
const SAMPLED_M = 300;

/** Points of a MultiPolygon: along every ring, and a grid over each polygon. */
function* samples(polygons: MultiPolygon): Generator<[number, number]> {
  for (const rings of polygons) {
    for (const ring of rings)
      for (const [i, to] of ring.slice(1).entries()) {
        const from = ring[i] as number[];
        const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        const steps = Math.ceil((Math.hypot(dx, dy) * METRES_PER_DEGREE) / SAMPLED_M);
        for (let k = 0; k < steps; k++) yield [from[0] + (dx * k) / steps, from[1] + (dy * k) / steps];
      }
    const [west, south, east, north] = boxOf(rings);
    for (let x = west; x < east; x += 0.005)
      for (let y = south; y < north; y += 0.005) if (isInside(rings, x, y)) yield [x, y];
  }
}

function boxOf(rings: readonly Ring[]): [number, number, number, number] {
  const on = (axis: number) => rings.flat().map((position) => position[axis]);
  return [Math.min(...on(0)), Math.min(...on(1)), Math.max(...on(0)), Math.max(...on(1))];
}

function isInside(rings: readonly Ring[], x: number, y: number): boolean {
  let within = false;
  for (const ring of rings)
    for (const [i, to] of ring.slice(1).entries()) {
      const [ax, ay, bx, by] = [...(ring[i] as number[]), ...to] as [number, number, number, number];
      if (ay > y !== by > y && x < ax + ((y - ay) * (bx - ax)) / (by - ay)) within = !within;
    }
  return within;
}

function distance_m(rings: readonly Ring[], x: number, y: number): number {
  const perLon = METRES_PER_DEGREE * Math.cos((y * Math.PI) / 180);
  let least = Number.POSITIVE_INFINITY;
  for (const ring of rings)
    for (const [i, to] of ring.slice(1).entries()) {
      const from = ring[i] as number[];
      const [ax, ay] = [(from[0] - x) * perLon, (from[1] - y) * METRES_PER_DEGREE];
      const [dx, dy] = [(to[0] - from[0]) * perLon, (to[1] - from[1]) * METRES_PER_DEGREE];
      const share = Math.max(0, Math.min(1, -(ax * dx + ay * dy) / (dx * dx + dy * dy)));
      least = Math.min(least, Math.hypot(ax + share * dx, ay + share * dy));
    }
  return least;
}

/** How far a tier reaches out of the one below, metres. */
function reach_m(tier: MultiPolygon, below: MultiPolygon): number {
  const boxes = below.map((rings) => ({ rings, box: boxOf(rings) }));
  let reach = 0;
  for (const [x, y] of samples(tier)) {
    const near = boxes.filter(
      ({ box: [west, south, east, north] }) => x > west - 0.2 && x < east + 0.2 && y > south - 0.2 && y < north + 0.2,
    );
    if (near.some(({ rings }) => isInside(rings, x, y))) continue;
    reach = Math.max(
      reach,
      near.reduce((least, { rings }) => Math.min(least, distance_m(rings, x, y)), Infinity),
    );
  }
  return reach;
}

/** What the note of an answer promises; null when it holds. */
function brokenPromise(pixels: ReturnType<typeof maximumPixelsOf>, simplify_m: number): string | null {
  const exact = drawTiers({ pixels, min_size_mm: 19, simplify_m: 0 });
  const tiers = drawTiers({ pixels, min_size_mm: 19, simplify_m });
  for (const [index, { threshold_mm, geometry }] of tiers.entries()) {
    const invalid = isValidMultiPolygon(geometry);
    if (invalid !== null) return `${threshold_mm} mm is not valid: ${invalid}`;
    const footprints = exact[index]?.geometry.length;
    if (geometry.length !== footprints) return `${threshold_mm} mm has ${geometry.length} of ${footprints} footprints`;
    const below = tiers[index - 1];
    const reach = below === undefined ? 0 : reach_m(geometry, below.geometry);
    if (reach > simplify_m + 1) return `${threshold_mm} mm reaches ${reach} m out of the tier below`;
  }
  return null;
}

test('footprints of any shape are all drawn in every tier, valid, and within the tier below up to simplify_m', (t) => {
  const side = 10;
  const sizes = fc.array(fc.constantFrom(0, 0, 190, 190, 250, 380, 630, 690, 1010), {
    minLength: side * side,
    maxLength: side * side,
  });
  const property = fc.property(sizes, fc.integer({ min: 0, max: 5000 }), (tenths, simplify_m) => {
    const rows = Array.from({ length: side }, (_, r) => tenths.slice(r * side, (r + 1) * side));
    t.is(brokenPromise(maximumPixelsOf(drawTenths(rows)), simplify_m), null);
  });
  fc.assert(property, { numRuns: 60 });
});

sharedTest('footprints of the real day are all drawn in every tier, within the tier below up to simplify_m', (t) => {
  const pixels = maximumPixelsOf(realField(REAL_DAY));
  for (const simplify_m of [0, 500, 1300, 2000, 3500, 5000]) t.is(brokenPromise(pixels, simplify_m), null);
});
