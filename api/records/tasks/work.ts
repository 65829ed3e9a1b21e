import { setImmediate as nextTurn } from 'node:timers/promises';
import { machineClock } from '../clock.ts';
import type { Store } from '../database.ts';
import type { ClaimedTask, ClaimLimits, Queue, QueueLoad, Task, TaskStore, WorkSettings } from './queue.ts';
import { Slots } from './slots.ts';
import { tableTaskStore } from './table.ts';

/** Interval of the polls for due tasks that no call of `wake` announced: retries, and tasks of other processes. */
const POLL_EVERY_MS = 250;
/** A task added here with a due time at most this far ahead is polled for at that time. */
const FORESEEN_MS = 600_000;
/** Due times this close share one poll, and at most this many polls are planned; the regular polls find the rest. */
const POLLS_APART_MS = 10;
const POLLS_AHEAD_MAX = 1_000;
/**
 * Tasks of one claim. Tasks of 200 receivers that all timed out together opened 200 connections together, and later tasks
 * waited for seconds; with 32 the next claim finds another tenant's task after a few hundredths of a second.
 */
const CLAIMED_AT_ONCE_MAX = 32;
/** Extensions within one lease: two of them may fail. */
const EXTENSIONS_PER_LEASE = 3;

/** Callbacks for failures; the work goes on. */
export interface QueueReports {
  /** A handler failed: its task runs again when its lease ends. */
  readonly failed: (name: string, task: Task, error: unknown) => void;
  /** Tasks cannot be claimed or removed: called once, and with null when it works again. */
  readonly troubled: (name: string, error: unknown) => void;
}

/** Opens the queue of the records, and ends the leases of dead processes. Throws RecordsUnavailable. */
export async function openQueue(store: Store, reports: QueueReports): Promise<Queue> {
  const taskStore = tableTaskStore(store);
  await taskStore.endLeasesOfDead();
  return queueOver(taskStore, reports);
}

/** The queue over a task store. */
export function queueOver(taskStore: TaskStore, reports: QueueReports): Queue {
  const runners = new Map<string, Set<TaskRunner>>();
  /** By name and time. */
  const planned = new Map<string, NodeJS.Timeout>();
  const wake = (name: string) => {
    for (const runner of runners.get(name) ?? []) runner.wake();
  };
  const wakeAt = (name: string, due_ms: number) => {
    const wait_ms = due_ms - machineClock();
    const poll = `${name} ${Math.ceil(due_ms / POLLS_APART_MS)}`;
    if (wait_ms <= 0 || wait_ms > FORESEEN_MS || planned.has(poll) || planned.size >= POLLS_AHEAD_MAX) return;
    const timer = setTimeout(() => {
      planned.delete(poll);
      wake(name);
    }, wait_ms + POLLS_APART_MS);
    planned.set(poll, timer.unref());
  };
  return {
    add: async (rows, ...tasks) => {
      await taskStore.add(rows, ...tasks);
      for (const { name, due_ms } of tasks) if (due_ms !== undefined) wakeAt(name, due_ms);
    },
    payloads: taskStore.payloads,
    work: (name, settings, handler) => {
      const runner = new TaskRunner(taskStore, reports, name, settings, handler);
      const others = runners.get(name) ?? new Set();
      runners.set(name, others.add(runner));
      return async () => {
        others.delete(runner);
        await runner.stop();
      };
    },
    wake,
    load: (name) => {
      const [runner] = runners.get(name) ?? [];
      return runner?.load ?? null;
    },
    close: async () => {
      await Promise.all([...runners.values()].flatMap((same) => [...same]).map((runner) => runner.stop()));
      for (const timer of planned.values()) clearTimeout(timer);
    },
  };
}

/** Runs the tasks of a name, as many at a time as the limits allow. */
class TaskRunner {
  readonly #taskStore: TaskStore;
  readonly #reports: QueueReports;
  readonly #name: string;
  readonly #settings: WorkSettings;
  readonly #handler: (task: Task) => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  /** Claimed and not yet removed. */
  readonly #held = new Set<string>();
  readonly #runs = new Set<Promise<void>>();
  /** Running tasks. */
  readonly #tasks = new Set<ClaimedTask>();
  /** Groups that had their turn in this round. */
  readonly #served = new Set<string>();
  readonly #extending: NodeJS.Timeout | null;
  readonly #slots: Slots;
  #done: ClaimedTask[] = [];
  #polling: Promise<void> | null = null;
  #pollAgain = false;
  #troubled = false;
  #stopped = false;

