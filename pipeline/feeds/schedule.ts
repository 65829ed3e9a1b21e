import { isIsolated, PipelineError } from '../error.ts';
import type { Feed, PollOutcome, PollResult } from '../feed.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { pause } from '../sources/pause.ts';
import { neverLookedAt, readFeedStates, removeFeedStates, stateAfter, writeFeedStates } from './feed-states.ts';

/** After a failure a feed is looked at again as soon as this, whatever its pace. */
const FIRST_WAIT_MS = 2 * 60_000;
/** After more failures it is looked at less often, up to this or its own pace. */
const LONGEST_WAIT_MS = 15 * 60_000;
/** Reasons that were logged: an item that cannot be used comes again with every look. */
const MAX_REMEMBERED = 10_000;

/** A look, waiting to be published. */
export interface Look {
  readonly feed: Feed;
  readonly at_ms: number;
  /** What it brought, or why it brought nothing. */
  readonly result: PollResult | { readonly failure: string };
}

interface Waiting extends Look {
  /** Called when what it brought is published, or will never be. */
  readonly done: (succeeded: boolean) => void;
}

export interface ScheduleRequest {
  readonly feeds: readonly Feed[];
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Remakes the tables that are derived from tables that changed. */
  readonly refreshDerived: (root: Root, now_ms: number, log: Log) => Promise<unknown>;
}

/** Feeds that are looked at in the background, each at its own pace. */
export interface Schedule {
  /** Writes down the feeds that are followed, so that one that never delivers is known from the start. */
  readonly register: (root: Root) => Promise<void>;
  /**
   * Publishes what the looks since the last call brought and what follows from it, and writes down how the feeds are. A fault that may pass is thrown,
   * and the same is published with the next call; what is wrong with one feed costs that feed only.
   */
  readonly workOff: (root: Root) => Promise<void>;
}

/** Begins to look at feeds. A feed waits until what it brought is published before it is looked at again; others do not wait for it. */
export function startSchedule(request: ScheduleRequest): Schedule {
  const { feeds, log } = request;
  const arrived: Waiting[] = [];
  const reported = new Set<string>();
  // An earlier run may have been killed between a table and one that is made from it.
  let derives = true;
  for (const feed of feeds) void keepLooking(feed, request, (look) => arrived.push(look));
  return {
    register: (root) => ensureStates(root, request),
    workOff: async (root) => {
      if (feeds.length > 0) await ensureStates(root, request);
      for (let look = arrived[0]; look !== undefined; look = arrived[0]) {
        const { failure, changed } = await publishLook(root, look, log, reported);
        derives ||= changed.length > 0;
        arrived.shift();
        look.done(failure === null);
      }
      if (derives) await request.refreshDerived(root, request.now(), log);
      derives = false;
    },
  };
}

/**
 * Gives every feed its row, from the start: one that never succeeds must show. A list that is lost or damaged begins anew: what
 * it said is gone, and everybody else goes on.
 */
async function ensureStates(root: Root, { feeds, now, log }: ScheduleRequest): Promise<void> {
  let known: ReadonlyMap<string, unknown> = new Map();
  try {
    known = await readFeedStates(root.path);
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    log.warn('Feed:States:Lost', { reason: error.message });
    await removeFeedStates(root);
  }
  const absent = feeds.filter(({ name }) => !known.has(name)).map((feed) => neverLookedAt(feed, now()));
  if (absent.length > 0) await writeFeedStates(root, absent);
}

/** Looks at one feed until the signal aborts. */
async function keepLooking(
  feed: Feed,
  { now, signal }: ScheduleRequest,
  arrive: (look: Waiting) => void,
): Promise<void> {
  const usual_ms = feed.every_s * 1000;
  for (let failures = 0; !signal.aborted; ) {
    const look = await pollFeed(feed, now());
    if (signal.aborted) return;
    const succeeded = await new Promise<boolean>((resolve) => {
      const stop = () => resolve(false);
      signal.addEventListener('abort', stop, { once: true });
      const done = (so: boolean) => {
        signal.removeEventListener('abort', stop);
        resolve(so);
      };
      arrive({ ...look, done });
    });
    failures = succeeded ? 0 : failures + 1;
    await pause(waitAfter(usual_ms, failures), signal);
  }
}

/** Wait before the next look, after so many failures in a row: a feed of a slow pace is not left alone for hours after one. */
export function waitAfter(usual_ms: number, failures: number): number {
  if (failures === 0) return usual_ms;
  return Math.min(Math.min(usual_ms, FIRST_WAIT_MS) * 2 ** (failures - 1), Math.max(LONGEST_WAIT_MS, usual_ms));
}

/** Looks at a feed once. Whatever goes wrong with it is told, not thrown: it costs this feed only. */
export async function pollFeed(feed: Feed, now_ms: number): Promise<Look> {
  try {
    return { feed, at_ms: now_ms, result: await feed.poll(now_ms) };
  } catch (error) {
    return { feed, at_ms: now_ms, result: { failure: error instanceof Error ? error.message : String(error) } };
  }
}

/** Publishes what a look brought and writes down how its feed is. Throws what may pass, and what is no fault of the feed. */
export async function publishLook(
  root: Root,
  { feed, at_ms, result }: Look,
  log: Log,
  reported: Set<string> = new Set(),
): Promise<PollOutcome> {
  const outcome = 'failure' in result ? { ...result, files: [], changed: [] } : await publish(root, result);
  const before = (await readFeedStates(root.path)).get(feed.name)?.failure ?? null;
  await writeFeedStates(root, [await stateAfter(root.path, feed, at_ms, outcome.failure)]);
  logItems(feed.name, outcome, log, reported);
  if (outcome.changed.length > 0)
    log.info('Feed:Publish:Done', { feed: feed.name, collections: outcome.changed.join(',') });
  if (outcome.failure !== null && before === null)
    log.warn('Feed:Look:Failed', { feed: feed.name, reason: outcome.failure });
  if (outcome.failure === null && before !== null) log.info('Feed:Look:Recovered', { feed: feed.name });
  return outcome;
}

async function publish(root: Root, arrived: PollResult): Promise<PollOutcome> {
  try {
    return await arrived.publish(root);
  } catch (error) {
    if (!isIsolated(error)) throw error;
    return { failure: error.message, files: [], changed: [] };
  }
}

function logItems(feed: string, { files }: PollOutcome, log: Log, reported: Set<string>): void {
  for (const { name, set_aside, refused } of files) {
    const faults = [...set_aside, ...(refused === null ? [] : [{ item: 'file', reason: refused }])];
    for (const { item, reason } of faults) {
      const key = `${feed} ${name} ${reason}`;
      if (reported.has(key)) continue;
      if (reported.size >= MAX_REMEMBERED) reported.clear();
      reported.add(key);
      log.warn('Feed:Item:RejectedItem', { feed, file: name, item, reason });
    }
  }
}
