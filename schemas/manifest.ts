import { z } from 'zod';
import { MixedProvenance, Provenance } from './provenance.ts';

/** Version of the shapes in this file; readers refuse a newer one. */
export const MANIFEST_VERSION = 1;

/** Entry of `table_commits`: the commit that last drew the products of the whole date, such as its daily archive. */
export const DAILY = 'daily';

/** Entry of `table_commits`: the commit that last added or dropped an archive of reflectivity. */
export const REFLECTIVITY = 'reflectivity';

const isoDate = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);

/** One published file. Data files are immutable: a name is never written twice with other content. */
export const PublishedFile = z.object({
  path: z.string().meta({ description: 'Relative to the data root.' }),
  kind: z.enum(['table', 'scan-tiles', 'reflectivity-tiles', 'daily-tiles', 'state']),
  table: z.string().nullable().meta({ description: 'Table name of a table file.' }),
  segment: z.string().meta({
    description:
      'Group of scans, `derived` for what follows from the whole date, `reflectivity-` and a scan, `month`, or the name of a static table.',
  }),
  rows: z.int().nonnegative().meta({ description: 'Rows of a table, tiles of an archive, 1 for a state.' }),
  bytes: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  schema_version: z.int().nonnegative(),
  first_scan: z.string().nullable(),
  last_scan: z.string().nullable(),
  bbox: z
    .tuple([z.number(), z.number(), z.number(), z.number()])
    .nullable()
    .meta({ description: 'West, south, east, north of the rows; null without positions.' }),
  max_size_mm: z.number().nullable().meta({ description: 'Largest size of the rows.' }),
});
export type PublishedFile = z.infer<typeof PublishedFile>;

/** A scan that the date holds, with a fingerprint of the raw files it was made from. */
export const CommittedScan = z.object({
  scan_id: z.string(),
  segment: z.string(),
  inputs: z.string().meta({ description: 'Hash of the names and sizes of the raw files.' }),
  reflectivity: z.string().optional().meta({
    description: 'Hash of the file that its archive of reflectivity was made from; left out when none was made.',
  }),
});
export type CommittedScan = z.infer<typeof CommittedScan>;

/** Versions of the tables that a table was made from, by name: the commit that last changed each, 0 if none was published. */
export const InputVersions = z.record(z.string(), z.int().nonnegative());
export type InputVersions = z.infer<typeof InputVersions>;

/** The list of the published files of one partition: a storm date, a month of closed dates, a collection, or the static tables. */
export const Manifest = z.object({
  manifest_version: z.literal(MANIFEST_VERSION),
  partition: z.string(),
  commit: z.int().positive(),
  source: MixedProvenance.meta({
    description:
      'Provenance of the data; mixed only where the dates of a month, the days of a collection or static tables differ in it.',
  }),
  storm_day_start_hour: z.int().min(0).max(23),
  /** When the pipeline committed it. */
  committed_at: z.string(),
  ingested_at: z.string().optional().meta({
    description:
      'When its newest rows came in, where the commit brought none: it joined, redrew or judged published ones, or dropped archives. Else left out, as in lists of the first releases.',
  }),
  closed: z.boolean().meta({ description: 'True once the date is over and compacted into day files.' }),
  /** Commit that last changed a table, by table name: ETags are made of it. */
  table_commits: z.record(z.string(), z.int().positive()),
  made_from: z.record(z.string(), InputVersions).optional().meta({
    description:
      'Of tables that are made of other published tables, by table name: what from. Left out where there are none, and in lists of earlier versions.',
  }),
  scans: z.array(CommittedScan),
  feeds: z
    .record(z.string(), z.string())
    .default({})
    .meta({ description: 'Time of the newest file of each product that the scans of the date were made of.' }),
  files: z.array(PublishedFile),
  /** Of a month: commit of each date in its files; a date with a newer commit is stale there. */
  dates: z.record(isoDate, z.int().positive()).nullable(),
});
export type Manifest = z.infer<typeof Manifest>;

/** Time at which the newest rows of a manifest came in, as a timestamp; joining or redrawing files does not change it. */
export function ingestedAt({ ingested_at, committed_at }: Pick<Manifest, 'ingested_at' | 'committed_at'>): string {
  return ingested_at ?? committed_at;
}

/** Provenance of a storm date; throws for a month with dates of both. */
export function provenanceOfDate(partition: string, provenance: MixedProvenance): Provenance {
  if (provenance === 'mixed') throw new TypeError(`${partition} is mixed, expected one kind per storm date`);
  return provenance;
}

/** The pointer that readers follow, `current.json`: replaced last, by rename. */
export const Current = z.object({
  manifest_version: z.literal(MANIFEST_VERSION),
  scan_id: z.string().meta({ description: 'Newest published scan.' }),
  data_timestamp: z.string().meta({ description: 'Observation time of that scan.' }),
  data_as_of: z.string().meta({ description: 'When it was committed.' }),
  source: Provenance.meta({ description: 'Provenance of that scan.' }),
  open_dates: z
    .record(isoDate, z.int().positive())
    .meta({ description: 'Commit to read of each date that is not closed; closed dates are read through head.json.' }),
  live: z.object({
    detections: z.string(),
    cells: z.string(),
    tracks: z.string(),
    first_scan: z.string().meta({ description: 'Oldest scan of the live window.' }),
  }),
});
export type Current = z.infer<typeof Current>;

/** The name of a data root, written once by the first pipeline that opens it. */
export const RootName = z.object({
  manifest_version: z.literal(MANIFEST_VERSION),
  root_id: z.string().meta({ description: '`root_` and a ULID; never changes.' }),
  created_at: z.string(),
  format: z.int().positive().meta({ description: 'Data format of the root.' }),
});
export type RootName = z.infer<typeof RootName>;
