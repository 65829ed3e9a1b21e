import { isAbsolute, relative, sep } from 'node:path';

/**
 * Every path under the data root, as a function. Paths are relative to the root, with forward slashes.
 * Dates are storm dates `YYYY-MM-DD`, except in the archive of raw files, where they are the UTC dates of the names, so that
 * moving the start of the storm day moves no raw file; months are `YYYY-MM`.
 */
export const layout = {
  /** The one switch: which scan, which manifests, which live files. */
  current: 'current.json',
  /** Name of the data root: tells it from an empty folder in its place, and from another root. */
  root: 'root.json',
  /** Lock of the one pipeline that may write to this data root. */
  lock: 'pipeline.lock',
  lockHolder: 'pipeline.lock.json',
  /** The clock that raw files are deleted by, and what is marked for deletion. */
  deletions: 'deletions.json',
  tables: 'tables',
  tiles: 'tiles',
  live: 'live',
  state: 'state',
  manifests: 'manifests',
  /** Manifests whose heads move together; there only while they do. */
  pending: 'manifests/pending.json',
  staging: 'staging',
  staged: (run: string) => `staging/${run}`,
  inbox: (provenance: string) => `inbox/${provenance}`,
  rejected: (provenance: string) => `inbox/rejected/${provenance}`,
  /** Files of feeds that could not be read. */
  rejectedFeeds: 'inbox/rejected/feeds',
  /** Raw files as they came, observed and simulated. */
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
  /** Partition of a collection: what is published beside the scans, in months. */
  collectionPartition: (collection: string) => `collection-${collection}`,
  collectionTable: (table: string, collection: string) => `tables/${table}/collection=${collection}`,
  collectionState: (collection: string) => `state/collection=${collection}`,
  /** Decoded hours of model runs, which spare the pipeline fetching them again; nothing is lost with them. */
  modelHours: 'model-hours',
  /** Files that jobs of the service made for who asked: exports, reports of verifications. */
  exports: 'exports',
  reports: 'reports',
  /** How the feeds of the collections are. */
  feeds: 'feeds.json',
  /** Partition of the static tables, which belong to no date; read through its head. */
  staticPartition: 'undated',
} as const;

/** Folders into which finished files are moved in one step, which no move between file systems is. */
const MOVED_INTO = [layout.manifests, layout.tables, layout.tiles, layout.live, layout.state] as const;

/** A folder of a data root that lies on another file system than the root itself, and what is wrong with that. */
export interface ForeignFolder {
  readonly path: string;
  readonly reason: string;
}

/**
 * Folders of a data root that a link or a mount puts on another file system; [] for none. `device` returns the file system of a path
 * below the root, '' for the root itself, by its number; null where there is nothing.
 */
export function foreignFolders(device: (path: string) => number | null): ForeignFolder[] {
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
