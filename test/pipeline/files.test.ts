import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import test from 'ava';
import { Unreadable } from '../../pipeline/error.ts';
import { copyDurably, hashOf, makeFolder, replaceFile, sizeOf } from '../../pipeline/files.ts';
import { put, scratch } from '../support/data/source-files.ts';

test('folders are made with their parents, from absolute and relative paths, and making them again is nothing', async (t) => {
  const root = await scratch(t);
  for (const path of [join(root, 'a/b/c'), relative('.', join(root, 'd/e')), join(root, 'a/b/c')])
    await makeFolder(path);
  t.deepEqual((await readdir(root, { recursive: true })).sort(), ['a', 'a/b', 'a/b/c', 'd', 'd/e']);
});

test('a copy and a text replace what was there, with their folders made on the way', async (t) => {
  const root = await scratch(t);
  const from = await put(root, 'from', 'new');
  for (const to of [await put(root, 'old', 'old content'), join(root, 'deep/new')]) {
    await copyDurably(from, to);
    t.is(await readFile(to, 'utf8'), 'new');
    await replaceFile(to, 'text');
    t.is(await readFile(to, 'utf8'), 'text');
  }
});

test('a copy of what is not there leaves what was there and no part, and names what is missing', async (t) => {
  const root = await scratch(t);
  const to = await put(root, 'to', 'old');
  await t.throwsAsync(copyDurably(join(root, 'nowhere'), to), {
    instanceOf: Unreadable,
    message: /\/nowhere: is not there \(ENOENT\)/,
  });
  t.is(await readFile(to, 'utf8'), 'old');
  t.deepEqual(await readdir(root), ['to']);
});

test('what is not there has no size; a folder in place of a file is no reason to be silent', async (t) => {
  const root = await scratch(t);
  t.is(await sizeOf(await put(root, 'file', 'four')), 4);
  t.is(await sizeOf(join(root, 'nowhere')), null);
  await mkdir(join(root, 'folder'));
  await t.throwsAsync(hashOf(join(root, 'folder')), { instanceOf: Unreadable, message: /EISDIR/ });
});
