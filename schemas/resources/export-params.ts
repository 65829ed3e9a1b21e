import type { Bbox } from '../geo/position.ts';

/** What can be exported. */
export const DATASETS = ['detections', 'swaths', 'reports'] as const;
export type Dataset = (typeof DATASETS)[number];

/** What a file of an export may be. */
export const EXPORT_FORMATS = ['csv', 'geojson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Most storm dates in one export, first and last included. */
export const EXPORT_DAYS_MAX = 31;

/** Most rows in a file; what lies beyond is the latest, and left out. Swaths are few: a row for each date and size tier. */
export const EXPORT_ROW_CAPS = {
  detections: 250_000,
  reports: 50_000,
  swaths: Number.POSITIVE_INFINITY,
} as const satisfies Record<Dataset, number>;

/** What an export is asked for, validated: dates exist and are in order, at most one of bbox and state. */
export interface ExportParams {
  readonly dataset: Dataset;
  /** Storm dates, both included. */
  readonly date_start: string;
  readonly date_end: string;
  readonly bbox: Bbox | null;
  /** USPS code. */
  readonly state: string | null;
  readonly format: ExportFormat;
}

/** What is said of a file beside its address. */
export interface ExportSummary {
  /** Rows in the file. */
  readonly row_count: number;
  /** There are more rows than an export may have: the latest were left out. */
  readonly truncated: boolean;
}
