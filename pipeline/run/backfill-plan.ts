import { datesThrough } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { planScans } from '../sources/plan.ts';
import { type BackfillSource, listStormDate } from './storm-date-files.ts';

/** Dates of a range whose listing is read for an estimate: the first, the last and one between them. */
const SAMPLES = 3;
/** A page of a listing names up to this many objects. */
const PAGE_OBJECTS = 1000;
const SECONDS_PER_HOUR = 3600;

/** Cost of one scan and one date on one machine. */
export interface MeasuredCost {
  /** Seconds of one worker for a scan. */
  readonly scan_s: number;
  /** Seconds of one worker for closing and publishing a date, whatever its number of scans. */
  readonly date_s: number;
  /** Bytes and objects published for a scan. */
  readonly scan_published_bytes: number;
  readonly scan_objects: number;
  /** Objects published for a date that belong to no scan: tables, daily tiles, checkpoint, manifest, head. */
  readonly date_objects: number;
}

/**
 * Measured with 90 simulated full-CONUS scans of six products, four storm dates of an evening in May, on two cores shared with other
 * work: 0.42 to 0.48 s a scan with one worker, 0.2 s for closing a date and about 1 s for its lease and its push to Swift; 130 files
 * with 3.4 MB were published, and a list and a head for each date. Real days have more files to decode, and less hail on most hours.
 */
export const MEASURED: MeasuredCost = {
  scan_s: 0.5,
  date_s: 2,
  scan_published_bytes: 38_000,
  scan_objects: 1,
  date_objects: 12,
};

/** Public prices of S3 Standard in us-east-1, dollars, 2026. The bucket of NOAA is free to read, for requests and bytes. */
export const PRICES = {
  put_per_1000: 0.005,
  storage_per_gb_month: 0.023,
  /** Bytes that leave S3 for the internet: what a copy of the published files elsewhere costs. */
  egress_per_gb: 0.09,
} as const;

/** What a source lists for one storm date. */
export interface DateSample {
  readonly storm_date: string;
  readonly scans: number;
  readonly files: number;
  readonly bytes: number;
}

/** Estimate of a backfill; `backfill --plan --json` prints it. */
export interface BackfillPlan {
  readonly source: BackfillSource['kind'];
  readonly dates: number;
  readonly samples: readonly DateSample[];
  readonly workers: number;
  readonly scans: number;
  /** Raw files and their bytes that are read from the source. */
  readonly raw_files: number;
  readonly raw_bytes: number;
  /** Requests to the public bucket; 0 for a folder. */
  readonly source_requests: number;
  readonly published_bytes: number;
  readonly published_objects: number;
  /** Hours of all workers together, and until the last one is done. */
  readonly worker_hours: number;
  readonly hours: number;
  readonly dollars: { readonly put_requests: number; readonly storage_month: number; readonly egress_once: number };
}

export interface PlanRequest {
  readonly source: BackfillSource;
  readonly from: string;
  readonly to: string;
  readonly workers: number;
}

/** Estimates a backfill from listings of some of its dates; writes nothing. */
export async function planBackfill(config: Config, request: PlanRequest): Promise<BackfillPlan> {
  const { source, from, to } = request;
  const dates = datesThrough(from, to);
  const samples: DateSample[] = [];
  for (const storm_date of sampled(dates)) {
    const { files } = await listStormDate(config, source, storm_date);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    samples.push({ storm_date, scans: planScans(files).scans.length, files: files.length, bytes });
  }
  return estimateBackfill(source, dates.length, samples, request.workers);
}

/** The first, middle and last of some dates. */
function sampled(dates: readonly string[]): string[] {
  const places = Array.from({ length: SAMPLES }, (_, k) => Math.round((k * (dates.length - 1)) / (SAMPLES - 1)));
  return [...new Set(places)].flatMap((place) => dates[place] ?? []);
}

/** Estimate for `dates` storm dates that are like the samples. */
export function estimateBackfill(
  source: BackfillSource,
  dates: number,
  samples: readonly DateSample[],
  workers: number,
  cost = MEASURED,
): BackfillPlan {
  const perDate = (of: (sample: DateSample) => number) =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / Math.max(1, samples.length);
  const [scans, files, bytes] = [perDate((one) => one.scans), perDate((one) => one.files), perDate((one) => one.bytes)];
  // Every product is listed for the date and the one before it.
  const lists = source.kind === 'noaa' ? source.products.length * (1 + Math.ceil(scans / PAGE_OBJECTS)) : 0;
  const objects = scans * cost.scan_objects + cost.date_objects;
  const published_bytes = dates * scans * cost.scan_published_bytes;
  const worker_s = dates * (scans * cost.scan_s + cost.date_s);
  const gigabytes = published_bytes / 1e9;
  return {
    source: source.kind,
    dates,
    samples,
    workers,
    scans: Math.round(dates * scans),
    raw_files: Math.round(dates * files),
    raw_bytes: Math.round(dates * bytes),
    source_requests: source.kind === 'noaa' ? Math.round(dates * (files + lists)) : 0,
    published_bytes: Math.round(published_bytes),
    published_objects: Math.round(dates * objects),
    worker_hours: worker_s / SECONDS_PER_HOUR,
    // No more workers than dates have work.
    hours: worker_s / SECONDS_PER_HOUR / Math.max(1, Math.min(workers, dates)),
    dollars: {
      put_requests: (dates * objects * PRICES.put_per_1000) / 1000,
      storage_month: gigabytes * PRICES.storage_per_gb_month,
      egress_once: gigabytes * PRICES.egress_per_gb,
    },
  };
}
