import { z } from 'zod';
import { table } from '../columns.ts';
import { type Provenance, provenanceColumn } from '../provenance.ts';
import * as column from '../units.ts';
import { REPORT_FEEDS } from './ground-reports.ts';

/** A period for which a source of ground reports was collected, with or without reports. */
export const CollectedReports = z.object({
  storm_date: column.stormDate('Storm date that the time lies in.'),
  source: column.word('Source that was collected.', REPORT_FEEDS),
  collected_from: column.instant('Beginning of the time whose reports were collected.'),
  collected_until: column.instant('End of it: what was reported of later times was not collected yet.'),
  data_source: provenanceColumn('Provenance of what was collected.'),
});
export type CollectedReports = z.infer<typeof CollectedReports>;

/** A period for which a source was collected. */
export interface CollectedSpan {
  readonly source: CollectedReports['source'];
  /** Null while the last collected list is the newest one: its period goes on up to the end of its day. */
  readonly from_ms: number | null;
  readonly until_ms: number;
  readonly data_source: Provenance;
}

export const collectedReports = table({
  name: 'collected-reports',
  row: CollectedReports,
  schema_version: 1,
  order: 'storm_date, source, collected_from, data_source',
});
