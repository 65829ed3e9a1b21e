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
import { type Bbox, boxesMeet } from '../../schemas/geo/position.ts';
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
import { createObservers } from '../http/observers.ts';
import { type DataRoot, DataUnavailable, openDataRoot } from './data-root.ts';

/** Box and smallest size of the rows that a question needs. */
type RowFilter = { readonly bbox?: Bbox; readonly min_size_mm?: number };

/**
 * The published data at one moment: pinned for one request, immutable. Dates are storm dates; `paths` and `version` also take
 * `layout.staticPartition`, for tables that belong to no date.
 */
export type Edition = ReturnType<typeof makeEdition>;

/** A collection at one moment. */
export type CollectionEdition = ReturnType<typeof collectionEdition>;

/** Follows `current.json` and the manifests of a data root. */
export type Catalog = Awaited<ReturnType<typeof openCatalog>>;

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

const MONTHS = layout.monthPartition('');
const UNDATED = new Set<string>([layout.staticPartition, ...COLLECTIONS.map(layout.collectionPartition)]);
const isDate = (partition: string) => /^\d{4}-\d{2}-\d{2}$/.test(partition);
const KNOWN_TABLES = new Map<string, Table>(TABLES.map((table) => [table.name, table]));

/**
 * Opens the catalog of the data root in a folder. A root that never held anything, empty or missing, is an edition without dates;
 * one whose switch was there and is gone has no edition, as on a mount whose server is gone. `troubled` hears of an edition that is lost,
 * and of one that is there again (null).
 */
export async function openCatalog(
  folder: string,
  storm_day_start_hour: number,
  troubled: (reason: string | null) => void = () => {},
) {
  const root = openDataRoot(folder);
  const readLists = listReader(root, storm_day_start_hour);
  const preparations: ((edition: Edition) => Promise<void>)[] = [];
  const observers = createObservers<Edition>();
  let state: Edition | DataUnavailable = NOTHING_PUBLISHED;
  let seen: string | null | undefined;
  let heads_at_ms = Number.NEGATIVE_INFINITY;
  let running: Promise<void> | null = null;

  const poll = async () => {
    const mark = await root.mark(layout.current);
    const isFailed = state instanceof DataUnavailable;
    if (mark === seen && performance.now() - heads_at_ms < POLL_HEADS_MS && !isFailed) return;
    // First of all: its format says whether the other lists can be read.
    await checkFormat(root);
    // Absent is not empty.
    if (mark === null && typeof seen === 'string') throw new DataUnavailable(layout.current, 'is gone');
    const text = await root.text(layout.current);
    const current = text === null ? null : parsed(layout.current, text, Current);
    const lists = await readLists(current);
    await requireFolders(root, current, lists.heads.values().toArray());
    heads_at_ms = performance.now();
    if (mark !== seen || lists.changed || isFailed) {
      const edition = makeEdition(root, current, lists, storm_day_start_hour);
      for (const prepare of preparations) await prepare(edition);
      state = edition;
      if (isFailed) troubled(null);
      observers.publish(edition);
    }
    seen = mark;
  };
  const fail = (cause: unknown) => {
    const reason = `cannot be read: ${cause instanceof Error ? cause.message : cause}`;
    const failure = cause instanceof DataUnavailable ? cause : new DataUnavailable('a list', reason, { cause });
    if (!(state instanceof DataUnavailable)) troubled(failure.message);
    state = failure;
  };
  const refresh = () => {
    running ??= poll()
      .catch(fail)
      .finally(() => {
        running = null;
      });
    return running;
  };

  await refresh();
  const timer = setInterval(refresh, POLL_CURRENT_MS);
  timer.unref();
  return {
    /** The edition in force; throws DataUnavailable while the root is inconsistent. Cheap. */
    edition: (): Edition => {
      if (state instanceof DataUnavailable) throw state;
      return state;
    },
    /** The reason why there is no edition; null when there is one. */
    failure: (): DataUnavailable | null => (state instanceof DataUnavailable ? state : null),
    /** Polls the root now. */
    refresh: async (): Promise<void> => {
      await running;
      heads_at_ms = Number.NEGATIVE_INFINITY;
      await refresh();
    },
    /**
     * Registers a function that runs before a new edition is handed out, and runs it for the present one. When it fails, there
     * is no edition.
     */
    beforeEdition: async (prepare: (edition: Edition) => Promise<void>): Promise<void> => {
      preparations.push(prepare);
      if (!(state instanceof DataUnavailable)) await prepare(state).catch(fail);
    },
    /**
     * Registers an observer that runs after an edition is handed out, and runs it for the present one. It delays no edition and no
     * other observer, and its failure makes no data unavailable. One that is still busy when several editions come out is given the
     * newest only: every scan in between is in the newest, which lists them. The function returned unregisters, and waits while it
     * reacts.
     */
    afterEdition: observers.add,
    /** Stops polling. Resolves once observers have finished. */
    close: async (): Promise<void> => {
      clearInterval(timer);
      await running;
      await observers.close();
    },
  };
}

