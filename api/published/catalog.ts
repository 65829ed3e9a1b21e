import { createHash } from 'node:crypto';
import { devNull } from 'node:os';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import {
  COLLECTED_TIMES,
  COLLECTIONS,
  type CollectionName,
  type FeedState,
  FeedStates,
} from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { formatFault, tableFault } from '../../schemas/data-format.ts';
import type { Bbox } from '../../schemas/geo/position.ts';
import { Head, headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import {
  Current,
  DAILY,
  ingestedAt,
  Manifest,
  type PublishedFile,
  provenanceOfDate,
  RootName,
} from '../../schemas/manifest.ts';
import { combineProvenances, type MixedProvenance, type Provenance } from '../../schemas/provenance.ts';
import { forecast, outlook } from '../../schemas/tables/forecast.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { dayMax, isMonthCurrent } from '../../schemas/tables/radar.ts';
import { addDays, monthOf, scanTime, stormDateStart } from '../../schemas/time.ts';
import { createObservers, type Observer } from '../http/observers.ts';
import { type DataRoot, DataUnavailable, openDataRoot } from './data-root.ts';
import { memoize } from './memoize.ts';

/** Box and smallest size of the rows that a question needs. */
interface RowFilter {
  readonly bbox?: Bbox;
  readonly min_size_mm?: number;
}

/**
 * The published data at one moment: pinned for one request, immutable. Dates are storm dates; `paths` and `version` also take
 * `layout.staticPartition`, for tables that belong to no date.
 */
export interface Edition {
  /** Provenance of the newest data, which need not be that of other dates; null while nothing is published. */
  readonly newest_provenance: Provenance | null;
  /** Observation time of the newest scan, epoch milliseconds; null while nothing is published. */
  readonly newest_scan_ms: number | null;
  /** Observation time of the newest file of each product that went into data of that provenance, epoch milliseconds. */
  readonly feeds: ReadonlyMap<string, number>;
  /** Names of the live snapshot's files; null while there is none. */
  readonly live: Current['live'] | null;
  /** Published dates, ascending. */
  readonly dates: readonly string[];
  /** The whole manifest of a date; null for a date that is not published. Rejects with DataUnavailable when its file is gone. */
  readonly manifest: (date: string) => Promise<Manifest | null>;
  /** True for a date that lists archives of reflectivity. */
  readonly hasReflectivity: (date: string) => boolean;
  /** Reads published files that are no tables. */
  readonly files: Pick<DataRoot, 'open' | 'part'>;
  /** Absolute paths of the files of a table that may hold rows of a question; none is a valid answer. */
  readonly paths: (table: string, dates: readonly string[], near?: RowFilter) => string[];
  /**
   * Absolute paths of the day maxima from a date to a date, both included: month files where those are current, else day
   * files. Month files hold other dates too: filter by storm_date. A running date lies in several files that add up.
   */
  readonly dayMaxPaths: (first: string, last: string, near?: RowFilter) => string[];
  /** Published dates from a date to a date, both included, ascending. */
  readonly datesBetween: (first: string, last: string) => string[];
  /** Whether a date with radar data is over and compacted; null for a date that is not published, or was cleared. */
  readonly isClosed: (date: string) => boolean | null;
  /** Changes when the rows of some tables on some dates change; ETags are made of it. */
  readonly version: (tables: readonly string[], dates: readonly string[]) => string;
  /** Provenance of some dates, as far as they are published; null when none is. */
  readonly provenanceOf: (dates: readonly string[]) => MixedProvenance | null;
  /** Dates of the live window's scans from an instant on; that of the newest scan is always among them. */
  readonly liveDates: (since_ms: number) => string[];
  /** Observation time of the newest scan of some dates; of the newest scan at all when they have none. */
  readonly dataAsOf: (dates: readonly string[]) => number | null;
  /** Time at which the newest rows of some dates were ingested, epoch milliseconds; null when none of the dates is published. */
  readonly ingestedAt: (dates: readonly string[]) => number | null;
  /** The published files of a collection; null when it was never fed, which differs from an empty one. */
  readonly collection: (name: CollectionName) => CollectionEdition | null;
  /** States of the feeds of the collections, in the order of their names. */
  readonly feedStates: readonly FeedState[];
}

/** A collection at one moment. */
export interface CollectionEdition {
  /**
   * Absolute paths of its files, oldest month first, from a month (`YYYY-MM`) to a month, both included; of one that is replaced
   * as a whole, without months.
   */
  readonly paths: (first_month?: string, last_month?: string) => string[];
  /** Absolute paths of the files that list the times for which its sources were collected; none where that was never recorded. */
  readonly collected_paths: readonly string[];
  /** Changes when its rows change. */
  readonly version: string;
  /**
   * Time up to which it is complete, epoch milliseconds: the oldest of the last successes of its feeds. A feed that never
   * succeeded counts from the time it was first followed, so that its age grows.
   */
  readonly as_of_ms: number;
  /** Time of its last change, epoch milliseconds. */
  readonly committed_ms: number;
  /** Provenance of its rows; of its feeds while it is empty. */
  readonly source: MixedProvenance;
}

/** Follows `current.json` and the manifests of a data root. */
export interface Catalog {
  /** The edition in force; throws DataUnavailable while the root is inconsistent. Cheap. */
  readonly edition: () => Edition;
  /** The reason why there is no edition; null when there is one. */
  readonly failure: () => string | null;
  /** The refusal of data of a format or version that this release cannot read; null without one. */
  readonly unreadable: () => UnreadableVersion | null;
  /** Folders that manifests name files in and that are missing, relative to the root; none when there is an edition. */
  readonly missing: () => readonly string[];
  /** Polls the root now. */
  readonly refresh: () => Promise<void>;
  /**
   * Registers a function that runs before a new edition is handed out, and runs it for the present one. When it fails, there
   * is no edition.
   */
  readonly beforeEdition: (prepare: (edition: Edition) => Promise<void>) => Promise<void>;
  /**
   * Registers an observer that runs after an edition is handed out, and runs it for the present one. It delays no edition, and its
   * failure makes no data unavailable. Observers react one after the other, in the order in which they were
   * registered, to one edition at a time. One that is still busy when several editions come out is given the newest only, with
   * the edition that it finished before: every scan in between is in the newest, which lists them. (An edition may bring
   * several scans anyway, after a restart or a backfill.) The function returned unregisters, and waits while it reacts.
   */
  readonly afterEdition: (observer: Observer<Edition>) => () => Promise<void>;
  /** Stops polling. Resolves once observers have finished. */
  readonly close: () => Promise<void>;
}

/** This release cannot read the data format of the root, or the version of a file in it. */
export class UnreadableVersion extends DataUnavailable {
  override name = 'UnreadableVersion';
  /** Path of the file below the root. */
  readonly path: string;

  constructor(path: string, reason: string) {
    super(path, reason);
    this.path = path;
  }
}

const PROGRAM = 'hail-api';
/** Times between two looks at `current.json`, and at the heads. */
const POLL_CURRENT_MS = 250;
const POLL_HEADS_MS = 2000;
/** Whole manifests in memory; a day of scans has 1,500 entries. */
const MANIFESTS_MAX = 16;

/** Names of the collections by their partitions. */
const COLLECTION_PARTITIONS: ReadonlyMap<string, CollectionName> = new Map(
  COLLECTIONS.map((name) => [layout.collectionPartition(name), name]),
);
const MONTHS = layout.monthPartition('');
const isPartition = (name: string) =>
  /^\d{4}-\d{2}-\d{2}$/.test(name) ||
  name.startsWith(MONTHS) ||
  name === layout.staticPartition ||
  COLLECTION_PARTITIONS.has(name);
const KNOWN_TABLES = new Map<string, Table>(TABLES.map((table) => [table.name, table]));

/**
 * Opens the catalog of a data root. A root that never held anything, empty or missing, is an edition without dates; one whose
 * switch was there and is gone has no edition, as on a mount whose server is gone.
 */
export async function openCatalog(folder: string | DataRoot, storm_day_start_hour: number): Promise<Catalog> {
  const root = typeof folder === 'string' ? openDataRoot(folder) : folder;
  const partitions = partitionReader(root, storm_day_start_hour);
  const preparations: ((edition: Edition) => Promise<void>)[] = [];
  const observers = createObservers<Edition>();
  let state: { edition: Edition } | { failure: DataUnavailable } = { edition: NOTHING_PUBLISHED };
  let seen: string | null | undefined;
  let heads_at_ms = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | null = null;

  const poll = async () => {
    const mark = await root.mark(layout.current);
    const elapsed_ms = performance.now() - heads_at_ms;
    if (mark === seen && elapsed_ms < POLL_HEADS_MS && 'edition' in state) return;
    // First of all: its format says whether the other lists can be read.
    await checkFormat(root);
    // Absent is not empty.
    if (mark === null && typeof seen === 'string') throw new DataUnavailable(layout.current, 'is gone');
    const current = await readCurrent(root);
    const { changed, ...found } = await partitions(current);
    await requireFolders(root, current, headsOf(found));
    heads_at_ms = performance.now();
    if (mark !== seen || changed || !('edition' in state)) {
      const edition = makeEdition(root, current, found, storm_day_start_hour);
      for (const prepare of preparations) await prepare(edition);
      state = { edition };
      observers.publish(edition);
    }
    seen = mark;
  };
  const refresh = () => {
    running ??= poll()
      .catch((error: unknown) => {
        state = { failure: asUnavailable(error) };
      })
      .finally(() => {
        running = null;
      });
    return running;
  };
  const edition = () => {
    if ('failure' in state) throw state.failure;
    return state.edition;
  };

  await refresh();
  const timer = setInterval(refresh, POLL_CURRENT_MS);
  timer.unref();
  return {
    edition,
    failure: () => ('failure' in state ? state.failure.message : null),
    missing: () => ('failure' in state ? state.failure.missing : []),
    unreadable: () => ('failure' in state && state.failure instanceof UnreadableVersion ? state.failure : null),
    refresh: async () => {
      await running;
      heads_at_ms = Number.NEGATIVE_INFINITY;
      await refresh();
    },
    beforeEdition: async (prepare) => {
      preparations.push(prepare);
      if (!('edition' in state)) return;
      try {
        await prepare(state.edition);
      } catch (error) {
        state = { failure: asUnavailable(error) };
      }
    },
    afterEdition: observers.add,
    close: async () => {
      clearInterval(timer);
      await running;
      await observers.close();
    },
  };
}

function asUnavailable(cause: unknown): DataUnavailable {
  if (cause instanceof DataUnavailable) return cause;
  return new DataUnavailable('a list', `cannot be read: ${cause instanceof Error ? cause.message : cause}`, { cause });
}

async function readCurrent(root: DataRoot): Promise<Current | null> {
  const text = await root.text(layout.current);
  return text === null ? null : parsed(layout.current, text, Current);
}

/**
 * Throws DataUnavailable with the missing folders of those that the manifests name files in: a root whose `tables/` was moved
 * away still has all its manifests. Single files are not checked here: the reader of a missing one gets the error.
 */
async function requireFolders(root: DataRoot, current: Current | null, heads: readonly Head[]): Promise<void> {
  const folders = new Set(heads.flatMap(({ files }) => files.map(({ path }) => path.split('/', 2).join('/'))));
  if (heads.some(({ scans }) => scans.count > 0)) folders.add(layout.allScanTiles);
  if (heads.some(({ scans, table_commits }) => scans.count > 0 && table_commits[DAILY] !== undefined))
    folders.add(layout.allDailyTiles);
  if (heads.some(({ reflectivity_archives }) => reflectivity_archives !== undefined)) folders.add(layout.reflectivity);
  if (current !== null) folders.add(layout.live);
  const names = await root.missing(folders);
  if (names.length > 0)
    throw new DataUnavailable(names.join(', '), 'is missing, and lists name files there', { missing: names });
}

/** Throws UnreadableVersion for a root of another data format, DataUnavailable for one whose name is damaged. */
async function checkFormat(root: DataRoot): Promise<void> {
  const text = await root.text(layout.root);
  if (text === null) return; // no pipeline has opened it
  const fault = formatFault(json(layout.root, text), PROGRAM);
  if (fault !== null) throw new UnreadableVersion(layout.root, fault);
  parsed(layout.root, text, RootName);
}

function headsOf({ dates, months, collections, staticHead }: Omit<Partitions, 'changed'>): readonly Head[] {
  return [...dates.values(), ...months.values(), ...collections.values(), ...(staticHead === null ? [] : [staticHead])];
}

function json(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DataUnavailable(path, 'is not JSON', { cause });
  }
}

