import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { Verification } from '../../schemas/resources/verification.ts';
import type { GroundReport } from '../../schemas/tables/feeds.ts';
import type { Signs } from '../rules/verification.ts';

/** Largest MESH of one pixel on one storm date, with the distance to its rectangle. */
export type ReportPixel = Pick<Signs['pixels'][number], 'row' | 'col' | 'max_mm' | 'distance_m'>;

/** A ground report within the radius, with its geodesic distance from the point. */
export type ReportedHail = Pick<
  Signs<GroundReport>['reports'][number],
  'source' | 'time' | 'lat' | 'lon' | 'size_mm' | 'place' | 'distance_m'
>;

/** Pixels and reports of one event. */
export interface EventMaterial {
  /** Pixels of 5 mm and more around the point, also those a little outside the radius. */
  readonly pixels: readonly ReportPixel[];
  /** All reports within the radius, by distance. */
  readonly reports: readonly ReportedHail[];
}

/** Texts of the request that are printed on the document, unchecked and not part of the finding; null where absent. */
export interface ReportLabels {
  readonly prepared_for: string | null;
  readonly reference: string | null;
  readonly address: string | null;
}

/** The whole input of the document of a verification. */
export interface ReportMaterial {
  readonly report_id: string;
  /** Epoch milliseconds; the only difference between two documents of the same verification. */
  readonly generated_ms: number;
  readonly labels: ReportLabels;
  readonly verification: Verification;
  /** One for each event, in their order. */
  readonly events: readonly EventMaterial[];
  /** Source of all data used; null without data. */
  readonly data_source: MixedProvenance | null;
  /** Source of the radar data. */
  readonly radar_source: MixedProvenance | null;
  /** Storm dates of the range for which no ground reports were collected, ascending. */
  readonly dates_without_reports: readonly string[];
  /** Hour of UTC at which a storm date begins. */
  readonly storm_day_start_hour: number;
}
