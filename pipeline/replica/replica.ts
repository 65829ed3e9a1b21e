import fs from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { COMMITS_PER_FENCE, isBehind } from '../../schemas/fence.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { Manifest } from '../../schemas/manifest.ts';
import { type ObjectStore, StoreUnavailable } from '../../schemas/object-store/client.ts';
import { Conflict } from '../error.ts';
import { readIfPresent, replaceFile } from '../files.ts';
import { type Log, silent } from '../log.ts';
import { finishHeads, jsonLine } from '../publish/commit.ts';
import { parseRecord } from '../publish/manifests.ts';
import { parseName } from '../publish/root-name.ts';
import type { RootReplica } from '../publish/root-replica.ts';
import { type Comparison, compare, dropPartition, ownCurrent, ownHeads } from './compare.ts';
import { type Moved, NOTHING_MOVED, type PullOrder, pullCurrent, pullPartition, sumOfMoved } from './pull.ts';
import { movePointer, type PushOrder, pushLists, pushLive, versionText } from './push.ts';
import { readMemory, writeMemory } from './store-memory.ts';
import {
  headIn,
  isTagOf,
  listHeads,
  md5Of,
  readStoredCurrent,
  readStoredHead,
  readText,
  type Stored,
  type StoredCurrent,
  storedOf,
} from './stored.ts';
import { openStoredFeeds } from './stored-feeds.ts';
import { sweepLive, sweepPartition } from './sweep-store.ts';

/** Partitions that are committed together move their heads together; more than these are pushed one after the other. */
const TOGETHER = 8;
/** How long a commit waits for a store that is out of reach before it fails. */
const OUTAGE_MS = 60_000;
const RETRY_MS = 1000;
/** Partitions of the store that one sweep looks at, each with about thirty requests. */
const SWEPT_AT_A_TIME = 12;

export interface ReplicaSettings {
  /** The data root: the working copy of what the store holds. */
  readonly path: string;
  readonly store: ObjectStore;
  /** Of the holder of the lease; null for a writer that is known to be the only one. */
  readonly fence: number | null;
  /** Throws when the lease is lost. */
  readonly check?: () => void;
  /** How long the PUT of a head or of the pointer may take, ms: it must end before the lease does. */
  readonly pointer_ms?: () => number;
  /** How long a commit waits for a store that is out of reach, ms. */
  readonly outage_ms?: number;
  readonly signal?: AbortSignal;
  readonly log?: Log;
  /** True for `publish --to`: an empty store is filled, and a store that has moved on is refused instead of pulled. */
  readonly fills?: boolean;
}

/** A store that follows the commits of a data root. */
export interface Replica extends RootReplica {
  /** Pushes partitions, and with null all that are due, the pointer and the states of the feeds. */
  readonly push: (partitions?: readonly string[] | null) => Promise<Moved>;
  /**
   * Brings partitions of the root, and with null all of it, to the state of the store; never to an older one than it has seen. The
   * caller holds the lock of the root (`takeLock`), or works in one of its own.
   */
  readonly pull: (partitions?: readonly string[] | null, proof?: PullOrder['proof']) => Promise<Moved>;
  /** Largest fence that the store has seen; 0 for none. */
  readonly highestFence: () => Promise<number>;
  /**
   * Stores the states of the feeds where they changed. Looks at the pointer of the store, and puts its own again where a writer with a
   * lower fence replaced it. Throws Conflict for a higher one.
   */
  readonly watch: () => Promise<'ours' | 'restored'>;
  /** What is committed and not yet in the store: partitions, and files and bytes of those that are being pushed. */
  readonly lag: () => Moved & { readonly partitions: number };
}

