import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { type ObjectStore, StoreUnavailable } from '../../schemas/object-store/client.ts';
import { addDays } from '../../schemas/time.ts';
import type { Lease } from '../cluster/lease.ts';
import { NotFound, Overtaken } from '../error.ts';
import { readIfPresent, replaceFile } from '../files.ts';
import { parseName } from '../publish/root-name.ts';
import { type Moved, pullPartition, readNumbered } from '../replica/pull.ts';
import { movePointer, type PushOrder, pushLists } from '../replica/push.ts';
import { readStoredHead, readText } from '../replica/stored.ts';
import { lastCheckpoint, type Surroundings } from './make-date.ts';

/** The published dates of a store, as a worker of a backfill reads and writes them: one at a time, at the same cost however many there are. */
export interface StoredDates {
  /** Makes an empty folder a root like that of the store: its name, and the tables that scans are judged with. */
  readonly prepare: (scratch: string) => Promise<void>;
  readonly surroundings: (storm_date: string) => Promise<Surroundings>;
  /** Newest manifest of a date; null when nothing is published for it. */
  readonly published: (storm_date: string) => Promise<Manifest | null>;
  /** Largest fence that was written to a date. */
  readonly highestFence: (storm_date: string) => Promise<number>;
  /**
   * Stores a date that was made in a scratch root; readers see it with its head, which comes last. Throws Overtaken when the date is no
   * longer the one that it was compared with.
   */
  readonly push: (scratch: string, storm_date: string, order: DatePush) => Promise<Moved>;
}

export interface DatePush {
  readonly lease: Pick<Lease, 'fence' | 'check'>;
  /** The published date that it takes the place of; null for none. */
  readonly follows: Manifest | null;
}

export function openStoredDates(store: ObjectStore): StoredDates {
  const published = async (storm_date: string): Promise<Manifest | null> => {
    const stored = await readStoredHead(store, storm_date);
    return stored === null ? null : (await readNumbered(store, storm_date, stored.commit)).manifest;
  };
  return {
    prepare: async (scratch) => {
      const name = await readText(store, layout.root);
      if (name === null)
        throw new NotFound('work', `${store.name}/${layout.root}`, 'is not there, expected a data root in the store');
      await replaceFile(join(scratch, layout.root), name);
      const tables = await readStoredHead(store, layout.staticPartition);
      if (tables !== null) await pullPartition({ path: scratch, store, proof: 'size' }, tables, null);
    },
    published,
    surroundings: async (storm_date) => {
      const before = lastCheckpoint(await published(addDays(storm_date, -1)));
      if (before === null) return { published: await published(storm_date), before };
      const file = await store.get(before.path);
      if (file === null) throw new StoreUnavailable(`${store.name}/${before.path}: is not there, and a list names it`);
      const { scan_time, sha256 } = before;
      return { published: await published(storm_date), before: { scan_time, sha256, bytes: file.content } };
    },
    highestFence: async (storm_date) => (await readStoredHead(store, storm_date))?.fence ?? 0,
    push: async (scratch, storm_date, { lease: { fence, check }, follows }) => {
      const pointerPatience = () => ({ patience_ms: check() });
      const order: PushOrder = { path: scratch, store, fence, check, pointerPatience, lag: () => {} };
      await raiseStoredFormat(store, scratch, check);
      const stored = await readStoredHead(store, storm_date);
      if (stored?.commit !== follows?.commit)
        throw new Overtaken(
          'publish',
          storm_date,
          `is commit ${stored?.commit ?? 0} by now, expected ${follows?.commit ?? 0}`,
        );
      const { head, moved } = await pushLists(order, { partition: storm_date, stored, pinned: null });
      await movePointer(order, layout.head(storm_date), head, stored);
      return moved;
    },
  };
}

/** Raises the data format of a store where files of a date need it, before a list names them. */
async function raiseStoredFormat(store: ObjectStore, scratch: string, check: () => void): Promise<void> {
  const path = join(scratch, layout.root);
  const [own, theirs] = [await readIfPresent(path), await readText(store, layout.root)];
  if (own === null || own === theirs) return;
  const formatOf = (place: string, text: string) => parseName(place, text).known.format ?? 1;
  if (theirs !== null && formatOf(`${store.name}/${layout.root}`, theirs) >= formatOf(path, own)) return;
  check();
  await store.put(layout.root, Buffer.from(own));
}
