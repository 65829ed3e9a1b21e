import { openReplica } from '../../../pipeline/replica/replica.ts';
import type { ObjectStore } from '../../../schemas/object-store/client.ts';

/** Brings a store up to what a data root publishes, as a pipeline with this fence does; an empty store is filled. */
export async function pushRoot(path: string, store: ObjectStore, fence: number | null = null): Promise<void> {
  const replica = openReplica({ path, store, fence, fills: true });
  await replica.reconcile();
  await replica.push(null);
}
