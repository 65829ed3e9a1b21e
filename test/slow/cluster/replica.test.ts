import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { z } from 'zod';
import { NotFound, Overtaken } from '../../../pipeline/error.ts';
import { neverPolled, writeFeedStates } from '../../../pipeline/feeds/feed-states.ts';
import { silent } from '../../../pipeline/log.ts';
import { readCurrent } from '../../../pipeline/publish/manifests.ts';
import { openReplica, type Replica, type ReplicaSettings } from '../../../pipeline/replica/replica.ts';
import { publishRoot } from '../../../pipeline/run/publish-root.ts';
import { openStoredDates } from '../../../pipeline/run/stored-dates.ts';
import { replicaOf } from '../../../pipeline/run/work.ts';
import { FeedStates } from '../../../schemas/collections.ts';
import { layout } from '../../../schemas/layout.ts';
import { type ObjectStore, openObjectStore } from '../../../schemas/object-store/client.ts';
import { contentOfFiles, logicalContent, sameContent } from '../../support/data/content.ts';
import { midnight } from '../../support/data/small-world.ts';
import {
  filesOf,
  NOW_MS,
  type OpenSettings,
  onRoot,
  publishedRoot,
  type RawScan,
  scratch,
} from '../../support/data/world.ts';
import {
  type Fault,
  type FaultProxy,
  runFaultProxy,
  type SeenRequest,
} from '../../support/object-store/fault-proxy.ts';
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
    onRoot(
      path,
      { ...settings, replica: openReplica({ path, store, fence: null, ...replica }) },
      async ({ session }) => {
        await session.ingest(filesOf(scans));
        await session.finishDates();
      },
    );

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
      t.log(
        JSON.stringify(
          Object.fromEntries(
            Map.groupBy(requests, ({ method }) => method)
              .entries()
              .map(([m, all]) => [m, all.length]),
          ),
        ),
      );
      const objects = await objectsOf(store);
      for (const [path, hash] of await publishedFiles(root)) t.is(objects.get(path), hash, path);
    }
    t.deepEqual(await faultsOfStore(store), []);
  });

  /** A store whose n-th request that changes anything is not sent, nor any after it: as for a process that is killed there. */
  const killedStore = (store: ObjectStore, after: number): ObjectStore => {
    let left = after;
    const spend = () => {
      left -= 1;
      if (left < 0) throw new Error('killed');
    };
    return {
      ...store,
      put: async (...order) => {
        spend();
        return store.put(...order);
      },
      putIf: async (...order) => {
        spend();
        return store.putIf(...order);
      },
      remove: async (...order) => {
        spend();
        return store.remove(...order);
      },
    };
  };

  const requireEqual = async (t: ExecutionContext, root: string, store: ObjectStore) => {
    const objects = await objectsOf(store);
    const published = await publishedFiles(root);
    t.deepEqual(
      [...published].filter(([path, hash]) => objects.get(path) !== hash),
      [],
    );
  };

  test('a push that is killed at any request leaves lists that name no missing file, and is taken up again', async (t) => {
    const { store } = await newBucket();
    const scans = await midnight();
    const root = await scratch(t);
    await ingestTo(root, store, scans.slice(0, 4));
    const before = await fs.mkdtemp(join(root, '..', 'before-'));
    await fs.cp(root, before, { recursive: true });
    let killed = 0;
    for (let after = 0; ; after += 3) {
      // The root goes on from where the last kill left it; a new scan is there each time until all are.
      const outcome = await ingestTo(root, killedStore(store, after), scans.slice(0, 8)).then(
        () => 'done',
        (error: Error) => error.message,
      );
      t.deepEqual(await faultsOfStore(store), [], `killed at request ${after}`);
      if (outcome === 'done') break;
      t.is(outcome, 'killed');
      killed += 1;
    }
    t.true(killed > 3, `${killed} kills`);
    await requireEqual(t, root, store);
  });

  test('a root without data takes that of the store, and one that is behind follows it', async (t) => {
    const { store } = await newBucket();
    const scans = await midnight();
    const [first, second] = [await scratch(t), await scratch(t)];
    await ingestTo(first, store, scans.slice(0, 4));
    await onRoot(second, { replica: openReplica({ path: second, store, fence: null }) }, async () => {});
    t.deepEqual(await publishedFiles(second), await publishedFiles(first));
    await ingestTo(first, store, scans.slice(4, 8));
    await onRoot(second, { replica: openReplica({ path: second, store, fence: null }) }, async () => {});
    t.deepEqual(await publishedFiles(second), await publishedFiles(first));
  });

  test('what a root committed while the store was out of reach is pushed when it opens again', async (t) => {
    const { store } = await newBucket();
    const scans = await midnight();
    const root = await scratch(t);
    await ingestTo(root, store, scans.slice(0, 4));
    await onRoot(root, {}, async ({ session }) => {
      await session.ingest(filesOf(scans.slice(4, 8)));
    });
    await onRoot(root, { replica: openReplica({ path: root, store, fence: null }) }, async () => {});
    await requireEqual(t, root, store);
    t.deepEqual(await faultsOfStore(store), []);
  });

  test('a root that was left behind by another writer takes the state of the store, and does the scan again', async (t) => {
    const { store } = await newBucket();
    const scans = await midnight();
    const [leader, stale] = [await scratch(t), await scratch(t)];
    await ingestTo(leader, store, scans.slice(0, 4), { fence: 1 });
    await fs.cp(leader, stale, { recursive: true });
    await onRoot(stale, {}, async ({ session }) => {
      await session.ingest(filesOf(scans.slice(4, 6)));
    });
    await ingestTo(leader, store, scans.slice(4, 8), { fence: 2 });
    const expected = await publishedFiles(leader);
    await onRoot(stale, { replica: openReplica({ path: stale, store, fence: 3 }) }, async () => {});
    const found = await publishedFiles(stale);
    // A new holder of the lease moves the pointer at once, so that readers take nothing more from the one before.
    t.is((await readCurrent(stale))?.fence, 3);
    for (const files of [found, expected]) t.true(files.delete(layout.current));
    t.deepEqual(found, expected);
    await ingestTo(stale, store, scans.slice(8), { fence: 3 });
    await requireEqual(t, stale, store);
    t.deepEqual(await faultsOfStore(store), []);
  });

  test('a stale writer with a lower fence is refused, and never replaces a list of another', async (t) => {
    const { store } = await newBucket();
    const scans = await midnight();
    const [old, leader] = [await scratch(t), await scratch(t)];
    await onRoot(old, { replica: openReplica({ path: old, store, fence: 1 }) }, async ({ session }) => {
      await session.ingest(filesOf(scans.slice(0, 4)));
      await ingestTo(leader, store, scans.slice(4, 8), { fence: 2 });
      const before = await objectsOf(store, 'manifests/');
      await t.throwsAsync(session.ingest(filesOf(scans.slice(4, 6))), { message: /of another writer/ });
      const after = await objectsOf(store, 'manifests/');
      t.deepEqual(
        [...before].filter(([key, hash]) => after.get(key) !== hash),
        [],
      );
    });
    await requireEqual(t, leader, store);
    t.is(await openReplica({ path: leader, store, fence: 2 }).highestFence(), 2);
  });

  test('states of feeds reach the store between commits, go on with the next leader, and never replace those of a later one', async (t) => {
    const { store } = await newBucket();
    const [earlier, later] = [await scratch(t, 'earlier'), await scratch(t, 'later')];
    const [first, second] = [1, 2].map((fence) => openReplica({ path: fence === 1 ? earlier : later, store, fence }));
    const stored = async () =>
      FeedStates.parse(JSON.parse(Buffer.from((await store.get('feeds.json'))?.content ?? []).toString()));
    const poll = (path: string, name: string) =>
      writeFeedStates({ path, check: () => {} }, [neverPolled({ name, collection: 'reports', every_s: 60 }, NOW_MS)]);
    const namesOf = ({ feeds }: z.infer<typeof FeedStates>) => feeds.map(({ name }) => name);

    await onRoot(earlier, { replica: first as Replica }, async () => {
      await poll(earlier, 'one');
      await first?.watch();
      t.deepEqual([(await stored()).fence, namesOf(await stored())], [1, ['one']]);
      const before = await store.head('feeds.json');
      await first?.watch();
      t.deepEqual(await store.head('feeds.json'), before, 'what did not change is not stored again');
    });
    await onRoot(later, { replica: second as Replica }, async () => {
      await poll(later, 'two');
      await second?.watch();
      t.deepEqual([(await stored()).fence, namesOf(await stored())], [2, ['one', 'two']]);
      await poll(earlier, 'stale');
      await first?.watch();
      t.deepEqual(namesOf(await stored()), ['one', 'two']);
    });
  });

  test('a leader takes a date that a worker has pushed, and makes its own scan again on one that it has not taken', async (t) => {
    const { store } = await newBucket();
    const scans = await midnight();
    const root = await scratch(t);
    await ingestTo(root, store, scans.slice(0, 3), { fence: 1 });
    const dates = openStoredDates(store);
    /** Makes the first date of so many scans, as a worker under the lease of that date does. */
    const work = async (fence: number, count: number) => {
      const [made, lease] = [await scratch(t, `made-${fence}`), { fence, check: () => 1000 }];
      await dates.prepare(made);
      await onRoot(made, { replica: replicaOf(lease) }, ({ session }) =>
        session.ingest(filesOf(scans.slice(0, count))),
      );
      await dates.push(made, '2026-05-01', { lease, follows: await dates.published('2026-05-01') });
    };
    const replica = openReplica({ path: root, store, fence: 1 });
    await onRoot(root, { replica }, async ({ root: opened, session }) => {
      await work(2, 4);
      t.is(await opened.takePushed(NOW_MS), '2026-05-01');
      t.is(opened.heads.get('2026-05-01')?.scan_count, 4);
      t.is(await opened.takePushed(NOW_MS), null);
      await work(3, 5);
      await t.throwsAsync(session.ingest(filesOf(scans.slice(0, 6))), { instanceOf: Overtaken });
    });
    await onRoot(root, { replica }, async ({ session }) => {
      await session.ingest(filesOf(scans.slice(0, 8)));
      await session.finishDates();
    });
    await requireEqual(t, root, store);
    sameContent(t, await logicalContent(root), await contentOfFiles(filesOf(scans.slice(0, 8))));
  });

  test('a pointer that a stale writer put back is restored by the leader', async (t) => {
    const { store } = await newBucket();
    const scans = await midnight();
    const root = await scratch(t);
    await ingestTo(root, store, scans.slice(0, 4), { fence: 1 });
    const stale = await store.get('current.json');
    const replica = openReplica({ path: root, store, fence: 2 });
    await onRoot(root, { replica }, async ({ session }) => {
      await session.ingest(filesOf(scans.slice(4, 8)));
      t.is(await replica.watch(), 'ours');
      await store.put('current.json', stale?.content ?? new Uint8Array());
      t.is(await replica.watch(), 'restored');
    });
    await requireEqual(t, root, store);
  });

  test('an empty store is not filled by opening a root, nor a store taken over by another root', async (t) => {
    const [{ store: empty }, { store }] = [await newBucket(), await newBucket()];
    const scans = await midnight();
    const [root, other] = [await scratch(t), await scratch(t)];
    await ingestTo(root, store, scans.slice(0, 2));
    await onRoot(other, {}, async ({ session }) => {
      await session.ingest(filesOf(scans.slice(0, 2)));
    });
    await t.throwsAsync(
      onRoot(other, { replica: openReplica({ path: other, store: empty, fence: null }) }, async () => {}),
      {
        message: /holds no data root, and .* publish --to/,
      },
    );
    await t.throwsAsync(
      onRoot(other, { replica: openReplica({ path: other, store, fence: null }) }, async () => {}),
      {
        message: /holds the data root root_\w+, expected root_\w+/,
      },
    );
    t.deepEqual(await objectsOf(empty), new Map());
  });

  for (const [title, fault, matches] of [
    ['answers to PUT are lost', 'lose-answer', ({ method }) => method === 'PUT'],
    ['the store is overloaded', 503, () => true],
    ['answers are cut off', 'cut', ({ method }) => method === 'GET'],
  ] as const satisfies readonly (readonly [string, Fault, (seen: SeenRequest) => boolean])[])
    test.serial(`a commit reaches the store although ${title}`, async (t) => {
      const { store, faulty } = await newBucket();
      const scans = await midnight();
      const root = await scratch(t);
      await ingestTo(root, faulty, scans.slice(0, 4));
      let count = 0;
      t.teardown(proxy.heal);
      proxy.fault((seen) => (matches as (seen: SeenRequest) => boolean)(seen) && count++ % 3 === 0, fault);
      await ingestTo(root, faulty, scans.slice(4, 8));
      proxy.heal();
      t.true(count > 3);
      await requireEqual(t, root, store);
      t.deepEqual(await faultsOfStore(store), []);
    });

  test.serial('stale answers do not take a root back, nor the store', async (t) => {
    const { store, faulty } = await newBucket();
    const scans = await midnight();
    const root = await scratch(t);
    await ingestTo(root, faulty, scans.slice(0, 4), { fence: 1 });
    t.teardown(proxy.heal);
    const end = proxy.fault(
      ({ method, key }) => method === 'GET' && /head\.json|current\.json|list-type/.test(key),
      'stale',
    );
    await ingestTo(root, faulty, scans.slice(4, 6), { fence: 1 });
    await ingestTo(root, faulty, scans.slice(6, 8), { fence: 1 });
    end();
    await requireEqual(t, root, store);
    t.deepEqual(await faultsOfStore(store), []);
    proxy.heal();
  });

  test('the sweep deletes what no list has named for a day, and nothing of a partition that another writer has moved', async (t) => {
    const { store } = await newBucket();
    const scans = await midnight();
    const root = await scratch(t);
    await ingestTo(root, store, scans.slice(0, 2), {}, { each_scan: true });
    // As a store sees it two days later.
    const removed: string[] = [];
    const aged: ObjectStore = {
      ...store,
      head: async (key) => {
        const found = await store.head(key);
        return found !== null && key === 'current.json'
          ? { ...found, modified_ms: found.modified_ms + 2 * 86_400_000 }
          : found;
      },
      remove: async (key) => {
        removed.push(key);
        await store.remove(key);
      },
    };
    await store.put('tables/cells/date=2026-05-01/orphan-00000000.parquet', Buffer.from('x'));
    await onRoot(root, { replica: openReplica({ path: root, store: aged, fence: null }) }, async ({ root: opened }) => {
      const known = new Set((await publishedFiles(root)).keys());
      await opened.sweep(NOW_MS, null);
      t.true(removed.length > 0);
      t.deepEqual(
        removed.filter((key) => known.has(key)),
        [],
      );
    });
    await requireEqual(t, root, store);
    t.deepEqual(await faultsOfStore(store), []);
  });

  test('a root moves to a store and from it, and what is there is not moved again', async (t) => {
    const { store } = await newBucket();
    const [first, second] = [await publishedRoot(t, await midnight()), await scratch(t)];
    const now = () => NOW_MS;
    const move = (data_root: string, direction: 'to' | 'from', to = store) =>
      publishRoot({ data_root, now }, { direction, store: to, raw: true, log: silent });
    await t.throwsAsync(move(second, 'to'), { instanceOf: NotFound });
    await t.throwsAsync(move(first, 'to', killedStore(store, 12)), { message: 'killed' });
    t.deepEqual(await faultsOfStore(store), []);
    const there = await move(first, 'to');
    t.true(there.files > 10 && there.raw_files > 0);
    t.log(`${there.files} files, ${there.bytes} bytes, ${there.raw_files} raw`);
    t.is((await move(first, 'to')).files, 0);
    await requireEqual(t, first, store);
    const back = await move(second, 'from');
    t.true(back.files >= there.files);
    t.deepEqual(await publishedFiles(second), await publishedFiles(first));
    t.is((await move(second, 'from')).files, 0);
    const [broken] = (await publishedFiles(second)).keys().filter((path) => path.startsWith('tables/'));
    const target = join(second, broken as string);
    const content = await fs.readFile(target);
    await fs.writeFile(target, Buffer.alloc(content.length));
    t.is((await move(second, 'from')).files, 1);
    t.deepEqual(await publishedFiles(second), await publishedFiles(first));
  });
}