function parsed<Shape extends z.ZodType>(path: string, text: string, shape: Shape): z.infer<Shape> {
  const value = json(path, text);
  const result = shape.safeParse(value);
  if (!result.success) throw new DataUnavailable(path, 'is not a list of this version', { cause: result.error });
  return result.data;
}

interface Partitions {
  readonly dates: ReadonlyMap<string, Head>;
  readonly months: ReadonlyMap<string, Head>;
  /** Newest, by the name of the collection. */
  readonly collections: ReadonlyMap<string, Head>;
  /** The collections as they are read: days with the hours they were made from, see `pairedForecast`. */
  readonly read_collections: ReadonlyMap<string, Head>;
  readonly feedStates: readonly FeedState[];
  /** Head of the static tables; null while none is published. */
  readonly staticHead: Head | null;
  /** Some manifest differs from the last poll. */
  readonly changed: boolean;
}

/** Reads the manifests in force, and again only those whose file was replaced. */
function partitionReader(root: DataRoot, storm_day_start_hour: number) {
  let known = new Map<string, { mark: string; partition: Head }>();
  let states: { mark: string | null; feeds: readonly FeedState[] } = { mark: null, feeds: [] };

  /** True when the states of the feeds were replaced. */
  const loadStates = async (): Promise<boolean> => {
    const mark = await root.mark(layout.feeds);
    if (mark === states.mark) return false;
    const text = mark === null ? null : await root.text(layout.feeds);
    states = { mark, feeds: text === null ? [] : parsed(layout.feeds, text, FeedStates).feeds };
    return true;
  };
  const load = async (path: string): Promise<{ mark: string; partition: Head } | null> => {
    const mark = await root.mark(path);
    if (mark === null) return null;
    const last = known.get(path);
    if (last?.mark === mark) return last;
    const text = await root.text(path);
    return text === null ? null : { mark, partition: headIn(path, text, storm_day_start_hour) };
  };

  const committedBefore = async ({ partition, commit }: Head) =>
    commit > 1 ? await load(layout.manifest(partition, commit - 1)) : null;

  return async (current: Current | null): Promise<Partitions> => {
    const pinned = current?.open_dates ?? {};
    const pathOf = (name: string) =>
      pinned[name] === undefined ? layout.head(name) : layout.manifest(name, pinned[name]);
    const loaded = new Map<string, { mark: string; partition: Head }>();
    const wanted = [...new Set([...(await root.partitions()).filter(isPartition), ...Object.keys(pinned)])].sort();
    await Promise.all(
      wanted.map(async (name) => {
        const found = await load(pathOf(name));
        if (found !== null) loaded.set(pathOf(name), found);
        else if (pinned[name] !== undefined)
          throw new DataUnavailable(pathOf(name), 'is missing, and the switch names it');
      }),
    );
    const dates = new Map<string, Head>();
    const months = new Map<string, Head>();
    const collections = new Map<string, Head>();
    for (const name of wanted) {
      const found = loaded.get(pathOf(name))?.partition;
      if (found === undefined) continue; // its first commit was killed before the head was moved
      const collection = COLLECTION_PARTITIONS.get(name);
      if (collection !== undefined) collections.set(collection, found);
      else if (name.startsWith(MONTHS)) months.set(name.slice(MONTHS.length), found);
      else if (name === layout.staticPartition) continue;
      else if (pinned[name] !== undefined || isReadable(found, current)) dates.set(name, found);
      else {
        // A closed date that gets late data is open again before the switch names it: until then it is read as it was.
        const before = await committedBefore(found);
        if (before === null || !before.partition.closed) continue;
        loaded.set(layout.manifest(name, before.partition.commit), before);
        dates.set(name, before.partition);
      }
    }
    for (const [month, { dates: held }] of months) {
      const lost = Object.keys(held ?? {}).find((date) => !dates.has(date));
      if (lost !== undefined) throw new DataUnavailable(layout.head(lost), `is missing, and month ${month} names it`);
    }
    const paired = pairedForecast(collections);
    const path =
      paired === null || paired === 0 ? null : layout.manifest(layout.collectionPartition('forecast'), paired);
    const hours = path === null ? null : await load(path);
    if (path !== null && hours !== null) loaded.set(path, hours);
    const read_collections = new Map(collections);
    if (hours !== null) read_collections.set('forecast', hours.partition);
    // A first forecast whose outlook is still to come. It is not held back for an outlook that fails to be made.
    else if (paired === 0 && (await root.mark(layout.pending)) !== null) read_collections.delete('forecast');
    const hasNewStates = await loadStates();
    const changed =
      hasNewStates ||
      loaded.size !== known.size ||
      [...loaded].some(([path, { mark }]) => known.get(path)?.mark !== mark);
    known = loaded;
    const staticHead = loaded.get(layout.head(layout.staticPartition))?.partition ?? null;
    return { dates, months, collections, read_collections, feedStates: states.feeds, staticHead, changed };
  };
}

