import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { PROJECT, readDocument } from '../support/data/markdown.ts';

test('the README of schemas names every file of it, and no other', (t) => {
  const files = readdirSync(join(PROJECT, 'schemas'), { recursive: true, encoding: 'utf8' });
  const named = [...readDocument('schemas/README.md').matchAll(/\]\(([^)#]+\.ts)\)/g)].map(([, path]) => path);
  t.deepEqual(named.toSorted(), files.filter((path) => path.endsWith('.ts')).toSorted());
});
