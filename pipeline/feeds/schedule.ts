import { join } from 'node:path';
import { type FeedState, FeedStates } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import { MANIFEST_VERSION } from '../../schemas/manifest.ts';
import { timestamp } from '../../schemas/time.ts';
import { isIsolated, PipelineError } from '../error.ts';
import type { Feed, FeedIdentity, PollOutcome, PollResult } from '../feed.ts';
import { readIfPresent, replaceFile, writing } from '../files.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { pause } from '../sources/http.ts';

/** Longest wait after a first failure, however slow the usual pace of the feed is. */
const FIRST_WAIT_MS = 2 * 60_000;
/** Each further failure doubles the wait, up to this or the usual pace of the feed. */
const LONGEST_WAIT_MS = 15 * 60_000;
/** Rejected items that were logged: each poll brings the same ones again. */
const MAX_REPORTED = 10_000;

interface ScheduleRequest {
  readonly feeds: readonly Feed[];
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Makes the climatology and the forecast again when their inputs changed. */
  readonly refresh: (root: Root, now_ms: number, log: Log) => Promise<unknown>;
}

/** Feeds that are polled in the background, each at its own pace. */
export interface Schedule {
  /** Adds missing feeds to `feeds.json`, so that it has a feed that never delivers from the start. */
  readonly register: (root: Root) => Promise<unknown>;
  /**
   * Publishes the polls that finished since the last call, refreshes the forecast and writes the states of the feeds. A
   * transient fault is thrown, and the next call publishes the same poll again; any other fault of a feed fails that feed only.
   */
  readonly workOff: (root: Root) => Promise<void>;
}

/** Starts to poll feeds. A feed is polled again once its last poll is published; feeds do not wait for each other. */
export function startSchedule({ feeds, now, log, signal, refresh }: ScheduleRequest): Schedule {
  const finished: FinishedPoll[] = [];
  const failures_in_row = new Map<Feed, number>();
  const reported = new Set<string>();
  // An earlier run may have been killed between two commits.
  let needs_refresh = true;
  const pollAfter = async (wait_ms: number, feed: Feed) => {
    await pause(wait_ms, signal);
    if (!signal.aborted) finished.push(await pollFeed(feed, now()));
  };
  for (const feed of feeds) void pollAfter(0, feed);
  return {
    register: (root) => ensureStates(root, feeds, now()),
    workOff: async (root) => {
      if (feeds.length > 0) await ensureStates(root, feeds, now());
      for (let poll = finished[0]; poll !== undefined; poll = finished[0]) {
        const { feed } = poll;
        const { failure, changed } = await publishPoll(root, poll, log, reported);
        needs_refresh ||= changed.length > 0;
        finished.shift();
        const failures = failure === null ? 0 : (failures_in_row.get(feed) ?? 0) + 1;
        failures_in_row.set(feed, failures);
        void pollAfter(waitAfter(feed.every_s * 1000, failures), feed);
      }
      if (needs_refresh) await refresh(root, now(), log);
      needs_refresh = false;
    },
  };
}

/** Completes `feeds.json`, so that feeds never polled are listed too. */
async function ensureStates(root: Root, feeds: readonly Feed[], now_ms: number): Promise<void> {
  const states = await knownStates(root);
  const absent = feeds.filter(({ name }) => !states.has(name)).map((feed) => neverPolled(feed, now_ms));
  if (absent.length > 0) await writeFeedStates(root, absent);
}

/** Wait before the next poll after a number of failures in a row, milliseconds: minutes at first, also for a slow feed. */
export function waitAfter(usual_ms: number, failures: number): number {
  if (failures === 0) return usual_ms;
  return Math.min(Math.min(usual_ms, FIRST_WAIT_MS) * 2 ** (failures - 1), Math.max(LONGEST_WAIT_MS, usual_ms));
}

/** A poll that can be published. */
interface FinishedPoll extends PollResult {
  readonly feed: Feed;
  readonly at_ms: number;
}

/** One poll of a feed. Any error is the outcome of publishing it: it concerns this feed only. */
export async function pollFeed(feed: Feed, at_ms: number): Promise<FinishedPoll> {
  try {
    return { feed, at_ms, ...(await feed.poll(at_ms)) };
  } catch (error) {
    return { feed, at_ms, publish: async () => failed(error instanceof Error ? error.message : String(error)) };
  }
}

/**
 * Publishes a poll and writes the state of its feed; `reported` holds the rejected items that were logged. Throws transient faults
 * and those of the data root.
 */
