import { z } from 'zod';
import { isBehind, type Version } from '../../schemas/fence.ts';
import { layout } from '../../schemas/layout.ts';
import { type ObjectStore, type Patience, StoreUnavailable } from '../../schemas/object-store/client.ts';
import type { DataRoot } from '../data-root.ts';
import { turns } from '../turns.ts';

/** What orders the contents of a list that is replaced; the states of feeds have no order. */
const Ordered = z.looseObject({ fence: z.int().optional(), commit: z.int().default(0) });

interface Content {
  readonly etag: string;
  readonly text: string;
  /** Null where the text is not what the pipeline writes: the reader of the list says so. */
  readonly version: Version | null;
}

/** Polls come again soon: they wait for less than a question does. */
const PATIENCE = { patience_ms: 5_000 };
/** Lists that are read at once: the first poll reads that of every date, and the patience with each begins with its turn. */
const AT_ONCE = 16;
const NUMBERED = /\/\d+\.json$/;

export interface StoreLists extends Pick<DataRoot, 'mark' | 'partitions'> {
  /** Content of a list; null when it does not exist. Questions read numbered ones, too, with a patience of their own. */
  readonly text: (path: string, patience?: Patience) => Promise<string | null>;
}

/** True for a list that is never written again. */
export function isNumbered(path: string): boolean {
  return NUMBERED.test(path);
}

/**
 * The lists of a store. A poll asks for the pointer, when its tag has changed, and for one listing of the manifests, whose tags
 * show which of them changed. A content that is older than one that was read before is a stale answer, or was written by a
 * pipeline that has lost its lease: the one before stays. So does a list that the listing lacks while it is still there. Once the
 * store holds a root of another name, none of them says anything.
 */
export function storeLists(store: ObjectStore): StoreLists {
  const contents = new Map<string, Content>();
  /** Throws StoreUnavailable for what is no JSON, such as the web page of a server in front of the store. */
  const listIn = (path: string, content: Uint8Array): string => {
    const text = Buffer.from(content).toString('utf8');
    try {
      JSON.parse(text);
    } catch (cause) {
      throw new StoreUnavailable(`GET ${store.name}/${path}: the answer is not JSON, expected a list`, { cause });
    }
    return text;
  };
  /** Tags of the last listing, by key. */
  let listed: ReadonlyMap<string, string> = new Map();
  /** Heads whose content has another tag than the listing said, with the number of that poll: they are read again. */
  const unsettled = new Map<string, number>();
  let polls = 0;
  const inTurn = turns(AT_ONCE);

  const newest = async (path: string): Promise<Content | null> => {
    const before = contents.get(path) ?? null;
    const found = await inTurn(() => store.getUnless(before?.etag ?? null, path, PATIENCE));
    if (found === 'unchanged' || found === null) return before;
    const text = listIn(path, found.content);
    const content = { etag: found.etag, text, version: versionOf(text) };
    const [version, seen] = [content.version, before?.version ?? null];
    if (version !== null && seen !== null && isBehind(version, seen)) return before;
    contents.set(path, content);
    return content;
  };
  const newestHead = async (path: string): Promise<Content | null> => {
    const known = contents.get(path);
    const tag = listed.get(path);
    const content = known !== undefined && known.etag === tag ? known : await newest(path);
    if (content === null || content.etag === tag) unsettled.delete(path);
    else unsettled.set(path, polls);
    return content;
  };
  const numbered = async (path: string, patience: Patience): Promise<string | null> => {
    const found = await inTurn(() => store.get(path, null, patience));
    return found === null ? null : listIn(path, found.content);
  };
  const name = async (): Promise<string | null> => {
    const before = contents.get(layout.root);
    const found = await newest(layout.root);
    if (before !== undefined && found !== null && found !== before) {
      contents.clear();
      unsettled.clear();
      contents.set(layout.root, found);
    }
    return found?.text ?? null;
  };
  const isPolled = (path: string) => path === layout.current || path === layout.feeds;
  return {
    mark: async (path) => {
      if (isPolled(path)) return (await newest(path))?.etag ?? null;
      // Whether it is there is seen when it is read.
      if (isNumbered(path)) return 'numbered';
      const tag = listed.get(path) ?? null;
      const since = unsettled.get(path);
      return since === undefined ? tag : `${tag} ${since}`;
    },
    text: async (path, patience = PATIENCE) => {
      if (path === layout.root) return await name();
      if (isNumbered(path)) return await numbered(path, patience);
      if (path.startsWith(`${layout.manifests}/`)) return (await newestHead(path))?.text ?? null;
      // The content that the mark was of.
      const known = isPolled(path) ? contents.get(path) : undefined;
      return (known ?? (await newest(path)))?.text ?? null;
    },
    partitions: async () => {
      const found = new Map<string, string>();
      for await (const { key, etag } of store.list(`${layout.manifests}/`, PATIENCE)) found.set(key, etag);
      for (const key of contents.keys()) {
        if (found.has(key) || !listed.has(key)) continue;
        const still = await store.head(key, PATIENCE);
        if (still !== null) found.set(key, still.etag);
      }
      listed = found;
      polls += 1;
      return [...new Set([...found.keys()].map((key) => key.split('/')[1] as string))].sort();
    },
  };
}

function versionOf(text: string): Version | null {
  try {
    return Ordered.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
