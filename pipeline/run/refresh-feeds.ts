import type { Config } from '../config.ts';
import type { IngestedFile } from '../feed.ts';
import { pollFeed, publishPoll } from '../feeds/schedule.ts';
import { type Log, silent } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { openFeeds } from './open-feeds.ts';
import { refreshDerived } from './refresh-derived.ts';
import { withRoot } from './with-root.ts';

/** Outcome of reading feeds once; `feeds --json` prints it. */
export interface FeedsReport {
  readonly files: readonly IngestedFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
  /** Feeds that could not be read, with the reason; of a folder, `files` for a collection that cannot be joined. */
  readonly failed: readonly { readonly feed: string; readonly reason: string }[];
}

/** Polls feeds once and publishes new items. A feed that cannot be read does not hold up the others. */
export async function refreshFeeds(config: Config, names: readonly string[], log: Log): Promise<FeedsReport> {
  // Servers are polled before the data root is locked: a slow answer keeps no other process waiting.
  const polls = await Promise.all(openFeeds(config, names, log).map((feed) => pollFeed(feed, config.now())));
  return publishReport(config, log, async (root) => {
    const files: IngestedFile[] = [];
    const changed: string[] = [];
    const failed: { feed: string; reason: string }[] = [];
    for (const poll of polls) {
      const outcome = await publishPoll(root, poll, silent);
      if (outcome.failure !== null) failed.push({ feed: poll.feed.name, reason: outcome.failure });
      files.push(...outcome.files);
      changed.push(...outcome.changed);
    }
    return { files, changed, failed };
  });
}

/** Report of `publish` on the locked data root, with the tables derived from what it and interrupted runs published. */
export function publishReport(
  config: Config,
  log: Log,
  publish: (root: Root) => Promise<FeedsReport>,
): Promise<FeedsReport> {
  return withRoot(
    config,
    'feeds',
    async (root) => {
      const { files, changed, failed } = await publish(root);
      const derived = await refreshDerived(root, config.now(), log);
      return {
        files,
        changed: [...new Set([...changed, ...derived.changed])],
        failed: [...failed, ...derived.failed.map(({ table, reason }) => ({ feed: table, reason }))],
      };
    },
    log,
  );
}