export async function publishPoll(
  root: Root,
  { feed, at_ms, publish }: FinishedPoll,
  log: Log,
  reported = new Set<string>(),
): Promise<PollOutcome> {
  const outcome = await publish(root).catch((error: unknown) => {
    if (!isIsolated(error)) throw error;
    return failed(error.message);
  });
  const before = (await knownStates(root)).get(feed.name);
  await writeFeedStates(root, [stateAfter(before, feed, at_ms, outcome.failure)]);
  logRejected(feed.name, outcome, log, reported);
  const { failure, changed } = outcome;
  if (changed.length > 0) log.info('Feed:Publish:Done', { feed: feed.name, collections: changed.join(',') });
  const was_failing = (before?.failure ?? null) !== null;
  if (failure !== null && !was_failing) log.warn('Feed:Poll:Failed', { feed: feed.name, reason: failure });
  if (failure === null && was_failing) log.info('Feed:Poll:Recovered', { feed: feed.name });
  return outcome;
}

function failed(failure: string): PollOutcome {
  return { failure, files: [], changed: [] };
}

/** Logs each rejected file and item once. */
function logRejected(feed: string, { files }: PollOutcome, log: Log, reported: Set<string>): void {
  for (const { name, set_aside, refused } of files) {
    const faults = [...set_aside, ...(refused === null ? [] : [{ item: 'file', reason: refused }])];
    for (const { item, reason } of faults) {
      const key = `${feed} ${name} ${reason}`;
      if (reported.has(key)) continue;
      if (reported.size >= MAX_REPORTED) reported.clear();
      reported.add(key);
      log.warn('Feed:Item:Rejected', { feed, file: name, item, reason });
    }
  }
}

/** States of the feeds in `feeds.json`; none where the file is missing. Throws PipelineError when it is damaged. */
export async function readFeedStates(dataRoot: string): Promise<Map<string, FeedState>> {
  const text = await readIfPresent(join(dataRoot, layout.feeds));
  if (text === null) return new Map();
  try {
    return new Map(FeedStates.parse(JSON.parse(text)).feeds.map((state) => [state.name, state]));
  } catch (cause) {
    throw new PipelineError('collection', layout.feeds, 'is not a readable list of feeds', { cause });
  }
}

/** The states to go on from: none of a damaged file, which the next write replaces. */
async function knownStates({ path, log }: Pick<Root, 'path' | 'log'>): Promise<Map<string, FeedState>> {
  try {
    return await readFeedStates(path);
  } catch (error) {
    if (!(error instanceof PipelineError)) throw error;
    log.warn('Feed:States:Lost', { reason: error.message });
    return new Map();
  }
}

/** Adds states to `feeds.json`, replacing those of the same feeds. */
export async function writeFeedStates(
  root: Pick<Root, 'path' | 'check' | 'log'>,
  changed: readonly FeedState[],
): Promise<void> {
  const states = await knownStates(root);
  for (const state of changed) states.set(state.name, state);
  const feeds = [...states.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  root.check();
  const path = join(root.path, layout.feeds);
  const text = `${JSON.stringify({ manifest_version: MANIFEST_VERSION, feeds }, null, 1)}\n`;
  await writing(path, () => replaceFile(path, text));
}

/** State of a feed after a poll; a failure keeps the last success. */
export function stateAfter(
  before: FeedState | undefined,
  feed: FeedIdentity,
  at_ms: number,
  failure: string | null,
): FeedState {
  const known = before ?? neverPolled(feed, at_ms);
  const at = timestamp(at_ms);
  const attempt = { ...known, every_s: feed.every_s, last_attempt_at: at, failure };
  return failure === null ? { ...attempt, last_success_at: at, source: 'observed' } : attempt;
}

/** Writes that feeds were simulated without a failure. */
export function writeSimulatedStates(root: Root, feeds: readonly FeedIdentity[], at_ms: number): Promise<void> {
  const states = feeds.map((feed) => stateAfter(undefined, feed, at_ms, null));
  return writeFeedStates(
    root,
    states.map((state) => ({ ...state, source: 'simulated' })),
  );
}

/** State of a feed that is followed since a time and was never polled. */
function neverPolled({ name, collection, every_s }: FeedIdentity, since_ms: number): FeedState {
  const never = { last_attempt_at: null, last_success_at: null, failure: null };
  return { name, collection, every_s, followed_since: timestamp(since_ms), ...never, source: 'observed' };
}