/**
 * Commit of the forecast that belongs to the outlook, 0 for none; null where the newest does. The two are committed together, but
 * their heads move one after the other: in between, and after a kill there, one is newer than the other, and the hours would
 * contradict the days. The list of that commit is gone hours after it was replaced: then the newest is read.
 */
function pairedForecast(collections: ReadonlyMap<string, Head>): number | null {
  const made_from = collections.get('outlook')?.made_from?.[outlook.name]?.[forecast.name];
  const newest = collections.get('forecast')?.table_commits[forecast.name] ?? 0;
  return made_from === undefined || made_from === newest ? null : made_from;
}

/**
 * True for a date that is read through its head: a closed one. An open date that the switch does not name had its first commit
 * killed before the switch. Files were lost when its writer has committed more, or when there are scans and no switch.
 */
function isReadable(date: Head, current: Current | null): boolean {
  if (current === null && date.scans.count > 0 && (date.closed || date.commit > 1))
    throw new DataUnavailable(layout.current, `is missing, and ${date.partition} holds ${date.scans.count} scans`);
  return date.closed;
}

function headIn(path: string, text: string, storm_day_start_hour: number): Head {
  const head =
    path === layout.head(path.split('/')[1] ?? '') ? parsed(path, text, Head) : headOf(parsed(path, text, Manifest));
  if (head.partition !== layout.staticPartition && head.storm_day_start_hour !== storm_day_start_hour)
    throw new DataUnavailable(
      path,
      `has storm days that start at ${head.storm_day_start_hour} UTC, expected ${storm_day_start_hour} (HAIL_STORM_DAY_START_HOUR)`,
    );
  for (const { table, schema_version, path: name } of head.files) {
    const known = KNOWN_TABLES.get(table ?? '');
    const fault = known === undefined ? null : tableFault(known, schema_version);
    if (fault !== null) throw new UnreadableVersion(name, fault);
  }
  return head;
}

