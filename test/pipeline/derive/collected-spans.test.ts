import test from 'ava';
import { collectedRows } from '../../../pipeline/derive/collected-spans.ts';
import type { CollectedReports, CollectedSpan } from '../../../schemas/tables/collected-reports.ts';

const at = (time: string) => Date.parse(`2026-05-${time}:00Z`);
const span = (source: 'spc' | 'lsr', from: string | null, until: string): CollectedSpan => ({
  ...{ source, from_ms: from === null ? null : at(from), until_ms: at(until), data_source: 'observed' },
});
const told = (rows: readonly CollectedReports[]) =>
  rows.map(({ storm_date, source, collected_from, collected_until }) =>
    [
      storm_date,
      source,
      ...[collected_from, collected_until].map((ms) => new Date(ms).toISOString().slice(8, 16)),
    ].join(' '),
  );

test('the list of a convective day counts for both of its UTC dates, up to when it was collected', (t) => {
  t.deepEqual(told(collectedRows([], [span('spc', '01T12:00', '02T12:00')], 0)), [
    '2026-05-01 spc 01T12:00 02T00:00',
    '2026-05-02 spc 02T00:00 02T12:00',
  ]);
  t.deepEqual(told(collectedRows([], [span('spc', '01T12:00', '02T12:00')], 12)), ['2026-05-01 spc 01T12:00 02T12:00']);
  t.deepEqual(told(collectedRows([], [span('spc', '01T12:00', '01T18:37')], 0)), ['2026-05-01 spc 01T12:00 01T18:30']);
});

test('spans of a source that touch are joined, and a gap between them stays', (t) => {
  const first = collectedRows([], [span('lsr', '01T00:00', '01T06:00'), span('spc', '01T12:00', '01T13:00')], 0);
  const then = collectedRows(first, [span('lsr', '01T05:00', '01T10:00')], 0);
  t.deepEqual(told(then), ['2026-05-01 lsr 01T00:00 01T10:00', '2026-05-01 spc 01T12:00 01T13:00']);
  const later = collectedRows(then, [span('lsr', '01T20:00', '02T01:00')], 0);
  t.deepEqual(told(later), [
    '2026-05-01 lsr 01T00:00 01T10:00',
    '2026-05-01 lsr 01T20:00 02T00:00',
    '2026-05-01 spc 01T12:00 01T13:00',
    '2026-05-02 lsr 02T00:00 02T01:00',
  ]);
  t.deepEqual(collectedRows(later, [], 0), later, 'without news nothing changes');
});

test('a list that did not change goes on counting, up to the end of its day and not beyond', (t) => {
  const list = collectedRows([], [span('spc', '01T12:00', '01T18:00')], 0);
  t.deepEqual(told(collectedRows(list, [span('spc', null, '01T21:00')], 0)), ['2026-05-01 spc 01T12:00 01T21:00']);
  t.deepEqual(told(collectedRows(list, [span('spc', null, '03T01:00')], 0)), [
    '2026-05-01 spc 01T12:00 02T00:00',
    '2026-05-02 spc 02T00:00 02T12:00',
  ]);
  t.deepEqual(collectedRows([], [span('spc', null, '01T21:00')], 0), [], 'a look without any list says nothing');
});

test('what was simulated is no part of what was observed', (t) => {
  const rows = collectedRows(
    [],
    [span('spc', '01T12:00', '02T00:00'), { ...span('spc', '01T12:00', '02T00:00'), data_source: 'simulated' }],
    0,
  );
  t.deepEqual(
    rows.map(({ data_source }) => data_source),
    ['observed', 'simulated'],
  );
});
