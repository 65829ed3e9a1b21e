import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openEngine } from '../../../api/duckdb.ts';
import { type FileMemoryOptions, type FileView, openFileMemory } from '../../../api/queries/file-memory.ts';
import { scratch } from '../../support/data/world.ts';

/** Files with a text each, and a memory of views that take 100 bytes and count how often they are made. */
async function memoryOf(t: ExecutionContext, options: FileMemoryOptions) {
  const folder = await scratch(t);
  await fs.mkdir(folder, { recursive: true });
  const engine = await openEngine(folder);
  const memory = openFileMemory(engine, options);
  t.teardown(async () => {
    await memory.close();
    await engine.close();
  });
  const read: string[] = [];
  const view: FileView<{ bytes: number; text: string }> = {
    name: 'text',
    read: async (_, path) => {
      const text = await fs.readFile(path, 'utf8');
      read.push(text);
      return { bytes: 100, text };
    },
  };
  const pathOf = (name: string) => join(folder, name);
  const ask = async (name: string) => {
    const made = memory.of(view, pathOf(name));
    await memory.settled();
    return made?.text ?? null;
  };
  for (const name of ['a', 'b', 'c', 'd']) await fs.writeFile(pathOf(name), name);
  return { memory, view, read, ask, pathOf };
}

test('a file is read once, after the first who asks for it, however many ask meanwhile', async (t) => {
  const { memory, view, read, ask, pathOf } = await memoryOf(t, {});
  for (let n = 0; n < 5; n++) t.is(memory.of(view, pathOf('a')), null);
  await memory.settled();
  for (let n = 0; n < 5; n++) t.is(await ask('a'), 'a');
  t.deepEqual(read, ['a']);
  t.is(memory.bytes(), 100);
});

test('never more is kept than the bound: what was asked for longest ago goes', async (t) => {
  const { memory, ask } = await memoryOf(t, { bytes_max: 250 });
  for (const name of ['a', 'b', 'a', 'c']) {
    await ask(name);
    t.true(memory.bytes() <= 250);
  }
  t.is(await ask('a'), 'a');
  t.is(await ask('c'), 'c');
  t.is(await ask('b'), null, 'b made room for c');
  t.true(memory.bytes() <= 250);
});

test('what is larger than the bound drives nothing out', async (t) => {
  const { memory, ask, pathOf } = await memoryOf(t, { bytes_max: 250 });
  await ask('a');
  const large: FileView<{ bytes: number }> = { name: 'large', read: async () => ({ bytes: 251 }) };
  t.is(memory.of(large, pathOf('b')), null);
  await memory.settled();
  t.is(memory.of(large, pathOf('b')), null);
  t.is(await ask('a'), 'a');
});

test('a file that has gone is forgotten, and told of when it is to be read again', async (t) => {
  const failures: string[] = [];
  const { memory, ask, pathOf } = await memoryOf(t, { failed: (path) => failures.push(path) });
  await ask('a');
  await fs.rm(pathOf('a'));
  t.is(await ask('a'), null);
  t.is(memory.bytes(), 0);
  t.is(await ask('a'), null);
  t.deepEqual(failures, [pathOf('a')]);
  await ask('b');
  t.is(await ask('b'), 'b', 'others are read as before');
});

test('what is read ahead comes in its order, after what was asked for, while there is room, and drives nothing out', async (t) => {
  const { memory, view, read, ask, pathOf } = await memoryOf(t, { bytes_max: 250 });
  memory.readAhead(view, ['a', 'b', 'c'].map(pathOf));
  memory.of(view, pathOf('d'));
  await memory.settled();
  t.deepEqual(read, ['a', 'd', 'b'], 'for b there is no room, and c was not tried');
  t.deepEqual([await ask('d'), await ask('a')], ['d', 'a']);
  t.is(memory.bytes(), 200, 'nothing was read for them');
});

test('of what was read ahead the last goes first when something is asked for', async (t) => {
  const { memory, view, ask, pathOf } = await memoryOf(t, { bytes_max: 250 });
  memory.readAhead(view, ['a', 'b'].map(pathOf));
  await memory.settled();
  await ask('c');
  t.is(await ask('a'), 'a');
  t.is(memory.of(view, pathOf('b')), null);
});

test('files that have gone make room for what is read ahead', async (t) => {
  const { memory, view, ask, pathOf } = await memoryOf(t, { bytes_max: 250 });
  for (const name of ['a', 'b']) await ask(name);
  await fs.rm(pathOf('a'));
  memory.readAhead(view, [pathOf('c')]);
  await memory.settled();
  t.deepEqual([await ask('b'), await ask('c')], ['b', 'c']);
});

test('a file that cannot be read ahead is told of, and costs itself alone', async (t) => {
  const failures: string[] = [];
  const { memory, view, ask, pathOf } = await memoryOf(t, { failed: (path) => failures.push(path) });
  memory.readAhead(view, ['gone', 'a'].map(pathOf));
  await memory.settled();
  t.deepEqual(failures, [pathOf('gone')]);
  t.is(await ask('a'), 'a');
});

test('once closed it reads nothing more', async (t) => {
  const { memory, view, read, pathOf } = await memoryOf(t, {});
  for (const name of ['a', 'b', 'c', 'd']) memory.of(view, pathOf(name));
  await memory.close();
  memory.of(view, pathOf('a'));
  await memory.settled();
  t.true(read.length <= 1, `${read.length} files were read`);
});
