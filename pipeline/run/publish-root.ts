import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import type { ObjectStore } from '../../schemas/object-store/client.ts';
import { downloadFile, putFile } from '../../schemas/object-store/files.ts';
import type { Config } from '../config.ts';
import { NotFound } from '../error.ts';
import { filesBelow, sizeOf } from '../files.ts';
import type { Log } from '../log.ts';
import { takeLock } from '../publish/lock.ts';
import { requireReadableRoot } from '../publish/root-name.ts';
import { FILES_AT_A_TIME, type Moved, NOTHING_MOVED, sumOfMoved } from '../replica/pull.ts';
import { openReplica } from '../replica/replica.ts';
import { inParallel } from '../sources/parallel.ts';

/** Where a data root is moved to or from. */
export interface PublishRequest {
  readonly direction: 'to' | 'from';
  readonly store: ObjectStore;
  /** Moves the raw files, too. */
  readonly raw: boolean;
  readonly log: Log;
}

/** What was moved; `publish --json` prints it. */
export interface PublishReport extends Moved {
  readonly direction: 'to' | 'from';
  readonly store: string;
  readonly data_root: string;
  /** Raw files among them. */
  readonly raw_files: number;
}

/**
 * Brings a store to the state of the data root, or the root to that of the store. Every file is checked against the hash in its list.
 * What is there already is not moved again, so that a killed run goes on where it ended. Throws NotFound where there is nothing to
 * move, and Conflict where root and store do not belong together.
 */
export async function publishRoot(
  { data_root: path, now }: Pick<Config, 'data_root' | 'now'>,
  { direction, store, raw, log }: PublishRequest,
): Promise<PublishReport> {
  await requireReadableRoot(path);
  if (direction === 'to' && (await sizeOf(join(path, layout.root))) === null)
    throw new NotFound(
      'publish',
      path,
      `holds no ${layout.root}, expected a data root that something was published to`,
    );
  if (direction === 'from' && (await store.head(layout.root)) === null)
    throw new NotFound(
      'publish',
      store.name,
      `holds no ${layout.root}, expected a store that a data root was published to`,
    );
  const lock = takeLock(path, `hail-pipeline publish --${direction}`, now());
  try {
    const replica = openReplica({ path, store, fence: null, check: lock.check, log, fills: direction === 'to' });
    const moved = direction === 'to' ? await pushAll(replica) : await replica.pull(null, 'hash');
    const raw_moved = raw ? await moveRaw(path, store, direction) : NOTHING_MOVED;
    return {
      direction,
      store: store.name,
      data_root: path,
      ...sumOfMoved([moved, raw_moved]),
      raw_files: raw_moved.files,
    };
  } finally {
    lock.release();
  }
}

async function pushAll(replica: ReturnType<typeof openReplica>): Promise<Moved> {
  await replica.reconcile();
  return replica.push();
}

/** Raw files have no list: one is moved unless a file of its size is there. */
async function moveRaw(path: string, store: ObjectStore, direction: 'to' | 'from'): Promise<Moved> {
  const stored = new Map<string, number>();
  for await (const { key, bytes } of store.list(`${layout.raw}/`)) stored.set(key, bytes);
  const own =
    direction === 'to' ? (await filesBelow(join(path, layout.raw))).map((name) => `${layout.raw}/${name}`) : [];
  const moved = await inParallel(direction === 'to' ? own : [...stored.keys()], FILES_AT_A_TIME, async (name) => {
    const [bytes, expected] = [await sizeOf(join(path, name)), stored.get(name) ?? null];
    if (bytes === expected) return NOTHING_MOVED;
    if (direction === 'to') await putFile(store, name, join(path, name));
    else await downloadFile(store, name, join(path, name), { bytes: expected, sha256: null });
    return { files: 1, bytes: (direction === 'to' ? bytes : expected) ?? 0 };
  });
  return sumOfMoved(moved);
}
