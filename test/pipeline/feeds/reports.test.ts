import { readFileSync } from 'node:fs';
import test from 'ava';
import fc from 'fast-check';
import { collectedRows } from '../../../pipeline/feeds/collected-spans.ts';
import { uniqueReports } from '../../../pipeline/feeds/reports.ts';
import { readLsrGeoJson } from '../../../pipeline/read/reports.ts';
import type { CollectedReports, CollectedSpan, FileReport } from '../../../schemas/tables/feeds.ts';
import { MS_PER_MIN, timestamp } from '../../../schemas/time.ts';
import { feedFigures } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const T0 = Date.parse('2025-06-05T23:00:00Z');

/** A local storm report `at` minutes after 23 UTC in a product issued `issued` minutes after 23 UTC. */
function lsr(at: number, issued: number, size_mm: number, more: Partial<FileReport> = {}): FileReport {
  const report = {
    source: 'lsr' as const,
    time: T0 + at * MS_PER_MIN,
    lat: 33.24,
    lon: -103.28,
    size_mm,
    is_measured: false,
    place: '2 ESE Tatum',
    county: 'Lea',
    state: 'NM',
    office: 'MAF',
    remark: null,
    product_id: `product ${issued}`,
    issued_at: T0 + issued * MS_PER_MIN,
    data_source: 'observed' as const,
    is_correction: false,
    corrects_place: null,
    list: null,
    ...more,
  };
  return {
    report_id: `${report.source}:${report.office}:${timestamp(report.time)}:${report.lat},${report.lon}`,
    ...report,
  };
}

function spc(at: number, size_mm: number, more: Partial<FileReport> = {}): FileReport {
  return lsr(at, 0, size_mm, { source: 'spc', product_id: null, issued_at: null, is_measured: null, ...more });
}

/** Standing reports in order of time. */
function standing(reports: readonly FileReport[]): FileReport[] {
  const keyOf = ({ time, report_id, data_source }: FileReport) => `${time} ${report_id} ${data_source}`;
  return uniqueReports(reports).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const sizes = (reports: readonly FileReport[]) => standing(reports).map(({ size_mm }) => size_mm);

sharedTest('the four hail rows of 5 June 2025 are two events: 3.0 inches corrected, 5.0 inches issued twice', (t) => {
  const name = 'iem_lsrs_by_point_20250605_trimmed.geojson';
  const { rows } = readLsrGeoJson(readFileSync(sharedData('reports', 'lsr', name)), name, T0 + 86_400_000);
  const unique = standing(rows);
  t.is(unique.length, feedFigures().reports.iem_lsr[name]!.distinct_hail_time_place);
  t.deepEqual(
    unique.map(({ size_mm, product_id }) => [size_mm, product_id]),
    [
      [76.2, '202506060013-KMAF-NWUS54-LSRMAF'],
      [127, '202506060913-KLUB-NWUS54-LSRLUB'],
    ],
  );
});

test('of a report issued again the newest product counts, whatever the order', (t) => {
  t.deepEqual(sizes([lsr(32, 66, 63.5), lsr(32, 73, 76.2)]), [76.2]);
  t.deepEqual(sizes([lsr(32, 73, 50.8), lsr(32, 66, 63.5)]), [50.8]);
});

test('of two sizes in one product the larger counts', (t) => {
  t.deepEqual(sizes([lsr(32, 66, 25.4), lsr(32, 66, 44.45)]), [44.45]);
});

test('a correction that moves the time replaces the report nearest in time', (t) => {
  const moved = lsr(34, 70, 25.4, { is_correction: true, corrects_place: '2 ESE Tatum' });
  t.deepEqual(sizes([lsr(10, 20, 19.05), lsr(40, 50, 31.75), moved]), [19.05, 25.4]);
});

test('a correction that moves the place replaces the report at the place it names', (t) => {
  const moved = lsr(32, 70, 44.45, {
    is_correction: true,
    corrects_place: '2 ese  tatum',
    place: '4 E Tatum',
    lon: -103.2,
  });
  t.deepEqual(sizes([lsr(32, 40, 25.4), moved]), [44.45]);
});

test('a correction at the same time and place leaves an earlier event there alone', (t) => {
  const corrected = lsr(32, 70, 76.2, { is_correction: true, corrects_place: '2 ESE Tatum' });
  t.deepEqual(sizes([lsr(0, 10, 25.4), lsr(32, 60, 63.5), corrected]), [25.4, 76.2]);
});

test('a correction issued twice still replaces what it corrects', (t) => {
  const moved = (issued: number) => lsr(34, issued, 25.4, { is_correction: true, corrects_place: '2 ESE Tatum' });
  t.deepEqual(sizes([lsr(40, 50, 31.75), moved(70), moved(90)]), [25.4]);
});

test('a correction never replaces another office, a later report, or one more than an hour away', (t) => {
  const correction = lsr(0, 70, 25.4, { is_correction: true, corrects_place: '2 ESE Tatum', lat: 33.3 });
  t.deepEqual(sizes([lsr(5, 20, 19.05, { office: 'LUB' }), correction]), [25.4, 19.05]);
  t.deepEqual(sizes([lsr(5, 80, 19.05), correction]), [25.4, 19.05]);
  t.deepEqual(sizes([lsr(61, 65, 19.05), correction]), [25.4, 19.05]);
});

test('a row of the list at the minute and place of a local storm report is a copy of it', (t) => {
  t.deepEqual(
    standing([spc(32, 63.5, { lat: 33.25 }), lsr(32, 73, 76.2)]).map(({ source, size_mm }) => [source, size_mm]),
    [['lsr', 76.2]],
  );
  t.deepEqual(sizes([spc(33, 63.5), lsr(32, 73, 76.2)]), [76.2, 63.5]);
  t.deepEqual(sizes([spc(32, 63.5, { lat: 33.4 }), lsr(32, 73, 76.2)]).toSorted(), [63.5, 76.2]);
});

test('the raw and the filtered list together count a report once', (t) => {
  t.deepEqual(sizes([spc(32, 63.5), spc(32, 63.5)]), [63.5]);
});

test('simulated and observed reports never join', (t) => {
  t.is(standing([lsr(32, 66, 25.4), lsr(32, 73, 50.8, { data_source: 'simulated' })]).length, 2);
  t.is(standing([spc(32, 25.4), lsr(32, 73, 50.8, { data_source: 'simulated' })]).length, 2);
});

const anyReport = fc
  .record({
    at: fc.integer({ min: 0, max: 6 }),
    issued: fc.integer({ min: 0, max: 9 }),
    size_mm: fc.constantFrom(19.05, 25.4, 44.45),
    is_spc: fc.boolean(),
    more: fc.record({
      lat: fc.constantFrom(33.24, 33.25, 33.4),
      office: fc.constantFrom('MAF', 'LUB'),
      place: fc.constantFrom('A', 'B'),
    }),
    corrects_place: fc.option(fc.constantFrom('A', 'B')),
  })
  .map(({ at, issued, size_mm, is_spc, more, corrects_place }) =>
    is_spc
      ? spc(10 * at, size_mm, more)
      : lsr(10 * at, 10 * at + issued, size_mm, { ...more, is_correction: corrects_place !== null, corrects_place }),
  );

test('the order of arrival never changes the events', (t) => {
  fc.assert(
    fc.property(
      fc.array(anyReport, { maxLength: 14 }).chain((reports) =>
        fc.record({
          reports: fc.constant(reports),
          shuffled: fc.shuffledSubarray(reports, { minLength: reports.length }),
        }),
      ),
      ({ reports, shuffled }) => {
        t.deepEqual(standing(shuffled), standing(reports));
      },
    ),
    { numRuns: 300 },
  );
});

test('joining what is joined already changes nothing more', (t) => {
  fc.assert(
    fc.property(fc.array(anyReport, { maxLength: 14 }), (reports) => {
      const once = standing(reports).map((report) => ({ ...report, is_correction: false, corrects_place: null }));
      const again = standing(once);
      t.deepEqual(again, once);
    }),
    { numRuns: 200 },
  );
});

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
  t.deepEqual(told(collectedRows([], [span('spc', '01T12:00', '02T12:00')], [], 0)), [
    '2026-05-01 spc 01T12:00 02T00:00',
    '2026-05-02 spc 02T00:00 02T12:00',
  ]);
  t.deepEqual(told(collectedRows([], [span('spc', '01T12:00', '02T12:00')], [], 12)), [
    '2026-05-01 spc 01T12:00 02T12:00',
  ]);
  t.deepEqual(told(collectedRows([], [span('spc', '01T12:00', '01T18:37')], [], 0)), [
    '2026-05-01 spc 01T12:00 01T18:30',
  ]);
});

