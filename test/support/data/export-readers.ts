import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tableFromIPC } from 'apache-arrow';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import type * as ParquetWasm from 'parquet-wasm';
import parquetjs from 'parquetjs-lite';
import { openEngine } from '../../../pipeline/duckdb.ts';

type Row = Readonly<Record<string, unknown>>;

/** The build for Node; what the package offers to `import` wants a browser. */
const wasm: typeof ParquetWasm = createRequire(import.meta.url)('parquet-wasm');

/** Readers of Parquet that our customers have: rows of a file as each gives them. */
export const PARQUET_READERS = {
  DuckDB: async (path: string) => {
    const engine = await openEngine();
    try {
      return await engine.rows<Row>('SELECT * REPLACE (ST_AsText(geometry) AS geometry) FROM read_parquet($1)', [path]);
    } finally {
      engine.close();
    }
  },
  hyparquet: async (path: string) => (await parquetReadObjects({ file: await asyncBufferFromFile(path) })) as Row[],
  'parquet-wasm': async (path: string) =>
    tableFromIPC(wasm.readParquet(readFileSync(path)).intoIPCStream())
      .toArray()
      .map((row) => row.toJSON() as Row),
  'parquetjs-lite': async (path: string) => {
    const reader = await parquetjs.ParquetReader.openFile(path);
    try {
      const cursor = reader.getCursor();
      const rows: Row[] = [];
      for (let row = await cursor.next(); row !== null; row = await cursor.next()) rows.push(row);
      return rows;
    } finally {
      await reader.close();
    }
  },
} as const satisfies Record<string, (path: string) => Promise<readonly Row[]>>;

/** What a Parquet file says of itself. */
export async function parquetNotes(path: string): Promise<Readonly<Record<string, string>>> {
  const { key_value_metadata = [] } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  return Object.fromEntries(key_value_metadata.map(({ key, value }) => [key, value ?? '']));
}
