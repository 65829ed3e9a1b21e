import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { viewName } from '../../../pipeline/catalogues/views.ts';
import type { Table } from '../../../schemas/columns.ts';
import { rowTexts, selectList } from './row-texts.ts';

/** Rows as sorted lines of text, the same whoever read them. */
type RowLines = readonly string[];

/** Rows of a view of `views.sql`, read by an engine of its own that knows nothing else of the data root. */
export async function viewRows(root: string, views: readonly string[]): Promise<Record<string, RowLines>> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(readFileSync(join(root, 'views.sql'), 'utf8'));
    const found: Record<string, RowLines> = {};
    for (const view of views) {
      const reader = await connection.runAndReadAll(`FROM ${view}`);
      found[view] = linesOf(reader.getRowObjectsJS());
    }
    return found;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Rows of tables as texts through `views.sql`, and the edition that they are of; all of it is read once. */
export async function viewTexts(root: string, tables: readonly Table[]) {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(readFileSync(join(root, 'views.sql'), 'utf8'));
    const texts = new Map<string, string[]>();
    for (const table of tables) {
      const reader = await connection.runAndReadAll(`SELECT ${selectList(table)} FROM ${viewName(table)}`);
      texts.set(table.name, rowTexts(table, reader.getRowObjectsJS()));
    }
    const edition = (await connection.runAndReadAll('SELECT edition FROM edition')).getRowObjectsJS();
    return { edition: String(edition[0]?.edition), texts };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Shapes count as there: every reader has its own form of them. */
function linesOf(rows: readonly Readonly<Record<string, unknown>>[]): RowLines {
  return rows
    .map((row) =>
      Object.entries(row)
        .map(([name, value]) => `${name}=${plain(value)}`)
        .sort()
        .join(' '),
    )
    .sort();
}

function plain(value: unknown): string {
  if (value instanceof Date) return String(value.getTime());
  return typeof value === 'object' && value !== null ? 'shape' : String(value);
}
