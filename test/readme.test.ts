import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import test from 'ava';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { readNewest } from '../pipeline/publish/manifests.ts';
import { midnight, publishedRoot } from './support/data/world.ts';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const DATE = '2026-05-01';

interface Place {
  readonly lat: number;
  readonly lon: number;
  readonly max_mm: number;
}

/** Statements of the n-th block of a language in the README. */
function statements(language: string): string[] {
  const block = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(README)?.[1] ?? '';
  return block
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean);
}

test.serial(
  'the SQL runs as printed in a data root and gives the largest hail that scans saw at each place of the date',
  async (t) => {
    const root = await publishedRoot(t, await midnight());
    const before = process.cwd();
    process.chdir(root);
    t.teardown(() => process.chdir(before));
    const connection = await (await DuckDBInstance.create()).connect();
    const all = statements('sql');
    for (const statement of all.slice(0, -1)) await connection.run(statement);
    const found = (await connection.runAndReadAll(all.at(-1) ?? '')).getRowObjectsJson() as unknown as Place[];

    const largest = new Map<string, number>();
    const manifest = await readNewest(root, DATE);
    for (const { path } of manifest?.files.filter((file) => file.table === 'day-max') ?? []) {
      const { buffer, byteOffset, length } = readFileSync(join(root, path));
      const file = buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
      for (const { lat, lon, max_mm, interpolated } of await parquetReadObjects({ file, compressors }))
        if (!interpolated) largest.set(`${lat} ${lon}`, Math.max(largest.get(`${lat} ${lon}`) ?? 0, max_mm));
    }
    const sizes = [...largest.values()].sort((a, b) => b - a);
    t.deepEqual(
      found.map(({ max_mm }) => max_mm),
      sizes.slice(0, 10),
    );
    for (const { lat, lon, max_mm } of found) t.is(largest.get(`${lat} ${lon}`), max_mm);
  },
);
