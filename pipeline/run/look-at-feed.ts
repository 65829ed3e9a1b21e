import type { WebAddresses } from '../config.ts';
import type { Web } from '../sources/web.ts';
import type { FetchedFile, WebFeed } from '../sources/web-feeds.ts';

/** What a look at a feed brought. */
export interface Look {
  readonly files: readonly FetchedFile[];
  /** Why the look failed; null when it succeeded. */
  readonly failure: string | null;
}

/** Looks at a feed once. Whatever goes wrong with its server is told, not thrown: it costs this feed only. */
export async function lookAt(feed: WebFeed, web: Web, addresses: WebAddresses, now_ms: number): Promise<Look> {
  try {
    return { files: await feed.look(web, addresses, now_ms), failure: null };
  } catch (error) {
    return { files: [], failure: error instanceof Error ? error.message : String(error) };
  }
}
