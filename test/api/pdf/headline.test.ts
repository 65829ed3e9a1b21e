import test from 'ava';
import { headline } from '../../../api/pdf/headline.ts';
import { reportEvents } from '../../../api/pdf/report-events.ts';
import type { ReportedHail, ReportPixel } from '../../../api/pdf/report-material.ts';
import { colLon, latRow, lonCol, rowLat } from '../../../schemas/geo/lattice.ts';
import { REPORT_POINT, reportAt, reportMaterial, verdictOf } from '../../support/data/report-material.ts';

const MAY = { start: '2026-05-01', end: '2026-05-30' };

/** A pixel so many rows north of the one over the point. */
function pixel(rows_north: number, max_mm: number): ReportPixel {
  return { lat: rowLat(latRow(REPORT_POINT.lat) - rows_north), lon: colLon(lonCol(REPORT_POINT.lon)), max_mm };
}

/** Storm dates from May 1 on. */
function days(
  ...found: readonly { readonly pixels?: readonly ReportPixel[]; readonly reports?: readonly ReportedHail[] }[]
) {
  return found.map(({ pixels = [], reports = [] }, k) => ({
    event: verdictOf(`2026-05-0${k + 1}`, {
      max_size_mm: pixels.length === 0 ? null : Math.max(...pixels.map(({ max_mm }) => max_mm)),
    }),
    pixels,
    reports,
  }));
}

function headlineOf(found: ReturnType<typeof days>, dates_without_data: readonly string[]): string {
  const material = reportMaterial(MAY, found, { dates_without_data: [...dates_without_data] });
  return headline(material, reportEvents(material)).replaceAll('\u00a0', ' ');
}

for (const [what, found, dates_without_data, expected] of [
  [
    'hail beside the location alone',
    days({ pixels: [pixel(2, 71.1)] }),
    [],
    'Radar estimates hail of up to 2.80 in, 1.09 mi away, on May 1, 2026; none over the location.',
  ],
  [
    'the same where data are missing',
    days({ pixels: [pixel(2, 71.1)] }),
    ['2026-05-20'],
    'Radar estimates hail of up to 2.80 in, 1.09 mi away, on May 1, 2026; none over the location in the published data.',
  ],
  [
    'a weak echo over the location',
    days({ pixels: [pixel(2, 71.1), pixel(0, 7)] }),
    [],
    'Radar estimates hail of up to 2.80 in, 1.09 mi away, on May 1, 2026; a weak echo only over the location.',
  ],
  [
    'hail over the location and more beside it',
    days({ pixels: [pixel(2, 71.1), pixel(0, 40)] }),
    [],
    'Radar estimates hail of up to 1.57 in over the location and up to 2.80 in within 1.09 mi, on May 1, 2026.',
  ],
  [
    'the same on two dates',
    days({ pixels: [pixel(0, 40)] }, { pixels: [pixel(2, 71.1)] }),
    [],
    'Radar estimates hail of up to 1.57 in over the location on May 1, 2026, and up to 2.80 in within 1.09 mi on May 2, 2026.',
  ],
  [
    'the largest over the location',
    days({ pixels: [pixel(2, 30), pixel(0, 40)] }),
    [],
    'Radar estimates hail of up to 1.57 in over the location on May 1, 2026, the largest within 5 miles.',
  ],
  [
    'a report without radar hail',
    days({ pixels: [pixel(2, 7)], reports: [reportAt(90, 2, 25.4, '2026-05-01T20:31:00Z')] }),
    [],
    'Hail of 1.00 in was reported on the ground, 1.24 mi away, on May 1, 2026; no radar detection.',
  ],
  [
    'a report without radar data',
    days({ reports: [reportAt(90, 2, 25.4, '2026-05-01T20:31:00Z')] }),
    ['2026-05-01'],
    'Hail of 1.00 in was reported on the ground, 1.24 mi away, on May 1, 2026; no radar data.',
  ],
  [
    'a weak echo alone',
    days({ pixels: [pixel(2, 7)] }),
    [],
    'A weak radar echo only, of up to 0.28 in, 1.09 mi away, on May 1, 2026: it may be no hail at all.',
  ],
] as const)
  test(`headline: ${what}`, (t) => t.is(headlineOf(found, dates_without_data), expected));

test('sizes by distance: a pixel counts in the ring of its nearest point, the one over the location in the first, too', (t) => {
  const found = days({ pixels: [pixel(0, 12), pixel(1, 20), pixel(3, 31), pixel(6, 44), pixel(9, 90)] });
  const [row] = reportEvents(reportMaterial(MAY, found));
  t.is(row?.overhead?.max_mm, 12);
  t.deepEqual(row?.rings_mm, [20, 31, 44]);
  t.is(row?.largest?.max_mm, 44);
  const [quiet] = reportEvents(reportMaterial(MAY, days({ pixels: [pixel(3, 31)] })));
  t.is(quiet?.overhead, null);
  t.deepEqual(quiet?.rings_mm, [null, 31, null]);
});
