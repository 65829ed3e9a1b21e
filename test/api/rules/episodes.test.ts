import test from 'ava';
import fc from 'fast-check';
import { CLEAR_AFTER_MS, type Episode, LATE_AFTER_MS, nextStep } from '../../../api/rules/episodes.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';

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
