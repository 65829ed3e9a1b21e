import { isAbsolute, relative, sep } from 'node:path';

/**
 * Every path under the data root, as a function. Paths are relative to the root, with forward slashes.
 * Dates are storm dates `YYYY-MM-DD`, except in the archive of raw files, where they are the UTC dates of the names, so that
 * moving the start of the storm day moves no raw file; months are `YYYY-MM`.
 */
export const layout = {
  /** The pointer to the newest scan, the manifests of open dates and the live files. */
  current: 'current.json',
  /** Name of the data root, which distinguishes it from an empty folder and from other roots. */
  root: 'root.json',
  /** Lock of the one pipeline that may write to this data root. */
  lock: 'pipeline.lock',
  lockHolder: 'pipeline.lock.json',
  /** Clock for the deletion of raw files, and the marks of deletions. */
  deletions: 'deletions.json',
  tables: 'tables',
  tiles: 'tiles',
  live: 'live',
  state: 'state',
  manifests: 'manifests',
  /** Manifests whose heads are replaced together; exists only meanwhile. */
  pending: 'manifests/pending.json',
  staging: 'staging',
  staged: (run: string) => `staging/${run}`,
  inbox: (provenance: string) => `inbox/${provenance}`,
  rejected: (provenance: string) => `inbox/rejected/${provenance}`,
  allRejected: 'inbox/rejected',
  /** Storm dates that backfills have finished, for the writer of the root to publish; each is a data root of its own. */
  finishedDates: 'inbox/dates',
  /** `name`: the date, a hyphen and eight hex digits. */
  finishedDate: (name: string) => `inbox/dates/${name}`,
  rejectedDate: (name: string) => `inbox/rejected/dates/${name}`,
  rejectedDateReason: (name: string) => `inbox/rejected/dates/${name}.reason.json`,
  /** Files of feeds that could not be read. */
  rejectedFeeds: 'inbox/rejected/feeds',
  /** Raw files as received, observed and simulated. */
  raw: 'archive',
  archive: (provenance: string) => `archive/${provenance}`,
  archiveDate: (provenance: string, date: string) => `archive/${provenance}/date=${date}`,
  table: (table: string, date: string) => `tables/${table}/date=${date}`,
  /** Folder of a static table: one that belongs to no date. */
  staticTable: (table: string) => `tables/${table}`,
  monthTable: (table: string, month: string) => `tables/${table}/month=${month}`,
  allScanTiles: 'tiles/scan',
  scanTiles: (date: string) => `tiles/scan/date=${date}`,
  reflectivity: 'tiles/reflectivity',
  reflectivityTiles: (date: string) => `tiles/reflectivity/date=${date}`,
  allDailyTiles: 'tiles/daily',
  dailyTiles: (date: string) => `tiles/daily/date=${date}`,
  stateDate: (date: string) => `state/date=${date}`,
  /** Folder of the manifests of a partition: a storm date, `month-YYYY-MM`, `collection-…`, or `undated`. */
  manifestFolder: (partition: string) => `manifests/${partition}`,
  manifest: (partition: string, commit: number) => `manifests/${partition}/${String(commit).padStart(6, '0')}.json`,
  head: (partition: string) => `manifests/${partition}/head.json`,
  monthPartition: (month: string) => `month-${month}`,
  /** Partition of a collection. */
  collectionPartition: (collection: string) => `collection-${collection}`,
  collectionTable: (table: string, collection: string) => `tables/${table}/collection=${collection}`,
  /** Cache of decoded hours of model runs. */
  modelHours: 'model-hours',
  /** Files of the service's jobs: exports, and reports of verifications. */
  exports: 'exports',
  reports: 'reports',
  /** STAC catalogue. */
  stac: 'stac',
  /** SQL views of all tables, for DuckDB. */
  views: 'views.sql',
  /** Apache Iceberg metadata. */
  iceberg: 'iceberg',
  /** Numbered catalogues; each folder is immutable. */
  catalogues: 'catalogues',
  catalogue: (number: string) => `catalogues/${number}`,
  /** In the folder of a catalogue: paths of the published files that it names, one a line. */
  catalogueFiles: 'files.txt',
  /** Number and edition of the newest catalogue. */
  cataloguePointer: 'catalogue.json',
  /** Data root of its own that a backfill makes one storm date in. */
  work: (date: string) => `work/${date}`,
  /** States of the feeds. */
  feeds: 'feeds.json',
  /** Partition of the static tables, which belong to no date; read through its head. */
  staticPartition: 'undated',
} as const;

/** Folders that finished files are renamed into: a rename is atomic within one file system only. */
const MOVED_INTO = [layout.manifests, layout.tables, layout.tiles, layout.live, layout.state] as const;

/**
 * Folders of a data root that a link or a mount puts on another file system, each with the reason why that is a fault. `device` returns the device number of a
 * path below the root, '' for the root itself; null for a missing path.
 */
export function foreignFolders(device: (path: string) => number | null) {
  const own = device('');
  return MOVED_INTO.filter((path) => own !== null && ![own, null].includes(device(path))).map((path) => ({
    path,
    reason:
      'lies on another file system than its data root, expected one file system: files are moved into it in one step',
  }));
}

/**
 * True when a path is a folder itself or lies below it. Both absolute; names are compared whole, so `/data/archive-old`
 * does not lie in `/data/archive`. Links are not followed.
 */
export function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
