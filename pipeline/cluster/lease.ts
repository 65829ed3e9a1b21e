import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Conflict, LeaseLost, PipelineError } from '../error.ts';
import type { Log } from '../log.ts';
import type { LeaseCommand, LeaseNews, LeaseOrder } from './lease-thread.ts';

/** A lease counts as held for so long after the last confirmed heartbeat was sent: a second less than a standby waits. */
export const LEASE_MS = 5_000;
/** How long a release waits for the database to hear of it. */
const RELEASE_MS = 2_000;

/** The right to write, of one process among all that use the database. */
export interface Lease {
  readonly name: string;
  /** Larger than that of every earlier holder of this lease and of others in the database. */
  readonly fence: number;
  /**
   * Milliseconds for which the lease is certainly held; throws LeaseLost when it is not. Call it before each write that readers
   * see, and give up the write after that time.
   */
  readonly check: () => number;
  /** Time since the last confirmed heartbeat was sent, milliseconds; null once the lease is lost. */
  readonly heartbeat_ms: () => number | null;
  /** Aborts soon after the lease was lost. */
  readonly lost: AbortSignal;
  readonly release: () => Promise<void>;
}

export interface LeaseRequest {
  readonly database_url: string;
  /** The same text on every machine, see `leaseName`. */
  readonly name: string;
  /** Highest fence in what the lease protects: the new one is larger, also where the database has lost its last commits. */
  readonly highestFence: () => Promise<number>;
  readonly log: Log;
  /** How long another holder, or a database out of reach, is waited for; null: for ever. */
  readonly patience_ms: number | null;
  readonly signal?: AbortSignal;
}

/** Name of the lease on a part of a store (`live`, `date:2026-05-01`): stores that share a database have leases of their own. */
export function leaseName(store_url: string, part: string): string {
  return `${part} ${store_url}`;
}

/**
 * Takes a lease: waits until no other process holds it. A holder that is killed, stopped or cut off loses it within 10 s. Returns
 * null when the signal aborts. Throws Conflict naming the holder when the patience is over, and PipelineError when the database refuses
 * this user or, once the patience is over, does not answer.
 *
 * The lease is an advisory lock of PostgreSQL, held by the session of a thread that renews a row every 1.5 s; a standby ends the
 * session of a holder whose row does not change for 6 s. A thread, because work on the main one may take longer than that. No
 * clock is compared with another: each process measures intervals on its own monotonic clock. While a machine is suspended that
 * clock may stand still, so that its holder learns of the loss from the next heartbeat: until then readers refuse its lower fence.
 */
export async function takeLease(request: LeaseRequest): Promise<Lease | null> {
  const { database_url, name, highestFence, log, patience_ms, signal } = request;
  if (signal?.aborted) return null;
  const begun_ms = performance.now();
  const confirmed = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  const holder = `${hostname()} process ${process.pid} ${randomBytes(4).toString('hex')}`;
  const order: LeaseOrder = { lease_of: 'hail-pipeline', database_url, name, holder, patience_ms, confirmed };
  const worker = new Worker(new URL('./lease-thread.ts', import.meta.url), { workerData: order });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const command = (message: LeaseCommand) => worker.postMessage(message);
  const taken = Promise.withResolvers<Lease | null>();
  const losing = new AbortController();
  let isReleased = false;
  let lost: string | null = null;
  let lease: Lease | null = null;

  const lose = (reason: string) => {
    if (lost !== null || isReleased) return;
    lost = reason;
    if (lease === null) taken.reject(new LeaseLost(name, reason));
    else log.warn('Lease:Lost', { lease: name, fence: lease.fence, reason });
    losing.abort();
  };
  const heartbeat_ms = () => {
    const sent_ns = Atomics.load(new BigInt64Array(confirmed), 0);
    return sent_ns === 0n || lost !== null ? null : Number(process.hrtime.bigint() - sent_ns) / 1e6;
  };
  const leaseOf = (fence: number): Lease => ({
    name,
    fence,
    heartbeat_ms,
    lost: losing.signal,
    check: () => {
      const age_ms = heartbeat_ms();
      if (age_ms !== null && age_ms < LEASE_MS) return LEASE_MS - age_ms;
      // Once lost it stays lost: the caller has given up a write.
      lose(age_ms === null ? 'the database has not confirmed it' : `was last confirmed ${Math.round(age_ms)} ms ago`);
      throw new LeaseLost(name, lost ?? 'it was released');
    },
    release: async () => {
      isReleased = true;
      command('release');
      const late = setTimeout(() => void worker.terminate(), RELEASE_MS);
      await ended;
      clearTimeout(late);
    },
  });
  const react: { readonly [Kind in LeaseNews['kind']]: (news: LeaseNews & { readonly kind: Kind }) => void } = {
    waits: (news) => log.info('Lease:Wait:Begin', { lease: name, holder: news.holder }),
    unreachable: ({ reason }) => log.warn('Lease:Database:Failed', { lease: name, reason }),
    ended: (news) => log.warn('Lease:Holder:Ended', { lease: name, holder: news.holder }),
    locked: () =>
      highestFence().then(
        (highest) => command({ fence_at_least: highest + 1 }),
        (error) => taken.reject(error),
      ),
    taken: ({ fence }) => {
      lease = leaseOf(fence);
      log.info('Lease:Take:Done', { lease: name, fence, seconds: (performance.now() - begun_ms) / 1000 });
      // A process that ends need not release it.
      worker.unref();
      taken.resolve(lease);
    },
    lost: ({ reason }) => lose(reason),
    refused: (news) =>
      taken.reject(new Conflict('lease', name, `held by ${news.holder}, expected no other pipeline at work on it`)),
    failed: ({ reason }) =>
      taken.reject(
        new PipelineError('lease', name, `cannot be taken (${reason}), expected a database at HAIL_DATABASE_URL`),
      ),
  };
  worker.on('message', (news: LeaseNews) => (react[news.kind] as (of: LeaseNews) => void)(news));
  worker.on('error', (error) => lose(error.message));
  worker.on('exit', () => lose('its thread ended'));
  const abort = () => taken.resolve(null);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const result = await taken.promise;
    if (result === null) isReleased = true;
    return result;
  } finally {
    signal?.removeEventListener('abort', abort);
    if (lease === null || isReleased) await worker.terminate();
  }
}
