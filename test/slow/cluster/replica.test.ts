import test, { type ExecutionContext } from 'ava';
import { openReplica, type ReplicaSettings } from '../../../pipeline/replica/replica.ts';
import { type ObjectStore, openObjectStore } from '../../../schemas/object-store/client.ts';
import { midnight } from '../../support/data/small-world.ts';
import { filesOf, onRoot, type OpenSettings, type RawScan, scratch } from '../../support/data/world.ts';
import { type FaultProxy, runFaultProxy } from '../../support/object-store/fault-proxy.ts';
import { noObjectStore, type ObjectStoreServer, runObjectStore } from '../../support/object-store/server.ts';
import { faultsOfStore, objectsOf, publishedFiles } from '../../support/object-store/stored-root.ts';

if (noObjectStore !== null) test(`replicas are not tested: ${noObjectStore}`, (t) => t.truthy(noObjectStore));
else {
  let server: ObjectStoreServer;
  let proxy: FaultProxy;
  let buckets = 0;

  test.before(async () => {
    server = await runObjectStore();
    proxy = await runFaultProxy(await server.bucket('hail'));
  });
  test.after.always(async () => {
    await proxy?.stop();
    await server?.stop();
  });

  /** A bucket of the test's own: `store` directly, `faulty` through the proxy. */
  const newBucket = async () => {
    buckets += 1;
    const address = await server.bucket(`hail-${buckets}`);
    return { store: openObjectStore(address), faulty: openObjectStore(proxy.through(address)) };
  };

  const ingestTo = (
    path: string,
    store: ObjectStore,
    scans: readonly RawScan[],
    replica: Partial<ReplicaSettings> = {},
    settings: OpenSettings = {},
  ) =>
    onRoot(path, { ...settings, replica: openReplica({ path, store, fence: null, ...replica }) }, async ({ session }) => {
      await session.ingest(filesOf(scans));
      await session.finishDates();
    });

  test('a store holds every file that a root publishes, byte for byte, after each of two runs', async (t) => {
    const { store, faulty } = await newBucket();
    const scans = await midnight();
    const root = await scratch(t);
    for (const some of [scans.slice(0, 8), scans.slice(8)]) {
      const first = proxy.seen.length;
      const began_ms = performance.now();
      await ingestTo(root, faulty, some, {}, { each_scan: true });
      const requests = proxy.seen.slice(first);
      t.log(`${some.length} scans: ${requests.length} requests, ${Math.round(performance.now() - began_ms)} ms`);
      t.log(JSON.stringify(Object.fromEntries(Map.groupBy(requests, ({ method }) => method).entries().map(([m, all]) => [m, all.length]))));
      const objects = await objectsOf(store);
      for (const [path, hash] of await publishedFiles(root)) t.is(objects.get(path), hash, path);
    }
    t.deepEqual(await faultsOfStore(store), []);
  });
}
