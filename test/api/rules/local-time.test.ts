import test from 'ava';
import { localTimeAt } from '../../../api/rules/local-time.ts';

const at = (lat: number, lon: number, time: string) => {
  const local = localTimeAt({ lat, lon });
  return local === null ? null : { zone: local.zone, ...local.at(Date.parse(time)) };
};

for (const [where, lat, lon, time, expected] of [
  ['Kansas City in summer', 39.1, -94.6, '2026-05-02T00:31:00Z', ['America/Chicago', '2026-05-01', '7:31 p.m.', 'CDT']],
  [
    'Kansas City in winter',
    39.1,
    -94.6,
    '2026-01-02T06:05:00Z',
    ['America/Chicago', '2026-01-02', '12:05 a.m.', 'CST'],
  ],
  [
    'the last minute of winter time',
    39.1,
    -94.6,
    '2026-03-08T07:59:00Z',
    ['America/Chicago', '2026-03-08', '1:59 a.m.', 'CST'],
  ],
  [
    'the first of summer time',
    39.1,
    -94.6,
    '2026-03-08T08:00:00Z',
    ['America/Chicago', '2026-03-08', '3:00 a.m.', 'CDT'],
  ],
  [
    'Phoenix, without summer time',
    33.45,
    -112.07,
    '2026-07-01T19:00:00Z',
    ['America/Phoenix', '2026-07-01', '12:00 p.m.', 'MST'],
  ],
  ['Denver', 39.74, -104.99, '2026-07-01T19:00:00Z', ['America/Denver', '2026-07-01', '1:00 p.m.', 'MDT']],
  ['New York', 40.71, -74.01, '2026-07-01T19:00:00Z', ['America/New_York', '2026-07-01', '3:00 p.m.', 'EDT']],
  ['western Kansas', 39.35, -101.71, '2026-07-01T19:00:00Z', ['America/Denver', '2026-07-01', '1:00 p.m.', 'MDT']],
] as const)
  test(`local time: ${where}`, (t) => {
    const [zone, date, clock, abbreviation] = expected;
    t.deepEqual(at(lat, lon, time), { zone, date, clock, abbreviation });
  });

test('local time: far out at sea there is none', (t) => {
  t.is(at(35, -140, '2026-07-01T19:00:00Z'), null);
  t.is(at(0, 0, '2026-07-01T19:00:00Z'), null);
});
