import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { storeLists } from '../../../api/cache/store-lists.ts';
import { layout } from '../../../schemas/layout.ts';
import { type ObjectStore, StoreUnavailable } from '../../../schemas/object-store/client.ts';

interface Stored {
  readonly etag: string;
  readonly text: string;
}

/** A store of lists that may answer a listing or a key from an earlier state. */
function memoryStore() {
  const objects = new Map<string, Stored>();
  const stale = new Map<string, Stored | null>();
  let listing: ReadonlyMap<string, Stored> | null = null;
  const asked: string[] = [];
  const at = (key: string) => (stale.has(key) ? (stale.get(key) ?? null) : (objects.get(key) ?? null));
  let [running, most] = [0, 0];
  const get = async (key: string) => {
    asked.push(key);
    running += 1;
    most = Math.max(most, running);
    await setImmediate();
    running -= 1;
    const found = at(key);
    return found === null ? null : { content: Buffer.from(found.text), etag: found.etag };
  };
  const store = {
    get,
    getUnless: async (etag: string | null, key: string) => {
      const found = await get(key);
      return found !== null && found.etag === etag ? 'unchanged' : found;
    },
    head: async (key: string) => {
      const found = objects.get(key);
      return found === undefined ? null : { etag: found.etag, bytes: found.text.length, modified_ms: 0 };
    },
    async *list(prefix: string) {
      asked.push(`list ${prefix}`);
      for (const [key, { etag, text }] of listing ?? objects)
        if (key.startsWith(prefix)) yield { key, etag, bytes: text.length, modified_ms: 0 };
    },
  };
  const putText = (key: string, text: string) => {
    objects.set(key, { etag: `"${text}"`, text });
  };
  return {
    lists: storeLists(store as unknown as ObjectStore),
    asked,
    /** Most lists that were read at once. */
    most: () => most,
    put: (key: string, value: object) => putText(key, JSON.stringify(value)),
    putText,
    remove: (key: string) => objects.delete(key),
    /** Answers a key as it is now, whatever is put later. */
    freeze: (key: string) => stale.set(key, objects.get(key) ?? null),
    freezeListing: () => {
      listing = new Map(objects);
    },
    thaw: () => {
      stale.clear();
      listing = null;
    },
  };
}

const HEAD = layout.head('2026-05-01');

test('a pointer of a lower fence, or of the same fence and a lower commit, does not replace the one before', async (t) => {
  const { lists, put } = memoryStore();
  const read = async () => {
    await lists.mark(layout.current);
    return JSON.parse((await lists.text(layout.current)) ?? 'null');
  };
  put(layout.current, { fence: 2, commit: 2_000_005 });
  t.like(await read(), { commit: 2_000_005 });
  for (const older of [{ fence: 1, commit: 2_000_009 }, { fence: 2, commit: 2_000_004 }, { commit: 3_000_000 }]) {
    put(layout.current, older);
    t.like(await read(), { fence: 2, commit: 2_000_005 }, JSON.stringify(older));
  }
  put(layout.current, { fence: 3, commit: 1 });
  t.like(await read(), { fence: 3, commit: 1 });
});

test('a pointer that was read and is not found is a stale answer', async (t) => {
  const { lists, put, remove } = memoryStore();
  t.is(await lists.mark(layout.current), null);
  put(layout.current, { commit: 1 });
  const mark = await lists.mark(layout.current);
  remove(layout.current);
  t.is(await lists.mark(layout.current), mark);
});

test('a head is read when the listing shows another tag, and not again', async (t) => {
  const { lists, put, asked } = memoryStore();
  put(HEAD, { commit: 1 });
  t.deepEqual(await lists.partitions(), ['2026-05-01']);
  const mark = await lists.mark(HEAD);
  t.is(await lists.text(HEAD), '{"commit":1}');
  await lists.partitions();
  t.is(await lists.mark(HEAD), mark);
  t.deepEqual(asked, ['list manifests/', HEAD, 'list manifests/']);
  put(HEAD, { commit: 2 });
  await lists.partitions();
  t.not(await lists.mark(HEAD), mark);
  t.is(await lists.text(HEAD), '{"commit":2}');
});

