import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { viewName } from '../../../pipeline/catalogues/views.ts';
import type { Table } from '../../../schemas/columns.ts';
import { rowTexts, selectList } from './row-texts.ts';

/** Rows of queries over `views.sql`, by an engine of its own that knows nothing else of the data root. */
export async function viewRows(
  root: string,
  queries: readonly string[],
): Promise<readonly (readonly Readonly<Record<string, unknown>>[])[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(readFileSync(join(root, 'views.sql'), 'utf8'));
    const found: Record<string, unknown>[][] = [];
    for (const query of queries) found.push((await connection.runAndReadAll(query)).getRowObjectsJS());
    return found;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Rows of tables as texts through `views.sql`, by name; all of it is read once. */
export async function viewTexts(root: string, tables: readonly Table[]): Promise<ReadonlyMap<string, string[]>> {
  const queries = tables.map((table) => `SELECT ${selectList(table)} FROM ${viewName(table)}`);
  const found = await viewRows(root, queries);
  return new Map(tables.map((table, k) => [table.name, rowTexts(table, found[k] ?? [])]));
}
