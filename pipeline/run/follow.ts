import { isTransient } from '../error.ts';
import type { Schedule } from '../feeds/schedule.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import type { RunSummary } from '../scans/ingest-run.ts';
import type { Session } from '../scans/session.ts';
import { type Feed, openFeed } from '../sources/arrival-queue.ts';
import type { Arrival } from '../sources/inbox.ts';
import type { SourceFile } from '../sources/names.ts';
import { pause } from '../sources/pause.ts';

/** What follows from a whole date is drawn again at most this often. */
const FINISH_EVERY_MS = 5 * 60_000;
const SWEEP_EVERY_MS = 60 * 60_000;
/** What may pass is tried again after the time between two looks, then after twice as long each time, up to this. */
const LONGEST_WAIT_MS = 30_000;

export interface OpenedRoot {
  readonly root: Root;
  readonly session: Session;
}

export interface Follow {
  /** Opens the data root as after a crash; called again after every fault that may pass. */
  readonly open: () => Promise<OpenedRoot>;
  /** The source, begun once the root is open; `root` is the one opened last. */
  readonly arrivals: (root: () => Root) => AsyncIterable<Arrival>;
  /** Other feeds than that of the scans. What they bring is published between two scans. */
  readonly schedule: Schedule;
  readonly log: Log;
  /** Says at a terminal what the stream waits for. */
  readonly tell: (line: string) => void;
  /** Time between two looks, milliseconds. */
  readonly every_ms: number;
  /** Days after which raw files are deleted; null: never. */
  readonly raw_keep_days: number | null;
  /** Ends the stream between two commits. */
  readonly signal: AbortSignal;
}

/**
 * Publishes what a source brings, until it ends or the signal aborts. What may pass (a full disk, a file that cannot be
 * read, a scan ahead of the clock) is waited out: its files are remembered and tried again. Any other error is thrown.
 */
export async function follow(request: Follow): Promise<void> {
  const { open, arrivals, schedule, log, tell, every_ms, raw_keep_days, signal } = request;
  const queue = openQueue(log, every_ms);
  const chores = openChores(log, raw_keep_days);
  let feed: Feed | null = null;
  let opened: OpenedRoot | null = null;
  let last: Root | null = null;
  let faults = 0;
  const close = async () => {
    const root = opened?.root;
    opened = null;
    await root?.close();
  };
  try {
    while (!signal.aborted && feed?.isOver() !== true) {
      try {
        opened ??= await open();
        const { root, session } = opened;
        last = root;
        feed ??= openFeed(
          arrivals(() => last as Root),
          signal,
        );
        root.check();
        // Before the scans: to catch up with them may take hours.
        await schedule?.register(root);
        await queue.workOff(feed, session);
        await schedule.workOff(root);
        await chores.doDue(opened, feed, queue.hasWorked());
        if (faults > 0) {
          log.info('Stream:Wait:Done', { faults });
          tell('goes on');
          faults = 0;
        }
        await feed.wait(every_ms);
      } catch (error) {
        // What fails because the root has gone fails for that reason.
        opened?.root.check();
        if (!isTransient(error)) throw error;
        const wait_ms = Math.min(LONGEST_WAIT_MS, every_ms * 2 ** faults);
        faults += 1;
        log.warn('Stream:Wait:Begin', { reason: error.message, seconds: wait_ms / 1000 });
        tell(`waits: ${error.message}; tries again in ${wait_ms / 1000} s`);
        await pause(wait_ms, signal);
        await close();
      }
    }
    await opened?.session.finishDates();
  } finally {
    await close();
  }
}

/** Files on their way into the root: none is forgotten before it is published, put aside, or gone. */
function openQueue(log: Log, every_ms: number) {
  /** By place. */
  const waiting = new Map<string, SourceFile>();
  let retry_ms = every_ms;
  let retryAt_ms = 0;
  let hasWorked = false;
  const arrived = (feed: Feed, inWork: Set<string>): readonly SourceFile[] => {
    const arrival = feed.take();
    if (arrival === null) return [];
    for (const key of arrival.unknown) log.info('File:Name:Unknown', { file: key });
    for (const { key, reason } of arrival.unreadable) log.warn('File:Read:Postponed', { file: key, reason });
    for (const file of arrival.files) {
      waiting.set(file.location, file);
      inWork.add(file.location);
    }
    return arrival.files;
  };
  const workOff = async (feed: Feed, session: Session): Promise<void> => {
    const inWork = new Set<string>();
    const fresh = arrived(feed, inWork);
    const isRetry = waiting.size > fresh.length && performance.now() >= retryAt_ms;
    if (isRetry) for (const place of waiting.keys()) inWork.add(place);
    const files = [...waiting.values()].filter((file) => inWork.has(file.location));
    if (files.length === 0) return;
    // Until it is worked off a failure is followed by a try with everything that waits.
    retryAt_ms = 0;
    const begun_ms = performance.now();
    const run = await session.ingest(files, () => arrived(feed, inWork));
    logRun(run, begun_ms, log);
    hasWorked = true;
    const still = new Set(run.postponed.filter((one) => !one.is_gone).map(({ location }) => location));
    for (const place of inWork) if (!still.has(place)) waiting.delete(place);
    retry_ms = isRetry ? Math.min(LONGEST_WAIT_MS, 2 * retry_ms) : every_ms;
    retryAt_ms = performance.now() + retry_ms;
  };
  return { workOff, hasWorked: () => hasWorked };
}

function logRun(run: RunSummary, begun_ms: number, log: Log): void {
  const seconds = Math.round(performance.now() - begun_ms) / 1000;
  if (run.scans + run.redone > 0) log.info('Stream:Publish:Done', { scans: run.scans, redone: run.redone, seconds });
}

/** What is due from time to time, in pieces: arrivals come first. */
function openChores(log: Log, raw_keep_days: number | null) {
  const begun_ms = performance.now();
  let finished_ms: number | null = null;
  let swept_ms = begun_ms;
  const doDue = async ({ root, session }: OpenedRoot, feed: Feed, hasWorked: boolean): Promise<void> => {
    const isQuiet = performance.now() - (finished_ms ?? begun_ms) >= FINISH_EVERY_MS;
    if ((isQuiet || (finished_ms === null && hasWorked)) && !feed.hasNews()) {
      if (await session.finishDates(feed.hasNews)) finished_ms = performance.now();
    }
    if (performance.now() - swept_ms >= SWEEP_EVERY_MS) {
      // Files carry the time of the machine, whatever the data clock says.
      await session.expireReflectivity();
      const { files: swept, bytes } = await root.sweep(Date.now(), raw_keep_days);
      log.info('Root:Sweep:Done', { files: swept, bytes });
      swept_ms = performance.now();
    }
  };
  return { doDue };
}
