import { setTimeout as sleep } from 'node:timers/promises';
import { yieldToEventLoop } from '../http/event-loop.ts';
import type { Store } from '../records/database.ts';
import { BusinessGone, isOutage, LockNotGiven, OutcomeUnknown } from '../records/errors.ts';
import { OWNER } from '../records/owner.ts';
import type { DeferredBatch, DeferredWrites } from './deferred-writes.ts';
import { type Charge, type Charged, type Ledger, withRequestId } from './ledger.ts';
import { transactWithOutcome } from './outcome.ts';
import type { UnresolvedCommits } from './unresolved-commits.ts';

/** Charges of one commit; more than that wait for the next. */
const LARGEST_GROUP = 256;
/** How long groups pass over months that other transactions hold, since one was waited for in vain. */
const PASSES_OVER_MS = 5_000;
const NO_WRITES: DeferredBatch = { cursors: [], keys: [], claims: [] };
/** How long a caller waits to learn whether commits work. */
const PROBE_WAIT_MS = 100;
/** How long a commit that worked is taken as proof that commits work. */
const PROOF_LASTS_MS = 1_000;
/** A probe that takes longer than this has failed, until it is through. */
const PROBE_LIMIT_MS = 1_000;

type Settled = Exclude<Charged, 'gone' | 'held'>;

export interface Committer {
  /**
   * Resolves once the charge is committed; rejects with RecordsUnavailable or CommitFailed when it is not, with OutcomeUnknown
   * when that could not be found out: then it is refunded should it turn out to be made.
   */
  readonly charge: (charge: Charge) => Promise<Settled>;
  /** Schedules a commit of what was noted, for when no charge is committed before. */
  readonly noted: () => void;
  /**
   * Whether commits work: as one within the last second showed, else as one made to find out shows. While that one takes long,
   * the outcome of the commit before it holds, for a second; its own counts once it is known.
   */
  readonly works: (machine_ms: number) => Promise<boolean>;
  /** Commits everything that waits, the last that this does; what cannot be written then is lost. */
  readonly drain: () => Promise<void>;
}

/** Parts of a committer. */
export interface CommitterParts {
  readonly store: Store;
  readonly unresolvedCommits: UnresolvedCommits;
  readonly charging: Ledger;
  readonly deferredWrites: DeferredWrites;
  /** How long deferred writes wait for a charge to share its commit. */
  readonly deferred_wait_ms: number;
}

interface Waiting {
  readonly charge: Charge;
  readonly resolve: (outcome: Settled) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: the cost of a charge is the commit, and it can be shared. What arrives while a commit runs, or in the same
 * turn of the event loop, forms the next group: no timer, a lone charge is committed at once. A charge over its cap
 * changes nothing and leaves the others alone; when the commit fails, none of the group was charged. What was noted is
 * written at the latest `deferred_wait_ms` later.
 *
 * A month that another transaction holds, as that of a node which was cut off, is waited for once. From then on groups pass over
 * it, so that other businesses do not wait with it; its charges wait apart.
 */
export function createCommitter({
  store,
  unresolvedCommits,
  charging,
  deferredWrites,
  deferred_wait_ms,
}: CommitterParts): Committer {
  let waiting: Waiting[] = [];
  let scheduled: Promise<void> | null = null;
  /** Charges of months that other transactions hold. */
  let waitingApart: Waiting[] = [];
  let apart: Promise<void> | null = null;
  /** Monotonic, milliseconds. */
  let passes_over_until_ms = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | null = null;
  let flushing: Promise<void> = Promise.resolve();
  let ending = false;
  let working = true;
  /** Monotonic, milliseconds: when a commit last worked. */
  let proved_ms = Number.NEGATIVE_INFINITY;
  let probing: { readonly outcome: Promise<boolean>; readonly since_ms: number } | null = null;

  function schedule(): void {
    scheduled ??= yieldToEventLoop().then(run);
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.slice(0, LARGEST_GROUP);
      waiting = waiting.slice(LARGEST_GROUP);
      const passes_over = performance.now() < passes_over_until_ms;
      await (passes_over ? settlePassing(group, waitApart) : settleWaiting(group));
      // SQLite commits and refuses at once: callers that come again at once must not block all others.
      if (waiting.length > 0) await yieldToEventLoop();
    }
    scheduled = null;
  }

  function waitApart(held: readonly Waiting[]): void {
    waitingApart.push(...held);
    if (held.length > 0) apart ??= runApart();
  }

  async function runApart(): Promise<void> {
    while (waitingApart.length > 0) {
      const group = waitingApart.slice(0, LARGEST_GROUP);
      waitingApart = waitingApart.slice(LARGEST_GROUP);
      await settleWaiting(group);
      if (waitingApart.length > 0) await yieldToEventLoop();
    }
    apart = null;
  }

