import {
  type CommittedScan,
  type InputVersions,
  MANIFEST_VERSION,
  type Manifest,
  type PublishedFile,
} from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { timestamp } from '../../schemas/time.ts';

/** A file in staging, with its entry for the manifest. */
export interface StagedFile {
  readonly staged: string;
  readonly entry: PublishedFile;
}

/** Newest time of each product, epoch milliseconds. */
export type ProductTimes = Readonly<Record<string, number>>;

/** Changes of one commit to the manifest of one partition. */
export interface Edit {
  readonly partition: string;
  readonly provenance: MixedProvenance;
  readonly storm_day_start_hour: number;
  readonly closed: boolean;
  /** Segments whose scans and files are removed from the manifest. */
  readonly drop_segments?: readonly string[];
  readonly add_scans?: readonly CommittedScan[];
  readonly add_files?: readonly StagedFile[];
  /** Newest time of each product that the added scans were made of, epoch milliseconds. */
  readonly feeds?: ProductTimes;
  /** Entries of files that are already in place, for instance pictures whose segment changes. */
  readonly relist_files?: readonly PublishedFile[];
  /** Tables whose rows this commit changes; compaction changes none. */
  readonly changed_tables?: readonly string[];
  /** Versions of the inputs of derived tables in this edit, by table name. */
  readonly made_from?: Readonly<Record<string, InputVersions>>;
  readonly dates?: Manifest['dates'];
  /** For an edit without new data: when the newest data that it was made from came in; else null. */
  readonly ingested_at?: string | null;
}

/** The fields of an edit that changes nothing of a partition as a whole. */
export function samePartition({ partition, source, storm_day_start_hour, closed }: Manifest): Edit {
  return { partition, provenance: source, storm_day_start_hour, closed };
}

/** The manifest after an edit; a scan or file of the same name replaces the old entry. */
export function nextManifest(previous: Manifest | null, edit: Edit, now_ms: number): Manifest {
  const { add_scans = [], add_files = [], relist_files = [], changed_tables = [], ingested_at = null } = edit;
  const commit = (previous?.commit ?? 0) + 1;
  const dropped = new Set(edit.drop_segments);
  const entries = [...relist_files, ...add_files.map((file) => file.entry)];
  const added = new Set(entries.map((entry) => entry.path));
  const scanIds = new Set(add_scans.map((scan) => scan.scan_id));
  // A table that changes without stating its inputs loses them.
  const known = Object.entries(previous?.made_from ?? {}).filter(([table]) => !changed_tables.includes(table));
  const made_from = { ...Object.fromEntries(known), ...edit.made_from };
  return {
    manifest_version: MANIFEST_VERSION,
    partition: edit.partition,
    commit,
    source: edit.provenance,
    storm_day_start_hour: edit.storm_day_start_hour,
    committed_at: timestamp(now_ms),
    ...(ingested_at === null ? {} : { ingested_at }),
    closed: edit.closed,
    table_commits: {
      ...previous?.table_commits,
      ...Object.fromEntries(changed_tables.map((table) => [table, commit])),
    },
    ...(Object.keys(made_from).length === 0 ? {} : { made_from }),
    scans: [
      ...(previous?.scans ?? []).filter((scan) => !dropped.has(scan.segment) && !scanIds.has(scan.scan_id)),
      ...add_scans,
    ].sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1)),
    // Times of observed data say nothing about those of simulated data, nor the other way round.
    feeds: newestTimes(previous?.source === edit.provenance ? previous.feeds : {}, edit.feeds ?? {}),
    files: [
      ...(previous?.files ?? []).filter((file) => !dropped.has(file.segment) && !added.has(file.path)),
      ...entries,
    ],
    dates: edit.dates ?? null,
  };
}

function newestTimes(known: Manifest['feeds'], added: ProductTimes): Manifest['feeds'] {
  const newer = Object.entries(added).filter(([product, time_ms]) => !(Date.parse(known[product] ?? '') >= time_ms));
  return { ...known, ...Object.fromEntries(newer.map(([product, time_ms]) => [product, timestamp(time_ms)])) };
}
