import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Queue, Task, WorkSettings } from './queue.ts';
import { Slots } from './slots.ts';
import type { ClaimedTask, ClaimLimits, TaskStore } from './task-store.ts';

/** How often due tasks are looked for that nobody woke us for: retries, and what other processes added. */
const LOOK_EVERY_MS = 250;
/** Tasks that are added here with a time of their own are looked for at that time, if it is no further ahead. */
const FORESEEN_MS = 600_000;
/** So close to each other tasks share a look, and at most so many looks wait; what finds no room is found by the usual looks. */
const LOOKS_APART_MS = 10;
const LOOKS_AHEAD_MAX = 1_000;
/**
 * Tasks that are taken at a time: those of 200 receivers that all timed out together make 200 connections together, and who comes
 * after them waited for seconds. With 32 the next look finds the task of another tenant after a few hundredths of a second.
 */
const TAKEN_AT_ONCE_MAX = 32;
/** How often a lease is prolonged before it would end: two of them may fail. */
const PROLONGED_IN_A_LEASE = 3;

/** Where the queue says what went wrong; the work goes on. */
export interface QueueReports {
  /** A handler failed: its task is taken again when its lease is over. */
  readonly failed: (name: string, task: Task, error: unknown) => void;
  /** Tasks can no longer be taken or removed; told once, until it works again (null). */
  readonly troubled: (name: string, error: unknown) => void;
}

/** The queue over a taskStore of tasks. */
export function queueOver(taskStore: TaskStore, reports: QueueReports): Queue {
  const workings = new Map<string, Set<Working>>();
  /** By name and time. */
  const ahead = new Map<string, NodeJS.Timeout>();
  const wake = (name: string) => {
    for (const working of workings.get(name) ?? []) working.wake();
  };
  const wakeAt = (name: string, due_ms: number) => {
    const wait_ms = due_ms - Date.now();
    const look = `${name} ${Math.ceil(due_ms / LOOKS_APART_MS)}`;
    if (wait_ms <= 0 || wait_ms > FORESEEN_MS || ahead.has(look) || ahead.size >= LOOKS_AHEAD_MAX) return;
    const timer = setTimeout(() => {
      ahead.delete(look);
      wake(name);
    }, wait_ms + LOOKS_APART_MS);
    ahead.set(look, timer.unref());
  };
  return {
    add: async (rows, ...tasks) => {
      await taskStore.add(rows, ...tasks);
      for (const { name, due_ms } of tasks) if (due_ms !== undefined) wakeAt(name, due_ms);
    },
    payloads: taskStore.payloads,
    work: (name, settings, handler) => {
      const working = new Working(taskStore, reports, name, settings, handler);
      const others = workings.get(name) ?? new Set();
      workings.set(name, others.add(working));
      return async () => {
        others.delete(working);
        await working.stop();
      };
    },
    wake,
    close: async () => {
      await Promise.all([...workings.values()].flatMap((same) => [...same]).map((working) => working.stop()));
      for (const timer of ahead.values()) clearTimeout(timer);
      await taskStore.close();
    },
  };
}

/** Hands tasks of a name to a handler, as many at a time as it has room for. */
class Working {
  readonly #taskStore: TaskStore;
  readonly #reports: QueueReports;
  readonly #name: string;
  readonly #settings: WorkSettings;
  readonly #handler: (task: Task) => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  /** Taken, and not yet removed. */
  readonly #held = new Set<string>();
  readonly #runs = new Set<Promise<void>>();
  /** What is being run. */
  readonly #tasks = new Set<ClaimedTask>();
  /** Groups that had their turn. */
  readonly #served = new Set<string>();
  readonly #prolonging: NodeJS.Timeout | null;
  readonly #slots: Slots;
  #done: ClaimedTask[] = [];
  #looking: Promise<void> | null = null;
  #again = false;
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
    this.#timer = setInterval(() => this.wake(), LOOK_EVERY_MS).unref();
    this.#prolonging = settings.prolonged
      ? setInterval(() => void this.#prolong(), settings.lease_ms / PROLONGED_IN_A_LEASE).unref()
      : null;
    this.wake();
  }

  /** Looks now; when it is looking, once more after that. */
  wake(): void {
    this.#again = true;
    this.#looking ??= this.#look();
  }

  /** Takes no more, waits for what is being run, and removes what is done. What cannot be removed is run again after its lease. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    // What a look under way has taken is run, too.
    await this.#looking;
    await Promise.all(this.#runs);
    if (this.#prolonging !== null) clearInterval(this.#prolonging);
    this.wake();
    await this.#looking;
  }

  /** One that fails is made up for by the next, or its task is taken by somebody else. */
  async #prolong(): Promise<void> {
    if (this.#tasks.size === 0) return;
    try {
      await this.#taskStore.extendLease(this.#name, [...this.#tasks], this.#settings.lease_ms);
    } catch (error) {
      this.#trouble(error);
    }
  }

  #trouble(error: unknown): void {
    if (!this.#troubled) this.#reports.troubled(this.#name, error);
    this.#troubled = true;
  }

  async #look(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false;
        // Where there was one, there may be more; those that were begun have a turn first.
        if (await this.#exchange()) {
          this.#again = true;
          await nextTurn();
        }
        if (this.#troubled) this.#reports.troubled(this.#name, null);
        this.#troubled = false;
      }
    } catch (error) {
      this.#trouble(error);
    } finally {
      this.#looking = null;
    }
  }

  /** Removes what is done, and begins what is due; true when there was any. */
  async #exchange(): Promise<boolean> {
    const done = this.#done;
    this.#done = [];
    try {
      const room = this.#room();
      let taken = await this.#taskStore.ackAndClaim(this.#name, done, room);
      for (const { id } of done) this.#held.delete(id);
      if (taken.length === 0 && room.most > 0 && this.#served.size > 0) {
        // Everybody who waits had a turn: the next round begins.
        this.#served.clear();
        taken = await this.#taskStore.ackAndClaim(this.#name, [], this.#room());
      }
      for (const task of taken) this.#begin(task);
      return taken.length > 0;
    } catch (error) {
      this.#done.push(...done);
      throw error;
    }
  }

  #room(): ClaimLimits {
    return {
      ...this.#slots.room(this.#served),
      most: this.#stopped ? 0 : Math.min(this.#slots.free, TAKEN_AT_ONCE_MAX),
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