/** Opens the replica of a root in a store. No request is sent. */
export function openReplica({
  path,
  store,
  fence,
  check = () => {},
  pointer_ms,
  outage_ms = OUTAGE_MS,
  signal,
  log = silent,
  fills = false,
}: ReplicaSettings): Replica {
  let lag = NOTHING_MOVED;
  const order: PushOrder = {
    path,
    store,
    fence,
    check,
    lag: (change) => {
      lag = sumOfMoved([lag, change]);
    },
    pointerPatience: () => ({
      ...(pointer_ms === undefined ? {} : { patience_ms: pointer_ms() }),
      ...(signal === undefined ? {} : { signal }),
    }),
  };
  /** What the store holds, as far as this process knows. */
  let heads = new Map<string, Stored>();
  let current: StoredCurrent | null = null;
  let root_md5: string | null = null;
  const feeds = openStoredFeeds(order);
  /** Tags of the heads that a listing named when they were last looked at. */
  const seen_tags = new Map<string, string>();
  const due = new Set<string>();
  let is_all_due = false;

  const remember = () =>
    writeMemory(path, {
      url: store.name,
      current: current === null ? null : storedOf(current),
      heads: Object.fromEntries(heads),
    });

  /** Requires that root and store have the same name; a root without published data takes that of the store. False: an empty store. */
  const join_ = async (has_data: boolean): Promise<boolean> => {
    const key = layout.root;
    const [own, theirs] = [await readIfPresent(join(path, key)), await readText(store, key)];
    root_md5 = theirs === null ? null : md5Of(theirs);
    if (theirs === null) return false;
    const stored = parseName(`${store.name}/${key}`, theirs).known;
    const named = own === null ? null : parseName(join(path, key), own).known;
    if (named !== null && named.root_id !== stored.root_id && has_data)
      throw new Conflict(
        'publish',
        store.name,
        `holds the data root ${stored.root_id}, expected ${named.root_id}, that of ${path}`,
      );
    if (named === null && has_data)
      throw new Conflict('publish', path, `has no ${key} but published data, expected the data root ${stored.root_id}`);
    const is_newer = named?.root_id !== stored.root_id || (stored.format ?? 1) > (named?.format ?? 1);
    if (is_newer) await replaceFile(join(path, key), theirs);
    return true;
  };

  /** Moves the heads of the store that a writer left behind when it was killed between two of them. */
  const finishStore = async () => {
    const pending = await readText(store, layout.pending);
    if (pending === null) return;
    for (const key of JSON.parse(pending) as string[]) {
      const text = await readText(store, key);
      if (text === null) continue;
      const next = headOf(parseRecord(`${store.name}/${key}`, text, Manifest));
      const known = await readStoredHead(store, next.partition);
      if (known !== null && !isBehind(known, next)) continue;
      const line = jsonLine(next);
      await movePointer(order, layout.head(next.partition), headIn(key, line), known);
    }
    check();
    await store.remove(layout.pending);
  };

  const reconcile = async () => {
    await finishHeads(path);
    const own = await ownHeads(path);
    if (!(await join_(own.size > 0))) {
      if (own.size > 0 && !fills)
        throw new Conflict(
          'publish',
          store.name,
          `holds no data root, and ${path} has published data: move it with 'hail-pipeline publish --to ${store.name}'`,
        );
      is_all_due = true;
      return;
    }
    await finishStore();
    const known = await readMemory(path, store.name);
    const found = await compare(path, store, known);
    if (fills) requireFollows(found);
    const moved = await settle(found);
    if (!fills) await feeds.pull();
    await remember();
    const counts = Object.fromEntries(
      Map.groupBy(found.partitions.values(), ({ kind }) => kind)
        .entries()
        .map(([kind, all]) => [kind, all.length]),
    );
    log.info('Replica:Reconcile:Done', { ...counts, files: moved.files, bytes: moved.bytes });
  };

  /** Takes from the store what is theirs, and marks what is to be pushed. */
  const settle = async ({ partitions, own_current, stored_current, pull_current }: Comparison): Promise<Moved> => {
    const pulling: PullOrder = { path, store, proof: 'size' };
    const moved: Moved[] = [];
    heads = new Map();
    for (const [partition, standing] of partitions) {
      if (standing.kind === 'theirs') {
        const pinned = pull_current ? (stored_current?.current.open_dates[partition] ?? null) : null;
        moved.push(await pullPartition(pulling, standing.stored, pinned));
      }
      if (standing.kind === 'gone') await dropPartition(path, partition);
      if (standing.kind === 'ahead') due.add(partition);
      if (standing.kind !== 'gone' && standing.stored !== null) heads.set(partition, storedOf(standing.stored));
    }
    current = stored_current;
    if (pull_current && stored_current !== null) moved.push(await pullCurrent(pulling, stored_current));
    is_all_due = due.size > 0 || (!pull_current && own_current?.md5 !== stored_current?.md5);
    return sumOfMoved(moved);
  };

  const requireFollows = ({ partitions, pull_current }: Comparison) => {
    for (const [partition, { kind }] of partitions)
      if (kind === 'theirs' || kind === 'gone')
        throw new Conflict(
          'publish',
          store.name,
          `has other commits of ${partition} than ${path}, expected those that it was made from: bring the root to the store's state with --from`,
        );
    if (pull_current)
      throw new Conflict(
        'publish',
        store.name,
        `has a newer pointer than ${path}, expected that of the root or one before it`,
      );
  };

  const pushRoot = async () => {
    const text = await fs.readFile(join(path, layout.root), 'utf8');
    if (md5Of(text) === root_md5) return;
    check();
    await store.put(layout.root, Buffer.from(text));
    root_md5 = md5Of(text);
  };

  /** Pushes partitions whose heads move together. */
  const pushGroup = async (
    partitions: readonly string[],
    open_dates: Readonly<Record<string, number>>,
  ): Promise<Moved> => {
    const ready = [];
    for (const partition of partitions) {
      const pinned = open_dates[partition] ?? null;
      ready.push(await pushLists(order, { partition, stored: heads.get(partition) ?? null, pinned }));
    }
    const is_together = ready.length > 1;
    check();
    if (is_together)
      await store.put(
        layout.pending,
        Buffer.from(jsonLine(ready.map(({ head }) => layout.manifest(head.head.partition, head.commit)))),
      );
    for (const { head } of ready) {
      const { partition } = head.head;
      await movePointer(order, layout.head(partition), head, heads.get(partition) ?? null);
      heads.set(partition, storedOf(head));
      due.delete(partition);
    }
    if (is_together) await store.remove(layout.pending);
    return sumOfMoved(ready.map(({ moved }) => moved));
  };

  const pushPointer = async (own: StoredCurrent | null): Promise<Moved> => {
    if (own === null || own.md5 === current?.md5) return NOTHING_MOVED;
    const { first_scan: _, ...live } = own.current.live;
    const { first_scan: __, ...there } = current?.current.live ?? { first_scan: '' };
    const present = new Set<string>(Object.values(there));
    const moved = await pushLive(
      order,
      Object.values(live).filter((name) => !present.has(name)),
    );
    await movePointer(order, layout.current, own, current);
    current = own;
    return moved;
  };

  const isPointerDue = async () => {
    const own = await readIfPresent(join(path, layout.current));
    return own !== null && md5Of(own) !== current?.md5;
  };

  const pushOnce = async (partitions: readonly string[] | null): Promise<Moved> => {
    lag = NOTHING_MOVED;
    await pushRoot();
    const own = partitions === null ? await ownCurrent(path) : null;
    if (is_all_due && partitions === null)
      for (const [partition, { md5 }] of await ownHeads(path))
        if (heads.get(partition)?.md5 !== md5) due.add(partition);
    const chosen = [...(partitions ?? due)];
    const groups = chosen.length <= TOGETHER && partitions === null ? [chosen] : chosen.map((one) => [one]);
    const moved: Moved[] = [];
    for (const group of groups) {
      moved.push(await pushGroup(group, own?.current.open_dates ?? {}));
      if (groups.length > 1) await remember();
    }
    if (partitions === null) {
      moved.push(await pushPointer(own));
      await feeds.push();
      is_all_due = false;
    }
    await remember();
    return sumOfMoved(moved);
  };

  /** Repeats work while the store is out of reach, for as long as a commit may wait. */
  const insist = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const until_ms = performance.now() + outage_ms;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || performance.now() >= until_ms) throw error;
        check();
        log.warn('Replica:Store:Unavailable', { reason: error.message, due: due.size });
        await pause(RETRY_MS, undefined, signal === undefined ? {} : { signal });
      }
    }
  };

  const push = (partitions: readonly string[] | null = null) => insist(() => pushOnce(partitions));

  const pull = async (
    partitions: readonly string[] | null = null,
    proof: PullOrder['proof'] = 'size',
  ): Promise<Moved> => {
    const own = await ownHeads(path);
    if (!(await join_(own.size > 0))) return NOTHING_MOVED;
    const order_: PullOrder = { path, store, proof };
    const pointer = partitions === null ? await readStoredCurrent(store) : null;
    const moved: Moved[] = [];
    for (const [partition, etag] of await listHeads(store)) {
      if (partitions !== null && !partitions.includes(partition)) continue;
      const mine = own.get(partition) ?? null;
      if (proof === 'size' && mine !== null && isTagOf(etag, mine.md5)) continue;
      const stored = await readStoredHead(store, partition);
      if (stored === null || (mine !== null && isBehind(stored, mine))) continue;
      moved.push(await pullPartition(order_, stored, pointer?.current.open_dates[partition] ?? null));
      heads.set(partition, storedOf(stored));
    }
    const mine = await ownCurrent(path);
    if (pointer !== null && pointer.md5 !== mine?.md5 && (mine === null || !isBehind(pointer, mine))) {
      moved.push(await pullCurrent(order_, pointer));
      current = pointer;
    }
    if (partitions === null) await feeds.pull();
    return sumOfMoved(moved);
  };

  const takePushed = async (): Promise<string | null> => {
    // A commit that failed is settled first, when the root is opened again.
    if (is_all_due || due.size > 0) return null;
    for (const [partition, etag] of await listHeads(store)) {
      const mine = heads.get(partition) ?? null;
      if (seen_tags.get(partition) === etag || (mine !== null && isTagOf(etag, mine.md5))) continue;
      seen_tags.set(partition, etag);
      const stored = await readStoredHead(store, partition);
      if (stored === null || stored.md5 === mine?.md5 || (mine !== null && isBehind(stored, mine))) continue;
      const { files, bytes } = await pullPartition({ path, store, proof: 'size' }, stored, null);
      heads.set(partition, storedOf(stored));
      await remember();
      log.info('Replica:Take:Done', { partition, files, bytes });
      return partition;
    }
    return null;
  };

  return {
    fence,
    check,
    reconcile: () => insist(reconcile),
    committed: (manifests) => {
      for (const { partition } of manifests) due.add(partition);
    },
    commitFailed: () => {
      is_all_due = true;
    },
    update: async () => {
      if (due.size > 0 || is_all_due || (await isPointerDue())) await push();
    },
    takePushed: () => insist(takePushed),
    push,
    pull: (...order_) => insist(() => pull(...order_)),
    highestFence: async () => {
      let highest = (await readStoredCurrent(store))?.fence ?? 0;
      for await (const { key } of store.list(`${layout.manifests}/`)) {
        const [, number] = /\/(\d{6,})\.json$/.exec(key) ?? [];
        highest = Math.max(highest, Math.floor((Number(number ?? 0) - 1) / COMMITS_PER_FENCE));
      }
      return highest;
    },
    watch: async () => {
      await feeds.push();
      if (current === null) return 'ours';
      const found = await store.head(layout.current);
      if (found !== null && isTagOf(found.etag, current.md5)) return 'ours';
      const stored = await readStoredCurrent(store);
      if (stored?.md5 === current.md5) return 'ours';
      if (stored !== null && !isBehind(stored, current))
        throw new Conflict(
          'publish',
          `${store.name}/${layout.current}`,
          `is commit ${versionText(stored)} of another writer, expected ${versionText(current)}`,
        );
      await movePointer(order, layout.current, current, stored);
      return 'restored';
    },
    sweep: async () => {
      let swept = await sweepLive(store, check);
      const turn = [...heads].slice(0, SWEPT_AT_A_TIME);
      for (const [partition, head] of turn) {
        const { files, bytes } = await sweepPartition(store, check, partition, head);
        swept = { files: swept.files + files, bytes: swept.bytes + bytes };
        // Partitions take turns: the one that was swept goes to the end.
        heads.delete(partition);
        heads.set(partition, head);
      }
      return swept;
    },
    lag: () => ({ partitions: due.size, ...lag }),
  };
}
