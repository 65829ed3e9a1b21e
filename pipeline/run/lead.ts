import { openObjectStore, StoreUnavailable, untilAborted } from '../../schemas/object-store/client.ts';
import { type Lease, type LeaseRequest, leaseName, takeLease } from '../cluster/lease.ts';
import type { ClusterStatus } from '../cluster/status.ts';
import type { Config } from '../config.ts';
import { LeaseLost } from '../error.ts';
import type { Log } from '../log.ts';
import { takeLock } from '../publish/lock.ts';
import { openReplica, type Replica } from '../replica/replica.ts';
import { pause } from '../sources/http.ts';
import { requireCluster } from './require-cluster.ts';

/** Part of a store that the one stream writes, or a command while it works. */
const LIVE = 'live';
/** A standby brings its working copy up to date this often. */
const PULL_EVERY_MS = 2_000;
/** A leader that does not reach the store leaves the lease for so long to a standby, which may reach it. */
const YIELD_MS = 5_000;
/** A pull of a standby is not repeated: the next one comes soon. */
const STANDBY_OUTAGE_MS = 0;

/** Works on the live part of the store of some settings. */
interface Works {
  readonly lease: Omit<LeaseRequest, 'patience_ms' | 'signal'>;
  /** A replica of the data root for the holder of the lease, or for one that only pulls until the signal aborts. */
  readonly open: (holder: Lease | AbortSignal) => Replica;
}

/** Null without a store. Throws UsageError where no database goes with it. */
function worksOn(config: Config, log: Log, status: ClusterStatus | null): Works | null {
  if (config.store === null) return null;
  const { database_url, address } = requireCluster(config);
  const path = config.data_root;
  const store = openObjectStore(address, (outcome) => {
    if (status !== null) status.requests[outcome] += 1;
  });
  const open: Works['open'] = (holder) => {
    const signal = holder instanceof AbortSignal ? holder : holder.lost;
    const common = { path, store: untilAborted(store, signal), signal, log };
    return holder instanceof AbortSignal
      ? openReplica({ ...common, fence: null, outage_ms: STANDBY_OUTAGE_MS })
      : openReplica({ ...common, fence: holder.fence, check: holder.check, pointer_ms: holder.check });
  };
  const { highestFence } = open(new AbortController().signal);
  return { lease: { database_url, name: leaseName(address.url, LIVE), highestFence, log }, open };
}

/**
 * Result of `work` with the replica of the data root, null without a store. Throws Conflict while a stream, or another command, writes
 * to the store.
 */
export async function withReplica<T>(
  config: Config,
  log: Log,
  work: (replica: Replica | null) => Promise<T>,
): Promise<T> {
  const works = worksOn(config, log, null);
  if (works === null) return work(null);
  const lease = (await takeLease({ ...works.lease, patience_ms: 0 })) as Lease;
  try {
    return await work(works.open(lease));
  } finally {
    await lease.release();
  }
}

/** What a stream needs to follow others, and to lead. */
export interface Leading {
  readonly log: Log;
  /** Read by metrics; null without a store. */
  readonly status: ClusterStatus | null;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Publishes until its signal aborts, as the only process that does. Without a store it is called once, with null. */
  readonly lead: (replica: Replica | null, signal: AbortSignal) => Promise<void>;
}

/**
 * Calls `lead` whenever this process holds the lease on the live part of the store, until one call ends by itself or the signal aborts.
 * In between it stands by, and its data root follows the store. A call that throws LeaseLost or StoreUnavailable, or during which the
 * lease was lost, is followed by another once the lease is held again. Any other error is thrown.
 */
export async function leadInTurn(config: Config, { log, status, signal, lead }: Leading): Promise<void> {
  const works = worksOn(config, log, status);
  if (works === null) return lead(null, signal);
  while (!signal.aborted) {
    let lease: Lease | null = null;
    try {
      lease = await standBy(config, works, log, signal);
      if (lease === null) return;
      const replica = works.open(lease);
      if (status !== null) Object.assign(status, { lease, lag: replica.lag });
      await lead(replica, AbortSignal.any([signal, lease.lost]));
      if (!lease.lost.aborted) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof StoreUnavailable) {
        log.warn('Stream:Wait:Begin', { reason: error.message, seconds: YIELD_MS / 1000 });
        await lease?.release();
        await pause(YIELD_MS, signal);
      } else if (!(error instanceof LeaseLost) && lease?.lost.aborted !== true) throw error;
    } finally {
      await lease?.release();
      if (status !== null) Object.assign(status, { lease: null, lag: null });
    }
  }
}

/** The lease, once this process has it; null when the signal aborts. Until then the data root follows the store. */
async function standBy(config: Config, works: Works, log: Log, signal: AbortSignal): Promise<Lease | null> {
  const ended = new AbortController();
  const following = AbortSignal.any([signal, ended.signal]);
  const lock = takeLock(config.data_root, 'hail-pipeline stream', config.now());
  const followed = followStore(works.open(following), log, following).catch((error: unknown) => {
    ended.abort();
    throw error;
  });
  // It is thrown below, where it is awaited.
  followed.catch(() => {});
  try {
    const lease = await takeLease({ ...works.lease, patience_ms: null, signal: following });
    ended.abort();
    await followed;
    return lease;
  } finally {
    ended.abort();
    await followed.catch(() => {});
    lock.release();
  }
}

/** Brings the data root to the state of the store again and again, until the signal aborts. */
async function followStore(replica: Replica, log: Log, signal: AbortSignal): Promise<void> {
  let fault: string | null = null;
  while (!signal.aborted) {
    try {
      const { files, bytes } = await replica.pull();
      if (files > 0) log.info('Replica:Pull:Done', { files, bytes });
      fault = null;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof StoreUnavailable)) throw error;
      // Waits for it as the leader does; said once.
      if (fault === null) log.warn('Replica:Store:Unavailable', { reason: error.message, due: 0 });
      fault = error.message;
    }
    await pause(PULL_EVERY_MS, signal);
  }
}
