import type { Candidate, ClaimedTask, ClaimLimits, QueueLoad, WorkSettings } from './queue.ts';

/** A slow group runs one task at a time for this long, or until one of its runs is quick. */
const SLOW_FOR_MS = 600_000;
/** Share of the slots for the tasks of slow groups, of all tenants together. */
const SLOW_SHARE = 3 / 4;
/** Slow groups that are remembered; a new one replaces the oldest. */
const SLOW_MAX = 10_000;

type Place = Pick<ClaimedTask, 'group' | 'tenant'>;

/** Running tasks of a tenant. */
interface Share {
  running: number;
  /** Those of slow groups. */
  slow: number;
}

/**
 * The slots of a handler, shared among tenants by a dynamic threshold (Choudhury and Hahne 1998, IEEE/ACM Transactions on
 * Networking 6, 130-140): a tenant starts a task only while it runs fewer tasks than slots are free. One tenant alone gets half
 * of the slots, three get a quarter each, and one slot always stays free for the next tenant. Slow groups get half of their
 * tenant's share, and three quarters of all slots, so that quick tasks of the same and of other tenants do not wait for them.
 */
export class Slots {
  readonly #settings: WorkSettings;
  readonly #now: () => number;
  readonly #groups = new Map<string, number>();
  readonly #tenants = new Map<string, Share>();
  /** Slow groups with their tenant and the time of the slow run, oldest first. */
  #slow = new Map<string, { readonly tenant: string; readonly since_ms: number }>();
  /** Running tasks that count as slow. */
  readonly #slowTasks = new Set<Place>();
  #running = 0;

  /** `now`: monotonic milliseconds. */
  constructor(settings: WorkSettings, now: () => number = () => performance.now()) {
    this.#settings = settings;
    this.#now = now;
  }

  /** Free slots. */
  get free(): number {
    return this.#settings.at_once - this.#running;
  }

  get load(): QueueLoad {
    const shares = [...this.#tenants.values()].map(({ running }) => running);
    return {
      slots: this.#settings.at_once,
      running: this.#running,
      running_slow: this.#slowTasks.size,
      tenants: shares.length,
      largest_share: shares.reduce((most, each) => Math.max(most, each), 0),
    };
  }

  begin(task: Place): void {
    this.#running += 1;
    this.#groups.set(task.group, (this.#groups.get(task.group) ?? 0) + 1);
    const share = this.#tenants.get(task.tenant) ?? { running: 0, slow: 0 };
    this.#tenants.set(task.tenant, share);
    share.running += 1;
    if (!this.#isSlow(task.group)) return;
    share.slow += 1;
    this.#slowTasks.add(task);
  }

  /** `took_ms`: duration of the run. */
  end(task: Place, took_ms: number): void {
    const { group, tenant } = task;
    this.#running -= 1;
    const left = (this.#groups.get(group) ?? 0) - 1;
    if (left > 0) this.#groups.set(group, left);
    else this.#groups.delete(group);
    const share = this.#tenants.get(tenant);
    if (share !== undefined) {
      share.running -= 1;
      if (this.#slowTasks.delete(task)) share.slow -= 1;
      if (share.running === 0) this.#tenants.delete(tenant);
    }
    this.#slow.delete(group);
    if (took_ms >= (this.#settings.slow_ms ?? Number.POSITIVE_INFINITY)) this.#remember(group, tenant);
  }

  /** What may start now; `passed`: groups that had their turn. */
  limits(passed: Iterable<string>): Omit<ClaimLimits, 'most' | 'lease_ms' | 'held'> {
    this.#forget();
    const full = new Set(passed);
    for (const [group, running] of this.#groups) if (running >= this.#limitOf(group)) full.add(group);
    for (const [group, { tenant }] of this.#slow) if (this.#isOverSlow(tenant)) full.add(group);
    const full_tenants = [...this.#tenants.keys()].filter((tenant) => !this.#hasRoom(tenant));
    return { choose: (due, most) => this.#choose(due, most), full: [...full], full_tenants };
  }

  #choose(due: readonly Candidate[], most: number): readonly string[] {
    // On a copy: the tasks start once they are claimed.
    const slots = this.#copy();
    const chosen: string[] = [];
    let waiting = [...Map.groupBy(due, ({ tenant }) => tenant).values()].map((tasks) => tasks.values());
    while (waiting.length > 0 && chosen.length < most)
      waiting = waiting.filter((tasks) => {
        const next = tasks.find((task) => slots.#fits(task));
        if (next === undefined || chosen.length === most) return false;
        slots.begin(next);
        chosen.push(next.id);
        return true;
      });
    return chosen;
  }

  #fits({ group, tenant }: Place): boolean {
    if (!this.#hasRoom(tenant) || (this.#isSlow(group) && this.#isOverSlow(tenant))) return false;
    return (this.#groups.get(group) ?? 0) < this.#limitOf(group);
  }

  #copy(): Slots {
    const copy = new Slots(this.#settings, this.#now);
    copy.#running = this.#running;
    for (const [group, running] of this.#groups) copy.#groups.set(group, running);
    for (const task of this.#slowTasks) copy.#slowTasks.add(task);
    for (const [tenant, share] of this.#tenants) copy.#tenants.set(tenant, { ...share });
    copy.#slow = this.#slow;
    return copy;
  }

  #hasRoom(tenant: string): boolean {
    return (this.#tenants.get(tenant)?.running ?? 0) < this.free;
  }

  #isOverSlow(tenant: string): boolean {
    const slow = this.#tenants.get(tenant)?.slow ?? 0;
    return this.#slowTasks.size >= this.#settings.at_once * SLOW_SHARE || (slow > 0 && slow >= this.free / 2);
  }

  #limitOf(group: string): number {
    return this.#isSlow(group) ? 1 : this.#settings.at_once_of_group;
  }

  #isSlow(group: string): boolean {
    return this.#slow.has(group);
  }

  #remember(group: string, tenant: string): void {
    this.#slow.set(group, { tenant, since_ms: this.#now() });
    const [oldest] = this.#slow.keys();
    if (this.#slow.size > SLOW_MAX && oldest !== undefined) this.#slow.delete(oldest);
  }

  #forget(): void {
    for (const [group, { since_ms }] of this.#slow) {
      if (this.#now() - since_ms < SLOW_FOR_MS) return;
      this.#slow.delete(group);
    }
  }
}
