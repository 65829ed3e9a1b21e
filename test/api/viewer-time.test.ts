import test from 'ava';
import { addressFault } from '../../api/viewer/address.ts';
import type { DayIndex } from '../../api/viewer/data/day.ts';
import { lastHours } from '../../api/viewer/data/service.ts';
import { agoInWords, localInWords } from '../../api/viewer/page/words.ts';
import { axisOf, nearestScan, OUTAGE_MS, playingTimes, shareOf } from '../../api/viewer/time/span.ts';
import { clockOfZone, hourOfZone } from '../../api/viewer/time/zones.ts';

/** A date with scans at these clocks, each with its largest hail, mm. */
function day(date: string, scans: Readonly<Record<string, number | null>>, source = 'observed'): DayIndex {
  const frames = Object.entries(scans).map(([clock, max_size_mm]) => ({
    scan_id: `${date}T${clock}Z`.replaceAll(/[-:]/g, ''),
    scan_time: `${date}T${clock}Z`,
    url: `/tiles/scan/${date}/${clock}`,
    reflectivity_url: null,
    max_prob: null,
    max_size_mm,
    storms: [],
  }));
  return { date, frames, daily_urls: [`/tiles/daily/${date}`], data_as_of: frames.at(-1)?.scan_time ?? null, source };
}

const NEWEST = day('2026-05-02', { '00:02:00': null, '12:00:00': 30 });

test('the last 24 hours begin 24 hours before the newest scan, in the date before', (t) => {
  const before = day('2026-05-01', { '11:58:00': 40, '12:00:00': 20, '23:58:00': null });
  const { frames, before: kept, date } = lastHours(NEWEST, before);
  t.is(date, '2026-05-02');
  const minutes = frames.map(({ scan_time }) => scan_time.slice(5, 16));
  t.deepEqual(minutes, ['05-01T12:00', '05-01T23:58', '05-02T00:02', '05-02T12:00']);
  t.deepEqual(kept, {
    date: '2026-05-01',
    scans: 2,
    from: '2026-05-01T12:00:00Z',
    shows_earlier: true,
  });
});

test('the swaths of the date before are left out when its hail fell earlier, or was too small for them', (t) => {
  const earlier = lastHours(NEWEST, day('2026-05-01', { '11:00:00': 60, '23:58:00': 18 }));
  t.deepEqual(earlier.daily_urls, NEWEST.daily_urls);
  const exact = lastHours(NEWEST, day('2026-05-01', { '11:00:00': 18, '23:58:00': 19 }));
  t.deepEqual(exact.daily_urls, ['/tiles/daily/2026-05-01', ...NEWEST.daily_urls]);
  t.false(exact.before?.shows_earlier);
});

test('two dates of different sources are mixed, and a date without scans in these hours does not count', (t) => {
  t.is(lastHours(NEWEST, day('2026-05-01', { '23:58:00': 20 }, 'simulated')).source, 'mixed');
  t.is(lastHours(NEWEST, day('2026-05-01', { '10:00:00': 20 }, 'simulated')).source, 'observed');
  t.is(lastHours(NEWEST, day('2026-05-01', {})).frames.length, 2);
});

test('a pause of more than ten minutes is an outage, and positions are in proportion to time', (t) => {
  const { frames } = day('2026-05-01', { '00:00:00': 1, '00:10:00': 1, '00:20:01': 1, '01:00:00': 1 });
  const axis = axisOf(frames);
  t.deepEqual(
    axis.outages.map(({ from_ms, to_ms }) => [from_ms, to_ms].map((ms) => new Date(ms).toISOString().slice(11, 19))),
    [
      ['00:10:00', '00:20:01'],
      ['00:20:01', '01:00:00'],
    ],
  );
  t.is(shareOf(axis, Date.parse('2026-05-01T00:15:00Z')), 0.25);
  t.is(nearestScan(axis, Date.parse('2026-05-01T00:15:02Z')), 2);
  t.is(nearestScan(axisOf([]), 0), -1);
});

test('playing is true to time, and an outage passes as ten minutes do', (t) => {
  const { frames } = day('2026-05-01', { '00:00:00': 1, '00:02:00': 1, '00:06:00': 1, '09:00:00': 1 });
  const [first, second, third, fourth] = playingTimes(axisOf(frames)) as [number, number, number, number];
  t.is(first, 0);
  t.is(Math.round((third - second) / second), 2);
  t.is(Math.round((fourth - third) / second), OUTAGE_MS / 120_000);
});

test('times read as clocks show them in a zone', (t) => {
  t.is(clockOfZone('2026-05-02T00:10:00Z', 'America/Chicago'), 'Fri 19:10 CDT');
  t.is(clockOfZone('2026-05-02T00:10:00Z', 'UTC'), '');
  const words = localInWords({ lat: 35.2, lng: -97.4 }, '2026-05-02T04:50:00Z', '2026-05-02T05:10:00Z');
  t.is(words, 'Fri 1 May 23:50 CDT–Sat 2 May 00:10 CDT (04:50–05:10 UTC)');
  t.is(localInWords({ lat: 30, lng: -140 }, '2026-05-02T04:50:00Z'), 'Sat 2 May 04:50 UTC');
  t.is(hourOfZone(Date.parse('2026-05-02T00:00:00Z'), 'America/Chicago'), '7 pm');
  t.is(hourOfZone(Date.parse('2026-05-02T00:30:00Z'), 'America/Denver'), '6:30 pm');
});

for (const [age_s, words] of [
  [20, 'just now'],
  [150, '2 min ago'],
  [7199, '119 min ago'],
  [7200, '2 h ago'],
  [200_000, '2 days ago'],
] as const)
  test(`a scan of ${age_s} s ago came '${words}'`, (t) => t.is(agoInWords(1000 * age_s), words));

test('a link that names no date of the calendar, or no scan, is told so', (t) => {
  t.regex(addressFault('#date=2026-02-30') ?? '', /the date “2026-02-30”, which does not exist/);
  t.regex(addressFault('#date=2026-02-01&frame=x') ?? '', /the scan “x”, which is not the name of a scan/);
  t.regex(addressFault('#date=2026-02-01&frame=20260201T999999Z') ?? '', /is not the name of a scan/);
  t.is(addressFault('#view=scan&date=2026-02-01&frame=20260201T000000Z'), null);
  t.is(addressFault(''), null);
});
