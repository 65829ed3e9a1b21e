import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import pg from 'pg';
import { type LeaseSession, OTHER_HOLDER, openLeaseSession, type SeenHolder, STALE_AFTER_MS } from './lease-session.ts';

/** Order of the thread that holds a lease. */
export interface LeaseOrder {
  readonly lease_of: 'hail-pipeline';
  readonly database_url: string;
  readonly name: string;
  readonly holder: string;
  /** How long another holder is waited for; null: for ever. */
  readonly patience_ms: number | null;
  /** One number: monotonic time (ns) at which the last confirmed heartbeat was sent; 0: none, or the lease is lost. */
  readonly confirmed: SharedArrayBuffer;
}

/** Messages of the thread, in this order: some of `waits`, `unreachable`, `ended`; `locked`, `taken`, `lost`, or else `refused`. */
export type LeaseNews =
  | { readonly kind: 'waits'; readonly holder: string }
  | { readonly kind: 'unreachable'; readonly reason: string }
  /** The session of a holder that did not renew its lease was ended. */
  | { readonly kind: 'ended'; readonly holder: string }
  /** Holds the lock, and waits for the lowest fence it may take. */
  | { readonly kind: 'locked' }
  | { readonly kind: 'taken'; readonly fence: number }
  | { readonly kind: 'lost'; readonly reason: string }
  /** Another one holds the lease, and the patience is over. */
  | { readonly kind: 'refused'; readonly holder: string }
  /** The database refuses this user, has no such database or, the patience being over, does not answer. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Messages to the thread. */
export type LeaseCommand = { readonly fence_at_least: number } | 'release';

const BEAT_EVERY_MS = 1_500;
const TRY_EVERY_MS = 1_000;
/** Time for a session to end once it was asked to. */
const ENDING_MS = 100;
/** SQLSTATEs that waiting does not cure: the user, its password, its rights, the database. */
const FINAL = /^(28|3D|42501)/;

const order = workerData as LeaseOrder;
if (order?.lease_of === 'hail-pipeline') await hold(order);

/** Takes the lease, renews it until it is lost or released, and says what happens. */
async function hold({ database_url, name, holder, patience_ms, confirmed }: LeaseOrder): Promise<void> {
  const say = (news: LeaseNews) => parentPort?.postMessage(news);
  const sent_ns = new BigInt64Array(confirmed);
  const released = new AbortController();
  let floor: number | null = null;
  let wake = new AbortController();
  parentPort?.on('message', (command: LeaseCommand) => {
    if (command === 'release') released.abort();
    else floor = command.fence_at_least;
    wake.abort();
  });

  /** Renews until that fails; returns why. Draws the fence once the thread has the lowest one. */
  const renewOn = async (session: LeaseSession): Promise<string> => {
    let fence: number | null = null;
    while (!released.signal.aborted) {
      const begun_ns = process.hrtime.bigint();
      if (!(await session.renew())) return OTHER_HOLDER;
      Atomics.store(sent_ns, 0, begun_ns);
      if (fence === null && floor !== null) {
        fence = await session.drawFence(floor);
        say({ kind: 'taken', fence });
      }
      const rest_ms = BEAT_EVERY_MS - Number(process.hrtime.bigint() - begun_ns) / 1e6;
      await sleep(Math.max(0, rest_ms), undefined, { signal: wake.signal }).catch(() => {});
      wake = new AbortController();
    }
    return 'released';
  };

  const session = await lock({ database_url, name, holder, patience_ms, say });
  if (session !== null) {
    let reason: string;
    try {
      await session.enter();
      say({ kind: 'locked' });
      reason = await Promise.race([renewOn(session), session.gone]);
    } catch (error) {
      reason = (error as Error).message;
    }
    Atomics.store(sent_ns, 0, 0n);
    if (!released.signal.aborted) say({ kind: 'lost', reason });
    await session.end();
  }
  parentPort?.close();
}

/** A session that holds the lock; null when the patience is over or the database refuses the user, which is said. */
async function lock({
  database_url,
  name,
  holder,
  patience_ms,
  say,
}: Pick<LeaseOrder, 'database_url' | 'name' | 'holder' | 'patience_ms'> & {
  readonly say: (news: LeaseNews) => void;
}): Promise<LeaseSession | null> {
  const begun_ms = performance.now();
  const watched = watchHolder();
  let session: LeaseSession | null = null;
  let said: string | null = null;
  for (;;) {
    const isLast = patience_ms !== null && performance.now() - begun_ms >= patience_ms;
    try {
      session ??= await openLeaseSession(database_url, name, holder);
      if (await session.tryLock()) return session;
      const seen = await session.seeHolder();
      // It has let go of the lock since.
      if (seen === null) continue;
      const found = nameOf(seen);
      if (watched.isStale(seen) && (await session.endHolder(seen))) {
        say({ kind: 'ended', holder: found });
        await sleep(ENDING_MS);
        continue;
      }
      if (isLast) {
        await session.end();
        say({ kind: 'refused', holder: found });
        return null;
      }
      if (found !== said) say({ kind: 'waits', holder: found });
      said = found;
    } catch (error) {
      await session?.end();
      session = null;
      const reason = (error as Error).message;
      if (isLast || (error instanceof pg.DatabaseError && FINAL.test(error.code ?? ''))) {
        say({ kind: 'failed', reason });
        return null;
      }
      if (reason !== said) say({ kind: 'unreachable', reason });
      said = reason;
    }
    await sleep(TRY_EVERY_MS);
  }
}

/** True once the same holder was seen for so long without a heartbeat, by this machine's monotonic clock: no clock is compared. */
function watchHolder() {
  let last: SeenHolder | null = null;
  let since_ms = 0;
  return {
    isStale: (seen: SeenHolder): boolean => {
      const isSame = last?.backend_pid === seen.backend_pid && last.renewed_at === seen.renewed_at;
      last = seen;
      if (!isSame) since_ms = performance.now();
      const isStale = performance.now() - since_ms >= STALE_AFTER_MS;
      // A session that is asked to end has the same time again.
      if (isStale) last = null;
      return isStale;
    },
  };
}

function nameOf({ holder, backend_pid }: SeenHolder): string {
  return holder ?? `session ${backend_pid} of the database`;
}