/**
 * Throws DataUnavailable with the missing folders of those that the manifests name files in: a root whose `tables/` was moved
 * away still has all its manifests. Single files are not checked here: the reader of a missing one gets the error.
 */
async function requireFolders(root: DataRoot, current: Current | null, heads: readonly Head[]): Promise<void> {
  const folders = new Set(heads.flatMap(({ files }) => files.map(({ path }) => path.split('/', 2).join('/'))));
  const withScans = heads.filter(({ scans }) => scans.count > 0);
  if (withScans.length > 0) folders.add(layout.allScanTiles);
  if (withScans.some(({ table_commits }) => table_commits[DAILY] !== undefined)) folders.add(layout.allDailyTiles);
  if (heads.some(({ reflectivity_archives }) => reflectivity_archives !== undefined)) folders.add(layout.reflectivity);
  if (current !== null) folders.add(layout.live);
  const missing = await root.missing(folders);
  if (missing.length > 0)
    throw new DataUnavailable(missing.join(', '), 'is missing, and lists name files there', { missing });
}

/** Throws UnreadableVersion for a root of another data format, DataUnavailable for one whose name is damaged. */
async function checkFormat(root: DataRoot): Promise<void> {
  const text = await root.text(layout.root);
  if (text === null) return; // no pipeline has opened it
  const fault = formatFault(json(layout.root, text), PROGRAM);
  if (fault !== null) throw new UnreadableVersion(layout.root, fault);
  parsed(layout.root, text, RootName);
}

function json(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DataUnavailable(path, 'is not JSON', { cause });
  }
}

function parsed<Shape extends z.ZodType>(path: string, text: string, shape: Shape): z.infer<Shape> {
  const result = shape.safeParse(json(path, text));
  if (!result.success) throw new DataUnavailable(path, 'is not a list of this version', { cause: result.error });
  return result.data;
}

/** Lists in force: heads by the names of their partitions, ascending, and states of the feeds. */
type Lists = { readonly heads: ReadonlyMap<string, Head>; readonly feedStates: readonly FeedState[] };

