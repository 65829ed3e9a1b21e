import type { MixedProvenance } from '../../schemas/provenance.ts';
import type { Verification } from '../../schemas/resources/verification.ts';
import type { GroundReport } from '../../schemas/tables/ground-reports.ts';

/** Largest MESH of one pixel on one storm date. */
export interface ReportPixel {
  /** Centre of the pixel; it reaches 0.005 degrees to each side. */
  readonly lat: number;
  readonly lon: number;
  readonly max_mm: number;
}

/** A ground report within the radius. */
export interface ReportedHail extends Pick<GroundReport, 'source' | 'time' | 'lat' | 'lon' | 'size_mm' | 'place'> {
  /** Geodesic, from the point. */
  readonly distance_m: number;
}

/** What a report shows of one event beside its verdict. */
export interface EventMaterial {
  readonly event_date: string;
  /** Pixels of 5 mm and more around the point, also those a little outside the radius. */
  readonly pixels: readonly ReportPixel[];
  /** All within the radius, by distance. */
  readonly reports: readonly ReportedHail[];
}

/** What a request has printed on its document: neither part of the finding nor checked. Null where nothing was given. */
export interface ReportLabels {
  readonly prepared_for: string | null;
  readonly reference: string | null;
  readonly address: string | null;
}

/** All that the document of a verification is made of: a pure function of it. */
export interface ReportMaterial {
  /** Null for one that no record has. */
  readonly report_id: string | null;
  /** Epoch milliseconds; the one thing in the document that differs when it is made again. */
  readonly generated_ms: number;
  readonly labels: ReportLabels;
  readonly verification: Verification;
  /** One for each event, in their order. */
  readonly events: readonly EventMaterial[];
  /** Of everything that was used; null without any. */
  readonly data_source: MixedProvenance | null;
  /** Of the radar data alone. */
  readonly radar_source: MixedProvenance | null;
  /** Storm dates of the range of which no ground report can be here, ascending: that none is listed says nothing. */
  readonly dates_without_reports: readonly string[];
  /** Hour of UTC at which a storm date begins. */
  readonly storm_day_start_hour: number;
}