function makeEdition(
  root: DataRoot,
  current: Current | null,
  { dates: partitions, months, read_collections, feedStates, staticHead }: Omit<Partitions, 'changed'>,
  storm_day_start_hour: number,
): Edition {
  const dates = [...partitions.keys()];
  const named = (name: string) => (name === layout.staticPartition ? (staticHead ?? undefined) : partitions.get(name));
  const lastScan = (date: Head): number | null => {
    const { last } = date.scans;
    if (last !== null || date.files.length === 0) return last === null ? null : scanTime(last);
    // A date without scans is the sum of a whole day: it was observed up to its last second.
    return stormDateStart(addDays(date.partition, 1), storm_day_start_hour) - 1000;
  };
  const newestOf = (names: readonly string[]) =>
    names.reduce<{ date: string; last_ms: number } | null>((newest, name) => {
      const date = partitions.get(name);
      const last_ms = date === undefined ? null : lastScan(date);
      return last_ms !== null && (newest === null || last_ms > newest.last_ms) ? { date: name, last_ms } : newest;
    }, null);
  const newest = newestOf(dates);
  const newest_scan_ms = newest?.last_ms ?? null;
  const newestDate = partitions.get(newest?.date ?? '');
  const newest_provenance =
    current?.source ?? (newestDate === undefined ? null : provenanceOfDate(newestDate.partition, newestDate.source));
  const feeds = new Map<string, number>();
  for (const { source, feeds: seen } of partitions.values())
    for (const [product, time] of source === newest_provenance ? Object.entries(seen) : [])
      feeds.set(product, Math.max(Date.parse(time), feeds.get(product) ?? Number.NEGATIVE_INFINITY));
  const live = current?.live ?? null;
  const live_from_ms = live === null ? Number.POSITIVE_INFINITY : scanTime(live.first_scan);
  const liveDates = dates.flatMap((date) => {
    const { last } = partitions.get(date)?.scans ?? { last: null };
    const last_ms = last === null ? Number.NEGATIVE_INFINITY : scanTime(last);
    return date === newest?.date || last_ms >= live_from_ms ? [{ date, last_ms }] : [];
  });
  const filled = (name: string) => {
    const date = partitions.get(name);
    // An open date without scans was cleared: there is nothing of either provenance.
    return date === undefined || (!date.closed && date.scans.count === 0) ? null : date;
  };
  const provenanceOf = (names: readonly string[]) =>
    combineProvenances(names.flatMap((name) => filled(name)?.source ?? []));
  const filesOf = (partition: Head | undefined, table: string, near: RowFilter | undefined) =>
    (partition?.files ?? []).filter((file) => file.table === table && mayHold(file, near)).map(root.fileOf);
  const dateOf = (date: string) => partitions.get(date);
  const joined = new Map([...months].filter(([, month]) => isMonthCurrent(month, dateOf)));
  const datesBetween = (first: string, last: string) => dates.filter((date) => date >= first && date <= last);
  return {
    newest_provenance,
    newest_scan_ms,
    feeds,
    live,
    dates,
    manifest: manifestReader(root, partitions),
    hasReflectivity: (date) => partitions.get(date)?.reflectivity_archives !== undefined,
    files: root,
    paths: (table, names, near) => names.flatMap((name) => filesOf(named(name), table, near)),
    dayMaxPaths: (first, last, near) => {
      const asked = datesBetween(first, last);
      const used = [...new Set(asked.map(monthOf))].map((month) => joined.get(month));
      const held = new Set(used.flatMap((month) => Object.keys(month?.dates ?? {})));
      return [
        ...used.flatMap((month) => filesOf(month, dayMax.name, near)),
        ...asked.filter((date) => !held.has(date)).flatMap((date) => filesOf(partitions.get(date), dayMax.name, near)),
      ];
    },
    datesBetween,
    isClosed: (name) => filled(name)?.closed ?? null,
    version: (tables, names) => {
      const hash = createHash('sha256');
      for (const name of names) {
        const date = named(name);
        if (date === undefined) continue;
        if (name === layout.staticPartition) {
          // What another static table holds or where it comes from changes nothing here.
          for (const { table, sha256 } of date.files) if (tables.includes(table ?? '')) hash.update(`${sha256}\n`);
          continue;
        }
        const commits = tables.map((table) => date.table_commits[table] ?? 0);
        hash.update(`${name} ${date.source} ${date.scans.inputs} ${commits.join(' ')}\n`);
      }
      return hash.digest('hex').slice(0, 24);
    },
    provenanceOf,
    liveDates: (since_ms) =>
      liveDates.filter(({ date, last_ms }) => date === newest?.date || last_ms >= since_ms).map(({ date }) => date),
    dataAsOf: (names) => newestOf(names)?.last_ms ?? newest_scan_ms,
    ingestedAt: (names) =>
      names.reduce<number | null>((newest, name) => {
        const date = partitions.get(name);
        return date === undefined ? newest : Math.max(newest ?? 0, Date.parse(ingestedAt(date)));
      }, null),
    collection: (name) => {
      const head = read_collections.get(name);
      return head === undefined ? null : collectionEdition(root, name, head, feedStates);
    },
    feedStates,
  };
}

