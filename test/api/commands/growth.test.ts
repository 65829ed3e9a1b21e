import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import { growthFinding, growthOf } from '../../../api/commands/growth.ts';

const GB = 1e9;

/** Dates from 1 May on with so many bytes each, raw and published. */
function dates(...bytes: readonly (readonly [raw: number, published: number])[]) {
  return new Map(bytes.map(([raw, published], k) => [`2026-05-${String(k + 1).padStart(2, '0')}`, { raw, published }]));
}

test('days are left by what a day takes, without the newest date, which may still be running', (t) => {
  const growth = growthOf(dates([3 * GB, GB], [5 * GB, 3 * GB], [GB, 0]), 60 * GB, null);
  t.deepEqual(growth, { per_day: { raw: 4 * GB, published: 2 * GB }, dates: 2, free_bytes: 60 * GB, days_left: 10 });
});

test('only the last seven whole dates count', (t) => {
  const growth = growthOf(dates([90 * GB, 0], ...Array(8).fill([GB, GB])), 60 * GB, null);
  t.deepEqual([growth.dates, growth.per_day.raw, growth.days_left], [7, GB, 30]);
});

test('raw files stop growing once as many days are full as they are kept', (t) => {
  const three = dates([GB, GB], [GB, GB], [GB, GB]);
  // 27 days more fill up with 2 GB each; the other 6 GB take 1 GB a day.
  t.is(growthOf(three, 60 * GB, 30).days_left, 33);
  t.is(growthOf(three, 60 * GB, 3).days_left, 60);
  t.is(growthOf(three, 40 * GB, 30).days_left, 20);
});

test('without any date nothing tells how long the disk lasts', (t) => {
  t.is(growthOf(new Map(), GB, null).days_left, null);
});

test('a date takes its raw files, tables, tiles and state, and what belongs to no date is not counted', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'hail-growth-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  t.regex(growthFinding(root, null).message, /^no date has data yet, .* are free$/);
  for (const [path, bytes] of [
    ['archive/observed/date=2026-05-01/a', 4000],
    ['tables/detections/date=2026-05-01/a.parquet', 1000],
    ['tiles/scan/date=2026-05-01/a.pmtiles', 500],
    ['state/date=2026-05-01/a', 500],
    ['tables/day-max/month=2026-05/a.parquet', 9000],
    ['archive/observed/date=2026-05-02/a', 10],
  ] as const) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), Buffer.alloc(bytes));
  }
  t.regex(
    growthFinding(root, null).message,
    /^a day of data takes 6\.0 kB \(mean of 1 date\), 4\.0 kB of it raw files that are kept for ever; .* are free: [\d,]+ days left$/,
  );
  t.regex(growthFinding(root, 30).message, /raw files that are kept for 30 days; /);
});

test('a data root that is not there is noted, not an error', (t) => {
  t.deepEqual(growthFinding('/nowhere/at/all', null), {
    status: 'note',
    message: '/nowhere/at/all is not there: nothing can be said of its disk',
  });
});