/** Reads the manifests in force, and again only those whose file was replaced. */
function listReader(root: DataRoot, storm_day_start_hour: number) {
  let known = new Map<string, { readonly mark: string; readonly list: unknown }>();

  return async (current: Current | null): Promise<Lists & { readonly changed: boolean }> => {
    const loaded: typeof known = new Map();
    const load = async <List>(path: string, parse: (text: string) => List): Promise<List | null> => {
      const mark = await root.mark(path);
      const before = known.get(path);
      const isKnown = mark === before?.mark;
      const text = mark === null || isKnown ? null : await root.text(path);
      if (mark === null || (text === null && !isKnown)) return null;
      const list = text === null ? (before?.list as List) : parse(text);
      loaded.set(path, { mark, list });
      return list;
    };
    const loadHead = (path: string) => load(path, (text) => headIn(path, text, storm_day_start_hour));

    const pinned = current?.open_dates ?? {};
    const isPartition = (name: string) => isDate(name) || name.startsWith(MONTHS) || UNDATED.has(name);
    const names = [...new Set([...(await root.partitions()).filter(isPartition), ...Object.keys(pinned)])].sort();
    const read = names.map(async (name) => {
      const commit = pinned[name];
      const path = commit === undefined ? layout.head(name) : layout.manifest(name, commit);
      const head = await loadHead(path);
      if (head === null && commit !== undefined) throw new DataUnavailable(path, 'is missing, and the switch names it');
      // Without a head, the first commit of the partition was killed before the head was moved.
      return head === null ? [] : [[name, head] as const];
    });
    const heads = new Map((await Promise.all(read)).flat());
    for (const [name, head] of heads) {
      if (!isDate(name) || pinned[name] !== undefined || isReadable(head, current)) continue;
      // A closed date that gets late data is open again before the switch names it: until then it is read as it was.
      const before = head.commit > 1 ? await loadHead(layout.manifest(name, head.commit - 1)) : null;
      if (before?.closed === true) heads.set(name, before);
      else heads.delete(name);
    }
    for (const [name, { dates }] of heads) {
      const lost = Object.keys(dates ?? {}).find((date) => !heads.has(date));
      if (lost !== undefined)
        throw new DataUnavailable(layout.head(lost), `is missing, and month ${name.slice(MONTHS.length)} names it`);
    }
    const hours = layout.collectionPartition('forecast');
    const paired = pairedForecast(heads);
    if (paired === 0) {
      // A first forecast whose outlook is still to come. It is not held back for an outlook that fails to be made.
      if ((await root.mark(layout.pending)) !== null) heads.delete(hours);
    } else if (paired !== null) {
      const head = await loadHead(layout.manifest(hours, paired));
      if (head !== null) heads.set(hours, head);
    }
    const feedStates = (await load(layout.feeds, (text) => parsed(layout.feeds, text, FeedStates).feeds)) ?? [];
    const changed =
      loaded.size !== known.size || [...loaded].some(([path, { mark }]) => known.get(path)?.mark !== mark);
    known = loaded;
    return { heads, feedStates, changed };
  };
}

/**
 * Commit of the forecast that belongs to the outlook, 0 for none; null where the newest does. The two are committed together, but
 * their heads move one after the other: in between, and after a kill there, one is newer than the other, and the hours would
 * contradict the days. The list of that commit is gone hours after it was replaced: then the newest is read.
 */