  constructor(
    taskStore: TaskStore,
    reports: QueueReports,
    name: string,
    settings: WorkSettings,
    handler: (task: Task) => Promise<void>,
  ) {
    this.#taskStore = taskStore;
    this.#reports = reports;
    this.#name = name;
    this.#settings = settings;
    this.#slots = new Slots(settings);
    this.#handler = handler;
    this.#timer = setInterval(() => this.wake(), POLL_EVERY_MS).unref();
    this.#extending = settings.prolonged
      ? setInterval(() => void this.#extend(), settings.lease_ms / EXTENSIONS_PER_LEASE).unref()
      : null;
    this.wake();
  }

  get load(): QueueLoad {
    return this.#slots.load;
  }

  /** Polls now, or once more after the poll that is running. */
  wake(): void {
    this.#pollAgain = true;
    this.#polling ??= this.#poll();
  }

  /** Claims no more, waits for the running tasks and removes the finished ones. A task that cannot be removed runs again after its lease. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    // The tasks of a running claim run, too.
    await this.#polling;
    await Promise.all(this.#runs);
    if (this.#extending !== null) clearInterval(this.#extending);
    this.wake();
    await this.#polling;
  }

  /** If an extension fails, the next one makes up for it, or another process claims the task. */
  async #extend(): Promise<void> {
    if (this.#tasks.size === 0) return;
    try {
      await this.#taskStore.extendLease(this.#name, [...this.#tasks], this.#settings.lease_ms);
    } catch (error) {
      this.#reportTrouble(error);
    }
  }

  #reportTrouble(error: unknown): void {
    if (!this.#troubled) this.#reports.troubled(this.#name, error);
    this.#troubled = true;
  }

  async #poll(): Promise<void> {
    try {
      while (this.#pollAgain) {
        this.#pollAgain = false;
        // There may be more; the tasks that were started get the event loop first.
        if (await this.#ackAndClaim()) {
          this.#pollAgain = true;
          await nextTurn();
        }
        if (this.#troubled) this.#reports.troubled(this.#name, null);
        this.#troubled = false;
      }
    } catch (error) {
      this.#reportTrouble(error);
    } finally {
      this.#polling = null;
    }
  }

  /** Removes finished tasks and starts due ones; true when there were any. */
  async #ackAndClaim(): Promise<boolean> {
    const done = this.#done;
    this.#done = [];
    try {
      const limits = this.#limits();
      let claimed = await this.#taskStore.ackAndClaim(this.#name, done, limits);
      for (const { id } of done) this.#held.delete(id);
      if (claimed.length === 0 && limits.most > 0 && this.#served.size > 0) {
        // Every waiting group had its turn: the next round starts.
        this.#served.clear();
        claimed = await this.#taskStore.ackAndClaim(this.#name, [], this.#limits());
      }
      for (const task of claimed) this.#begin(task);
      return claimed.length > 0;
    } catch (error) {
      this.#done.push(...done);
      throw error;
    }
  }

  #limits(): ClaimLimits {
    return {
      ...this.#slots.limits(this.#served),
      most: this.#stopped ? 0 : Math.min(this.#slots.free, CLAIMED_AT_ONCE_MAX),
      lease_ms: this.#settings.lease_ms,
      held: this.#held,
    };
  }

  #begin(task: ClaimedTask): void {
    const { id, group } = task;
    const { groups_in_turn = 0 } = this.#settings;
    this.#held.add(id);
    this.#tasks.add(task);
    if (this.#served.size >= groups_in_turn) this.#served.clear();
    if (groups_in_turn > 0) this.#served.add(group);
    this.#slots.begin(task);
    const began_ms = performance.now();
    const run = this.#run(task).finally(() => {
      this.#runs.delete(run);
      this.#tasks.delete(task);
      this.#slots.end(task, performance.now() - began_ms);
      this.wake();
    });
    this.#runs.add(run);
  }

  async #run(task: ClaimedTask): Promise<void> {
    try {
      await this.#handler(task);
      this.#done.push(task);
    } catch (error) {
      this.#held.delete(task.id);
      this.#reports.failed(this.#name, task, error);
    }
  }
}