/** The edition of an empty root. */
export const NOTHING_PUBLISHED: Edition = makeEdition(
  openDataRoot(devNull),
  null,
  {
    dates: new Map(),
    months: new Map(),
    collections: new Map(),
    read_collections: new Map(),
    feedStates: [],
    staticHead: null,
  },
  0,
);

function collectionEdition(
  root: DataRoot,
  name: CollectionName,
  { source, committed_at, ingested_at, table_commits, files }: Head,
  feedStates: readonly FeedState[],
): CollectionEdition {
  const committed_ms = Date.parse(ingestedAt({ committed_at, ingested_at }));
  const known = feedStates
    .filter(({ collection }) => collection === name)
    .map(({ last_success_at, followed_since = committed_at }) =>
      last_success_at === null ? Math.min(Date.parse(followed_since), committed_ms) : Date.parse(last_success_at),
    );
  return {
    paths: (first_month, last_month) =>
      files
        .filter(({ rows, segment }) => rows > 0 && segment !== COLLECTED_TIMES)
        .filter(({ segment }) => first_month === undefined || segment >= first_month)
        .filter(({ segment }) => last_month === undefined || segment <= last_month)
        .sort((a, b) => (a.segment < b.segment ? -1 : 1))
        .map(root.fileOf),
    collected_paths: files.filter(({ segment }) => segment === COLLECTED_TIMES).map(root.fileOf),
    source,
    version: `${source} ${Object.values(table_commits).join(' ')}`,
    as_of_ms: known.length === 0 ? committed_ms : Math.min(...known),
    committed_ms,
  };
}

/** False when the bounds in the manifest exclude every row of a file. */
function mayHold({ rows, bbox, max_size_mm }: PublishedFile, near: RowFilter | undefined): boolean {
  if (rows === 0) return false;
  if (near?.min_size_mm !== undefined && max_size_mm !== null && max_size_mm < near.min_size_mm) return false;
  if (near?.bbox === undefined || bbox === null) return true;
  const [west, south, east, north] = near.bbox;
  return bbox[0] <= east && bbox[2] >= west && bbox[1] <= north && bbox[3] >= south;
}

function manifestReader(root: DataRoot, partitions: ReadonlyMap<string, Head>) {
  const manifests = new LRUCache<string, Promise<Manifest>>({ max: MANIFESTS_MAX });
  return async (date: string): Promise<Manifest | null> => {
    const partition = partitions.get(date);
    if (partition === undefined) return null;
    return await memoize(manifests, date, () => readManifest(root, layout.manifest(date, partition.commit)));
  };
}

async function readManifest(root: DataRoot, path: string): Promise<Manifest> {
  const text = await root.text(path);
  if (text === null) throw new DataUnavailable(path, 'is missing, and the edition names it');
  return parsed(path, text, Manifest);
}