  /** Waits for months that others hold, and refuses those that are held still. */
  async function settleWaiting(group: readonly Waiting[]): Promise<void> {
    try {
      await settle(group, false, () => {});
    } catch (error) {
      if (!(error instanceof LockNotGiven)) return refuse(group, error);
      passes_over_until_ms = performance.now() + PASSES_OVER_MS;
      await settlePassing(group, (held) => refuse(held, error));
    }
  }

  /** Passes over months that others hold. */
  async function settlePassing(group: readonly Waiting[], passOver: (held: readonly Waiting[]) => void): Promise<void> {
    try {
      await settle(group, true, passOver);
    } catch (error) {
      refuse(group, error);
    }
  }

  async function settle(
    group: readonly Waiting[],
    passes_over: boolean,
    passOver: (held: readonly Waiting[]) => void,
  ): Promise<void> {
    const charges = group.map(({ charge }) => charge);
    // Cursors may wait for the same transaction: they are written within a second, apart.
    const batch = passes_over ? NO_WRITES : deferredWrites.takeCursors();
    const outcomes = await commit(batch, charges, passes_over);
    group.forEach(({ charge, resolve, reject }, k) => {
      const outcome = outcomes[k] ?? 'over_cap';
      if (outcome === 'gone') reject(new BusinessGone(charge.business_id));
      else if (outcome !== 'held') resolve(outcome);
    });
    passOver(group.filter((_, k) => outcomes[k] === 'held'));
  }

  async function commit(
    batch: DeferredBatch,
    charges: readonly Charge[],
    passes_over = false,
  ): Promise<readonly Charged[]> {
    let outcomes: readonly Charged[] = [];
    try {
      await transactWithOutcome(store, async (rows) => {
        outcomes = await charging.chargeAll(rows, charges, passes_over);
        await deferredWrites.write(rows, batch);
        const charged = charges.find((_, k) => outcomes[k] === 'charged');
        return { result: null, request_id: charged?.request_id ?? null };
      });
      proved();
      return outcomes;
    } catch (error) {
      // A row that another transaction holds says nothing of commits.
      if (!(error instanceof LockNotGiven)) working = !isOutage(error);
      if (error instanceof OutcomeUnknown) {
        const charged = charges.filter((_, k) => outcomes[k] === 'charged');
        unresolvedCommits.add(error.id, charged, (committed) => committed || deferredWrites.putBack(batch));
      } else deferredWrites.putBack(batch);
      throw error;
    }
  }

  function proved(): void {
    working = true;
    proved_ms = performance.now();
  }

  async function probe(machine_ms: number): Promise<boolean> {
    try {
      await writeProbe(store, new Date(machine_ms).toISOString());
      proved();
    } catch (error) {
      if (!isOutage(error)) throw error;
      working = false;
    }
    return working;
  }

  function beginProbe(machine_ms: number) {
    const outcome = probe(machine_ms).finally(() => {
      probing = null;
    });
    return { outcome, since_ms: performance.now() };
  }

  async function flush(): Promise<void> {
    timer = null;
    const batch = deferredWrites.takeAll();
    if (batch.cursors.length + batch.keys.length + batch.claims.length > 0) await commit(batch, []);
  }

  function flushLater(): void {
    flushing = flush().catch(ignoreOutage);
  }

  return {
    charge: (charge) =>
      new Promise((resolve, reject) => {
        waiting.push({ charge: withRequestId(charge), resolve, reject });
        schedule();
      }),
    noted: () => {
      if (!ending) timer ??= setTimeout(flushLater, deferred_wait_ms).unref();
    },
    works: async (machine_ms) => {
      if (working && performance.now() - proved_ms < PROOF_LASTS_MS) return true;
      probing ??= beginProbe(machine_ms);
      const { outcome, since_ms } = probing;
      const soon = await Promise.race([outcome, sleep(PROBE_WAIT_MS, null, { ref: false })]);
      return soon ?? (working && performance.now() - since_ms < PROBE_LIMIT_MS);
    },
    drain: async () => {
      ending = true;
      while (scheduled !== null) await scheduled;
      await apart;
      await probing?.outcome;
      if (timer !== null) clearTimeout(timer);
      await flushing;
      await flush();
    },
  };
}

function refuse(group: readonly Waiting[], error: unknown): void {
  for (const { reject } of group) reject(error);
}

/** What could not be written is put back, which notes it again; meanwhile health reports that commits fail. */
function ignoreOutage(error: unknown): void {
  if (!isOutage(error)) throw error;
}

/** In a row that few processes share: that of a node which was cut off is locked for a while. */
async function writeProbe({ writer }: Store, at: string): Promise<void> {
  await writer.transaction().execute((rows) =>
    rows
      .insertInto('probes')
      .values({ name: `health ${OWNER.slice(-2)}`, at })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ at }))
      .execute(),
  );
}