function pairedForecast(heads: Lists['heads']): number | null {
  const days = heads.get(layout.collectionPartition('outlook'));
  const made_from = days?.made_from?.[outlook.name]?.[forecast.name];
  const newest = heads.get(layout.collectionPartition('forecast'))?.table_commits[forecast.name] ?? 0;
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
  const head = path.endsWith('/head.json') ? parsed(path, text, Head) : headOf(parsed(path, text, Manifest));
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
  { heads, feedStates }: Lists,
  storm_day_start_hour: number,
) {
  const dates = [...heads.keys()].filter(isDate);
  /** Time up to which a date was observed, epoch milliseconds; null while it holds nothing. */
  const observedUntil = (name: string): number | null => {
    const date = heads.get(name);
    const last = date?.scans.last ?? null;
    if (last !== null) return scanTime(last);
    // A date without scans is the sum of a whole day: it was observed up to its last second.
    return (date?.files ?? []).length === 0 ? null : stormDateStart(addDays(name, 1), storm_day_start_hour) - 1000;
  };
  const newestOf = (names: readonly string[]) =>
    names.reduce<{ date: string; until_ms: number } | null>((newest, date) => {
      const until_ms = observedUntil(date);
      return until_ms !== null && (newest === null || until_ms > newest.until_ms) ? { date, until_ms } : newest;
    }, null);
  const newest = newestOf(dates);
  const newest_scan_ms = newest?.until_ms ?? null;
  const newestDate = heads.get(newest?.date ?? '');
  const newest_provenance: Provenance | null =
    current?.source ?? (newestDate === undefined ? null : provenanceOfDate(newestDate.partition, newestDate.source));
  const feeds = new Map<string, number>();
  for (const date of dates) {
    const { source, feeds: seen } = heads.get(date) as Head;
    for (const [product, time] of source === newest_provenance ? Object.entries(seen) : [])
      feeds.set(product, Math.max(Date.parse(time), feeds.get(product) ?? Number.NEGATIVE_INFINITY));
  }
  const live: Current['live'] | null = current?.live ?? null;
  const live_from_ms = live === null ? Number.POSITIVE_INFINITY : scanTime(live.first_scan);
  const liveDates = dates.flatMap((date) => {
    const last = heads.get(date)?.scans.last ?? null;
    const last_ms = last === null ? Number.NEGATIVE_INFINITY : scanTime(last);
    return date === newest?.date ? [{ date, last_ms: Infinity }] : last_ms >= live_from_ms ? [{ date, last_ms }] : [];
  });
  const filled = (name: string) => {
    const date = heads.get(name);
    // An open date without scans was cleared: there is nothing of either provenance.
    return date === undefined || (!date.closed && date.scans.count === 0) ? null : date;
  };
  const filesOf = (partition: Head | undefined, table: string, near: RowFilter | undefined) =>
    (partition?.files ?? []).filter((file) => file.table === table && mayHold(file, near)).map(root.fileOf);
  const datesBetween = (first: string, last: string) => dates.filter((date) => date >= first && date <= last);
  const manifests = new LRUCache<string, Manifest>({
    max: MANIFESTS_MAX,
    fetchMethod: async (path) => {
      const text = await root.text(path);
      if (text === null) throw new DataUnavailable(path, 'is missing, and the edition names it');
      return parsed(path, text, Manifest);
    },
  });
  return {
    /** Provenance of the newest data, which need not be that of other dates; null while nothing is published. */
    newest_provenance,
    /** Observation time of the newest scan, epoch milliseconds; null while nothing is published. */
    newest_scan_ms,
    /** Observation time of the newest file of each product that went into data of that provenance, epoch milliseconds. */
    feeds: feeds as ReadonlyMap<string, number>,
    /** Names of the live snapshot's files; null while there is none. */
    live,
    /** Published dates, ascending. */
    dates: dates as readonly string[],
    /** The whole manifest of a date; null for a date that is not published. Rejects with DataUnavailable when its file is gone. */
    manifest: async (date: string): Promise<Manifest | null> => {
      const head = heads.get(date);
      return head === undefined ? null : ((await manifests.fetch(layout.manifest(date, head.commit))) ?? null);
    },
    /** True for a date that lists archives of reflectivity. */
    hasReflectivity: (date: string): boolean => heads.get(date)?.reflectivity_archives !== undefined,
    /** Reads published files that are no tables. */
    files: root as Pick<DataRoot, 'open' | 'part' | 'bytes'>,
    /** Absolute paths of the files of a table that may hold rows of a question; none is a valid answer. */
    paths: (table: string, names: readonly string[], near?: RowFilter): string[] =>
      names.flatMap((name) => filesOf(heads.get(name), table, near)),
    /**
     * Absolute paths of the day maxima from a date to a date, both included: month files where those are current, else day
     * files. Month files hold other dates too: filter by storm_date. A running date lies in several files that add up.
     */
    dayMaxPaths: (first: string, last: string, near?: RowFilter): string[] => {
      const asked = datesBetween(first, last);
      const months = [...new Set(asked.map(monthOf))].flatMap((month) => {
        const head = heads.get(layout.monthPartition(month));
        return head !== undefined && isMonthCurrent(head, (date) => heads.get(date)) ? [head] : [];
      });
      const held = new Set(months.flatMap((month) => Object.keys(month.dates ?? {})));
      const apart = asked.filter((date) => !held.has(date)).map((date) => heads.get(date));
      return [...months, ...apart].flatMap((partition) => filesOf(partition, dayMax.name, near));
    },
    /** Published dates from a date to a date, both included, ascending. */
    datesBetween,
    /** Whether a date with radar data is over and compacted; null for a date that is not published, or was cleared. */
    isClosed: (name: string): boolean | null => filled(name)?.closed ?? null,
    /** Changes when the rows of some tables on some dates change; ETags are made of it. */
    version: (tables: readonly string[], names: readonly string[]): string => {
      const hash = createHash('sha256');
      for (const name of names) {
        const date = heads.get(name);
        if (date === undefined) continue;
        if (name === layout.staticPartition) {
          // The content and source of another static table change nothing here.
          for (const { table, sha256 } of date.files) if (tables.includes(table ?? '')) hash.update(`${sha256}\n`);
          continue;
        }
        const commits = tables.map((table) => date.table_commits[table] ?? 0);
        hash.update(`${name} ${date.source} ${date.scans.inputs} ${commits.join(' ')}\n`);
      }
      return hash.digest('hex').slice(0, 24);
    },
    /** Provenance of some dates, as far as they are published; null when none is. */
    provenanceOf: (names: readonly string[]): MixedProvenance | null =>
      combineProvenances(names.flatMap((name) => filled(name)?.source ?? [])),
    /** Dates of the live window's scans from an instant on; that of the newest scan is always among them. */
    liveDates: (since_ms: number): string[] =>
      liveDates.filter(({ last_ms }) => last_ms >= since_ms).map(({ date }) => date),
    /** Observation time of the newest scan of some dates; of the newest scan at all when they have none. */
    dataAsOf: (names: readonly string[]): number | null => newestOf(names)?.until_ms ?? newest_scan_ms,
    /** Time at which the newest rows of some dates were ingested, epoch milliseconds; null when no date of them is published. */
    ingestedAt: (names: readonly string[]): number | null => {
      const times = names.flatMap((name) => heads.get(name) ?? []).map((date) => Date.parse(ingestedAt(date)));
      return times.length === 0 ? null : Math.max(...times);
    },
    /** The published files of a collection; null when it was never fed, which differs from an empty one. */
    collection: (name: CollectionName): CollectionEdition | null => {
      const head = heads.get(layout.collectionPartition(name));
      const fed_by = feedStates.filter(({ collection }) => collection === name);
      return head === undefined ? null : collectionEdition(root, head, fed_by);
    },
    /** States of the feeds of the collections, in the order of their names. */
    feedStates,
  };
}

