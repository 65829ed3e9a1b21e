import { z } from 'zod';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import * as column from '../units.ts';

/** Feeds that carry ground reports: the daily lists of the Storm Prediction Center, and local storm reports. */
export const REPORT_FEEDS = ['spc', 'lsr'] as const;

/** One observation of hail on the ground, after corrections and copies are joined. */
export const GroundReport = z.object({
  storm_date: column.stormDate('Storm date of the time.'),
  report_id: column.text('Feed, office, time and position: the same event has the same id in every file of a feed.'),
  source: column.word('Feed the report came from.', REPORT_FEEDS),
  time: column.instant('When the hail fell, as reported; usually good to 5 to 15 minutes.'),
  lat: column.latitude('Position as reported; usually good to 1 to 5 km.'),
  lon: column.longitude('Position as reported.'),
  size_mm: column.millimetres('Largest hailstone, from inches; sizes cluster at those of known objects.'),
  is_measured: column.flag('The stone was measured, not estimated; null where the feed does not say.').nullable(),
  place: column.text('Distance and direction from a named place.'),
  county: column.text('County, or marine zone such as AMZ454 over water.'),
  state: column.text('USPS code of the state.'),
  office: column
    .text('Forecast office that took the report, three letters; null where the feed does not say.')
    .nullable(),
  remark: column.text('Words of the report.').nullable(),
  product_id: column
    .text('Product that carried the report; null in the lists of the Storm Prediction Center.')
    .nullable(),
  issued_at: column
    .instant('When that product was issued; null in the lists of the Storm Prediction Center.')
    .nullable(),
  data_source: provenanceColumn('Who wrote the report.'),
});
export type GroundReport = z.infer<typeof GroundReport>;

/** A report as in its file, without a storm date. */
export interface FileReport extends Omit<GroundReport, 'storm_date'> {
  /** True for a correction, which replaces an earlier report of the same office. */
  readonly is_correction: boolean;
  /** Place of the corrected report, if the remark names it. */
  readonly corrects_place: string | null;
}

export const groundReports = table({
  name: 'ground-reports',
  row: GroundReport,
  schema_version: 1,
  order: 'time, report_id',
});