test('a head whose answer is older than the listing is read again at the next poll', async (t) => {
  const { lists, put, freeze, thaw } = memoryStore();
  put(HEAD, { commit: 1 });
  freeze(HEAD);
  put(HEAD, { commit: 2 });
  await lists.partitions();
  const mark = await lists.mark(HEAD);
  t.is(await lists.text(HEAD), '{"commit":1}');
  thaw();
  await lists.partitions();
  t.not(await lists.mark(HEAD), mark);
  t.is(await lists.text(HEAD), '{"commit":2}');
});

test('a stale listing takes no head back and loses none', async (t) => {
  const other = layout.head('2026-05-02');
  const { lists, put, freezeListing, remove, thaw } = memoryStore();
  put(HEAD, { commit: 2 });
  put(other, { commit: 1 });
  t.deepEqual(await lists.partitions(), ['2026-05-01', '2026-05-02']);
  for (const path of [HEAD, other]) await lists.text(path);
  remove(other);
  freezeListing();
  put(other, { commit: 1 });
  t.deepEqual(await lists.partitions(), ['2026-05-01', '2026-05-02']);
  thaw();
  put(HEAD, { commit: 1 });
  await lists.partitions();
  await lists.mark(HEAD);
  t.is(await lists.text(HEAD), '{"commit":2}');
  remove(other);
  t.deepEqual(await lists.partitions(), ['2026-05-01'], 'a head that is really gone is not hidden');
});

test('a numbered list is looked for when it is read, whatever the listing says', async (t) => {
  const path = layout.manifest('2026-05-01', 7);
  const { lists, put } = memoryStore();
  t.is(await lists.mark(path), await lists.mark(path));
  t.is(await lists.text(path), null);
  put(path, { commit: 7 });
  t.is(await lists.text(path), '{"commit":7}');
});

test('the lists of many dates are read some at a time, and all of them', async (t) => {
  const store = memoryStore();
  const heads = Array.from({ length: 400 }, (_, index) => layout.head(`2026-${index}`));
  for (const head of heads) store.put(head, { commit: 1 });
  await store.lists.partitions();
  const texts = await Promise.all(heads.map((head) => store.lists.text(head)));
  t.is(texts.filter((text) => text !== null).length, 400);
  t.is(store.most(), 16);
});

test('lists of a root that the store no longer holds do not stay beside those of another one', async (t) => {
  const { lists, put } = memoryStore();
  const read = async () => {
    await lists.mark(layout.current);
    const texts = [await lists.text(layout.root), await lists.text(layout.current)];
    await lists.partitions();
    return [...texts, await lists.text(HEAD)].map((text) => JSON.parse(text ?? 'null'));
  };
  for (const [root_id, commit] of [
    ['root_a', 9],
    ['root_b', 1],
  ] as const) {
    const written = [{ root_id }, { commit, made_by: root_id }, { commit, made_by: root_id }];
    for (const [k, path] of [layout.root, layout.current, HEAD].entries()) put(path, written[k] ?? {});
    t.deepEqual(await read(), written);
  }
});

test('a web page instead of a list is a fault of the store, and the list before stays', async (t) => {
  const { lists, put, putText } = memoryStore();
  put(layout.current, { fence: 2, commit: 7 });
  await lists.mark(layout.current);
  for (const path of [layout.current, layout.manifest('2026-05-01', 7)]) {
    putText(path, '<html>Sign in</html>');
    const asked = path === layout.current ? lists.mark(path) : lists.text(path);
    await t.throwsAsync(asked, { instanceOf: StoreUnavailable, message: /is not JSON, expected a list$/ });
  }
  put(layout.current, { fence: 1, commit: 8 });
  await lists.mark(layout.current);
  t.is(await lists.text(layout.current), '{"fence":2,"commit":7}');
});