const NO_LISTS = { heads: new Map(), feedStates: [] };
/** The edition of an empty root. */
export const NOTHING_PUBLISHED: Edition = makeEdition(openDataRoot(devNull), null, NO_LISTS, 0);

function collectionEdition(
  root: DataRoot,
  { source, committed_at, ingested_at, table_commits, files }: Head,
  fed_by: readonly FeedState[],
) {
  const committed_ms = Date.parse(ingestedAt({ committed_at, ingested_at }));
  const known = fed_by.map(({ last_success_at, followed_since = committed_at }) =>
    last_success_at === null ? Math.min(Date.parse(followed_since), committed_ms) : Date.parse(last_success_at),
  );
  return {
    /**
     * Absolute paths of its files, oldest month first, from a month (`YYYY-MM`) to a month, both included; of one that is replaced
     * as a whole, without months.
     */
    paths: (first_month = '', last_month = '~'): string[] =>
      files
        .filter(({ rows, segment }) => rows > 0 && segment !== COLLECTED_TIMES)
        .filter(({ segment }) => segment >= first_month && segment <= last_month)
        .sort((a, b) => (a.segment < b.segment ? -1 : 1))
        .map(root.fileOf),
    /** Absolute paths of the files that list the times for which its sources were collected; none where that was never recorded. */
    collected_paths: files.filter(({ segment }) => segment === COLLECTED_TIMES).map(root.fileOf) as readonly string[],
    /** Provenance of its rows; of its feeds while it is empty. */
    source: source as MixedProvenance,
    /** Changes when its rows change. */
    version: `${source} ${Object.values(table_commits).join(' ')}`,
    /**
     * Time up to which it is complete, epoch milliseconds: the oldest of the last successes of its feeds. A feed that never
     * succeeded counts from the time it was first followed, so that its age grows.
     */
    as_of_ms: known.length === 0 ? committed_ms : Math.min(...known),
    /** Time of its last change, epoch milliseconds. */
    committed_ms,
  };
}

/** False when the bounds in the manifest exclude every row of a file. */
function mayHold({ rows, bbox, max_size_mm }: PublishedFile, near: RowFilter | undefined): boolean {
  if (rows === 0) return false;
  if (near?.min_size_mm !== undefined && max_size_mm !== null && max_size_mm < near.min_size_mm) return false;
  return near?.bbox === undefined || bbox === null || boxesMeet(bbox, near.bbox);
}
