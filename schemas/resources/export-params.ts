import type { Bbox } from '../geo/position.ts';

/** Datasets of exports. */
export const DATASETS = ['detections', 'swaths', 'reports'] as const;
export type Dataset = (typeof DATASETS)[number];

/** File formats of exports. */
export const EXPORT_FORMATS = ['csv', 'geojson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Most storm dates in one export, first and last included. */
export const EXPORT_DAYS_MAX = 31;

/** Most rows of a file; the latest rows beyond are left out. Swaths need no cap: they have a row for each date and size tier. */
export const EXPORT_ROW_CAPS = {
  detections: 250_000,
  reports: 50_000,
  swaths: Number.POSITIVE_INFINITY,
} as const satisfies Record<Dataset, number>;

/** Validated parameters of an export: dates exist and are in order, at most one of bbox and state is set. */
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

/** Facts about the file of an export. */
export interface ExportSummary {
  /** Rows in the file. */
  readonly row_count: number;
  /** There are more rows than an export may have: the latest were left out. */
  readonly truncated: boolean;
}
