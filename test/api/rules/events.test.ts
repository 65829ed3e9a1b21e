import test from 'ava';
import fc from 'fast-check';
import { damageEstimate, forecastConfidence, trendOfYears } from '../../../api/legacy/resources.ts';
import { warningsSince } from '../../../api/queries/warnings.ts';
import { damageWord, hailDuration, kineticEnergy, terminalVelocity } from '../../../api/rules/damage.ts';
import { CLEAR_AFTER_MS, type Episode, LATE_AFTER_MS, nextStep } from '../../../api/rules/episodes.ts';
import { geodesicAreaKm2, pixelHull } from '../../../schemas/geo/hull.ts';
import type { Warning } from '../../../schemas/tables/feeds.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { pixelsOf, REAL_DAY, realField } from '../../support/data/pixels.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

/** Observation time of the first column. */
const START_MS = Date.parse('2026-05-01T20:00:00Z');

/** What a column of a timeline, or a scan of a property, says of the place. */
interface Look {
  readonly scan_ms: number;
  readonly on_time: boolean;
  readonly asked: boolean;
  readonly hail_mm: number | null;
  readonly covered_blocks: number | null;
}

const MARKS = { nothing: '.', open: 'C', keep: '-', resolve: 'R', close: 'X' } as const;

/** The alerts of one place, changed by scans one after the other. */
function place() {
  const alerts: { -readonly [Name in keyof Episode]: Episode[Name] }[] = [];
  const look = (scan: Look): string => {
    const step = nextStep(scan, alerts);
    const open = alerts.find(({ status }) => status === 'open');
    const { scan_ms, covered_blocks, hail_mm } = scan;
    if (step.kind === 'open')
      alerts.push({
        status: 'open',
        triggered_ms: scan_ms,
        last_seen_ms: scan_ms,
        max_size_mm: hail_mm ?? 0,
        covered_blocks,
      });
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
  t.deepEqual([-31, -30, -29, 0, 20, 39, 40].map(hailAt), [
    'open',
    'open',
    'nothing',
    'nothing',
    'nothing',
    'nothing',
    'open',
  ]);
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
  fc.assert(
    fc.property(
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
        t.deepEqual(
          alerts.map(({ last_seen_ms }) => (last_seen_ms - START_MS) / MS_PER_MIN),
          ends,
        );
      },
    ),
    { numRuns: 300 },
  );
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

test('less than a year of dates on either side is no trend', (t) => {
  t.is(trendOfYears({ days: 1, dates: 364 }, { days: 40, dates: 730 }), 'stable');
  t.is(trendOfYears({ days: 40, dates: 730 }, { days: 1, dates: 364 }), 'stable');
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
  t.deepEqual(
    [-1, 0, 44, 45].map((at) => inForce([warning], at).length),
    [0, 1, 1, 0],
  );
});

test('an update replaces its predecessor by name, without a VTEC line too', (t) => {
  const none = { vtec_event: null, vtec_action: null };
  const messages = [
    message('a', 0, 45, none),
    message('b', 20, 45, { ...none, message_type: 'Update', replaces: 'a' }),
  ];
  t.deepEqual(inForce(messages, 10), ['a']);
  t.deepEqual(inForce(messages, 20), ['b']);
});

test('an update replaces all earlier messages of its event, named or not', (t) => {
  const messages = [message('a', 0, 45), message('b', 10, 45), message('c', 20, 45, { vtec_action: 'CON' })];
  t.deepEqual(inForce(messages, 20), ['c']);
});

test('an update that shortens an event ends it early', (t) => {
  const messages = [message('a', 0, 45), message('b', 10, 15, { vtec_action: 'CON' })];
  t.deepEqual(inForce(messages, 20), []);
});

for (const vtec_action of ['CAN', 'EXP', 'UPG'])
  test(`the VTEC action ${vtec_action} ends its event`, (t) => {
    const messages = [message('a', 0, 45), message('b', 10, 45, { message_type: 'Update', vtec_action })];
    t.deepEqual(inForce(messages, 10), []);
  });

test('a CAP cancellation ends what it names', (t) => {
  const none = { vtec_event: null, vtec_action: null };
  const messages = [
    message('a', 0, 45, none),
    message('b', 10, 45, { ...none, message_type: 'Cancel', replaces: 'a' }),
  ];
  t.deepEqual(inForce(messages, 10), []);
});

test('a cancellation of a part leaves the part that the same minute continues', (t) => {
  const messages = [
    message('a', 0, 45),
    message('b', 20, 45, { message_type: 'Update', vtec_action: 'CAN' }),
    message('c', 20, 45, { message_type: 'Update', vtec_action: 'CON' }),
  ];
  t.deepEqual(inForce(messages, 25), ['c']);
});

test('the same event number in the next year is another event', (t) => {
  const year = 365 * 24 * 60;
  const messages = [message('a', 0, 45), message('b', year, year + 45)];
  t.deepEqual(inForce(messages, 10), ['a']);
  t.deepEqual(inForce(messages, year + 1), ['b']);
});

test('messages of the future change nothing yet', (t) => {
  const messages = [message('a', 0, 45), message('b', 20, 45, { vtec_action: 'CAN', replaces: 'a' })];
  t.deepEqual(inForce(messages, 19), ['a']);
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
  fc.assert(
    fc.property(
      fc.uniqueArray(anyMessage, { selector: (m) => m.warning_id }),
      fc.integer({ min: 0, max: 120 }),
      (messages, at) => {
        const found = warningsInForce(messages, at);
        t.true(
          found.every(
            ({ issued_at, expires_at }) => issued_at <= T0 + at * MS_PER_MIN && expires_at > T0 + at * MS_PER_MIN,
          ),
        );
        t.deepEqual(warningsInForce(messages.toReversed(), at), found);
      },
    ),
    { numRuns: 200 },
  );
});

/** Id and minutes after 20 UTC at which each warning of the past was over. */
const past = (messages: readonly Warning[], since: number, at: number) =>
  warningsSince(messages, T0 + since * MS_PER_MIN, T0 + at * MS_PER_MIN).map(({ message: { warning_id }, end_ms }) => [
    warning_id,
    (end_ms - T0) / MS_PER_MIN,
  ]);

test('a warning of the past is its last message, once', (t) => {
  const messages = [message('a', 0, 45), message('b', 10, 45, { vtec_action: 'CON' })];
  t.deepEqual(past(messages, 0, 100), [['b', 45]]);
});

test('a warning that expired before the span asked for is left out, one that reaches into it is not', (t) => {
  t.deepEqual(past([message('a', 0, 45)], 45, 100), []);
  t.deepEqual(past([message('a', 0, 45)], 44, 100), [['a', 45]]);
});

test('a warning that was cancelled is in the past until its cancellation', (t) => {
  const messages = [message('a', 0, 45), message('b', 20, 45, { vtec_action: 'CAN', replaces: 'a' })];
  t.deepEqual(past(messages, 0, 100), [['a', 20]]);
  t.deepEqual(past(messages, 20, 100), []);
  t.deepEqual(past(messages, 0, 19), [['a', 45]]);
});

test('a warning whose part was cancelled lives on in the part that was continued', (t) => {
  const messages = [
    message('a', 0, 45),
    message('b', 20, 45, { message_type: 'Update', vtec_action: 'CAN' }),
    message('c', 20, 45, { message_type: 'Update', vtec_action: 'CON' }),
  ];
  t.deepEqual(past(messages, 0, 100), [['c', 45]]);
});
