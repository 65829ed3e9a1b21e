import test from 'ava';
import fc from 'fast-check';
import { coverageOf, radarGapsOf, type Span } from '../../../api/rules/radar-coverage.ts';
import { type DateSeenInPart, GAPS_LISTED_MAX } from '../../../schemas/resources/radar-gaps.ts';
import { MS_PER_MIN, timestamp } from '../../../schemas/time.ts';

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);
const at = (minute: number) => DAY_MS + minute * MS_PER_MIN;
const DAY: Span = { from_ms: at(0), to_ms: at(1440) };
const every = (minutes: number, from = 0, to = 1440) =>
  Array.from({ length: Math.ceil((to - from) / minutes) }, (_, k) => from + k * minutes);

/** Coverage of scans at these minutes; those of `blind` did not see the place. */
function ofScans(minutes: readonly number[], blind: readonly number[] = [], span = DAY, isRunning = false) {
  const times = minutes.map(at);
  return coverageOf({ times, seen: minutes.map((minute) => Number(!blind.includes(minute))) }, span, null, isRunning);
}
function partOf(coverage: ReturnType<typeof ofScans>): DateSeenInPart | undefined {
  return radarGapsOf([], new Map([[DATE, coverage]])).dates_seen_in_part[0];
}
const clocks = (part: DateSeenInPart | undefined) =>
  part?.gaps.map(({ from, to }) => `${from.slice(11, 16)}-${to.slice(11, 16)}`);

test('a date with a scan every two minutes, or every ten, was seen', (t) => {
  for (const minutes of [every(2), every(10)]) {
    const coverage = ofScans(minutes);
    t.is(coverage.share, 1);
    t.is(partOf(coverage), undefined);
  }
});

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
  t.deepEqual(
    longest.filter((from) => !part?.gaps.some((gap) => gap.from === from)),
    [],
  );
  t.deepEqual(
    part?.gaps.map(({ from }) => from),
    part?.gaps.map(({ from }) => from).toSorted(),
  );
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
  const share = (before: Parameters<typeof coverageOf>[2]) => coverageOf({ times, seen }, DAY, before, false).share;
  t.is(share({ time_ms: at(-3), seen_ms: at(-3) }), 1);
  t.is(share({ time_ms: at(-7), seen_ms: at(-7) }), 1438 / 1440);
  for (const before of [null, { time_ms: at(-3), seen_ms: at(-5) }, { time_ms: at(-20), seen_ms: at(-20) }])
    t.is(share(before), 1435 / 1440);
});

test('a gap that begins on the date before is as long as both parts together, however short its part of the date is', (t) => {
  const times = every(2, 8).map(at);
  const looks = { times, seen: times.map(() => 1) };
  const part = (time_ms: number, seen_ms: number | null) =>
    clocks(partOf(coverageOf(looks, DAY, { time_ms, seen_ms }, false)));
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
  fc.assert(
    fc.property(looks, (drawn) => {
      const sorted = drawn.toSorted((a, b) => a.minute - b.minute);
      const coverage = coverageOf(
        { times: sorted.map(({ minute }) => at(minute)), seen: sorted.map(({ seen }) => Number(seen)) },
        DAY,
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
    }),
  );
});

test('a date that came as the sum of a day has unknown scans, which are not full ones', (t) => {
  t.deepEqual(radarGapsOf(['2026-05-02'], new Map([[DATE, null]])), {
    dates_without_data: ['2026-05-02'],
    dates_with_unknown_scans: [DATE],
    dates_seen_in_part: [],
    coverage: [{ date: DATE, share: null }],
  });
});