test('spans of a source that touch are joined, and a gap between them stays', (t) => {
  const first = collectedRows([], [span('lsr', '01T00:00', '01T06:00'), span('spc', '01T12:00', '01T13:00')], [], 0);
  const then = collectedRows(first, [span('lsr', '01T05:00', '01T10:00')], [], 0);
  t.deepEqual(told(then), ['2026-05-01 lsr 01T00:00 01T10:00', '2026-05-01 spc 01T12:00 01T13:00']);
  const later = collectedRows(then, [span('lsr', '01T20:00', '02T01:00')], [], 0);
  t.deepEqual(told(later), [
    '2026-05-01 lsr 01T00:00 01T10:00',
    '2026-05-01 lsr 01T20:00 02T00:00',
    '2026-05-01 spc 01T12:00 01T13:00',
    '2026-05-02 lsr 02T00:00 02T01:00',
  ]);
  t.deepEqual(collectedRows(later, [], [], 0), later, 'without news nothing changes');
});

test('a list that did not change goes on counting, up to the end of its day and not beyond', (t) => {
  const list = collectedRows([], [span('spc', '01T12:00', '01T18:00')], [], 0);
  t.deepEqual(told(collectedRows(list, [span('spc', null, '01T21:00')], [], 0)), ['2026-05-01 spc 01T12:00 01T21:00']);
  t.deepEqual(told(collectedRows(list, [span('spc', null, '03T01:00')], [], 0)), [
    '2026-05-01 spc 01T12:00 02T00:00',
    '2026-05-02 spc 02T00:00 02T12:00',
  ]);
  t.deepEqual(collectedRows([], [span('spc', null, '01T21:00')], [], 0), [], 'a look without any list says nothing');
});

test('what was simulated is no part of what was observed', (t) => {
  const rows = collectedRows(
    [],
    [span('spc', '01T12:00', '02T00:00'), { ...span('spc', '01T12:00', '02T00:00'), data_source: 'simulated' }],
    [],
    0,
  );
  t.deepEqual(
    rows.map(({ data_source }) => data_source),
    ['observed', 'simulated'],
  );
});
