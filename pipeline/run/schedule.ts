import type { WebAddresses } from '../config.ts';
import { Conflict, isPassing, PipelineError, RootLost } from '../error.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import type { Web } from '../sources/web.ts';
import type { WebFeed } from '../sources/web-feeds.ts';
import { neverLookedAt, readFeedStates, stateAfter, writeFeedStates } from './feed-states.ts';
import { type Look, lookAt } from './look-at-feed.ts';
import { pause } from './pause.ts';
import { type Taken, takeFeedFiles } from './take-feed-files.ts';

/** After failures a feed is looked at less often, up to this. */
const LONGEST_WAIT_MS = 15 * 60_000;
/** Reasons that were logged: an item that cannot be used comes again with every look. */
const MAX_REMEMBERED = 10_000;

/** A look whose files wait to be published. */
interface Waiting extends Look {
  readonly feed: WebFeed;
  readonly at_ms: number;
  /** Called when the files are published, or will never be. */
  readonly done: (succeeded: boolean) => void;
}

export interface ScheduleRequest {
  readonly feeds: readonly WebFeed[];
  readonly web: Web;
  readonly addresses: WebAddresses;
  /** Data clock, epoch milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Feeds that are looked at in the background, each at its own pace. */
export interface Schedule {
  /**
   * Publishes what the looks since the last call brought, and writes down how the feeds are. A fault that may pass is thrown,
   * and the same files are taken with the next call; what is wrong with one feed costs that feed only.
   */
  readonly workOff: (root: Root) => Promise<void>;
}

/** Begins to look at feeds. A feed waits until its files are published before it is looked at again; others do not wait for it. */
export function startSchedule(request: ScheduleRequest): Schedule {
  const { feeds, log } = request;
  const arrived: Waiting[] = [];
  const reported = new Set<string>();
  let hasBegun = false;
  for (const feed of feeds) void keepLooking(feed, request, (look) => arrived.push(look));
  return {
    workOff: async (root) => {
      if (!hasBegun) {
        // Every feed has its row from the start: one that never succeeds must show.
        const known = await readFeedStates(root.path);
        await writeFeedStates(
          root,
          feeds.map((feed) => known.get(feed.name) ?? neverLookedAt(feed)),
        );
        hasBegun = true;
      }
      for (let look = arrived[0]; look !== undefined; look = arrived[0]) {
        await takeLook(root, look, log, reported);
        arrived.shift();
      }
    },
  };
}

/** Looks at one feed until the signal aborts. */
async function keepLooking(
  feed: WebFeed,
  { web, addresses, now, signal }: ScheduleRequest,
  arrive: (look: Waiting) => void,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    const { files, failure } = await lookAt(feed, web, addresses, now());
    if (signal.aborted) return;
    const succeeded = await new Promise<boolean>((done) => {
      signal.addEventListener('abort', () => done(false), { once: true });
      arrive({ feed, at_ms: now(), files, failure, done });
    });
    failures = succeeded ? 0 : failures + 1;
    await pause(
      Math.min(feed.every_s * 1000 * 2 ** Math.max(0, failures - 1), Math.max(LONGEST_WAIT_MS, feed.every_s * 1000)),
      signal,
    );
  }
}

async function takeLook(root: Root, look: Waiting, log: Log, reported: Set<string>): Promise<void> {
  const { feed, at_ms, files, failure, done } = look;
  const result = failure === null ? await take(root, look) : { failure, taken: null };
  const before = (await readFeedStates(root.path)).get(feed.name)?.failure ?? null;
  await writeFeedStates(root, [await stateAfter(root.path, feed, at_ms, result.failure)]);
  for (const [index, file] of files.entries())
    if (result.taken !== null && (file.is_final || result.taken.files[index]?.refused === null)) file.confirm();
  if (result.taken !== null) logTaken(feed.name, result.taken, log, reported);
  if (result.failure !== null && before === null)
    log.warn('Feed:Look:Failed', { feed: feed.name, reason: result.failure });
  if (result.failure === null && before !== null) log.info('Feed:Look:Recovered', { feed: feed.name });
  done(result.failure === null);
}

async function take(
  root: Root,
  { feed, files, at_ms }: Waiting,
): Promise<{ failure: string | null; taken: Taken | null }> {
  try {
    const named = files.map(({ name, bytes }) => ({ name, bytes, received_ms: at_ms }));
    const looked_at = [feed.collection];
    const taken = await takeFeedFiles(root, named, { now_ms: at_ms, provenance: 'observed', looked_at });
    const refused = taken.files.find((file) => file.refused !== null);
    return { failure: refused === undefined ? null : `${refused.name}: ${refused.refused}`, taken };
  } catch (error) {
    if (isPassing(error) || error instanceof RootLost || error instanceof Conflict) throw error;
    if (!(error instanceof PipelineError)) throw error;
    return { failure: error.message, taken: null };
  }
}

function logTaken(feed: string, taken: Taken, log: Log, reported: Set<string>): void {
  for (const { name, set_aside, refused } of taken.files) {
    const faults = [...set_aside, ...(refused === null ? [] : [{ item: 'file', reason: refused }])];
    for (const { item, reason } of faults) {
      const key = `${feed} ${name} ${reason}`;
      if (reported.has(key)) continue;
      if (reported.size >= MAX_REMEMBERED) reported.clear();
      reported.add(key);
      log.warn('Feed:Item:SetAside', { feed, file: name, item, reason });
    }
  }
  if (taken.changed.length > 0) log.info('Feed:Publish:Done', { feed, collections: taken.changed.join(',') });
}
