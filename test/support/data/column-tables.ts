import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Column, columns, type Table } from '../../../schemas/columns.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import type { ColumnType } from '../../../schemas/units.ts';

/** Names of column types in data/README.md. */
export const TYPE_WORDS: Readonly<Record<ColumnType, string>> = {
  BOOLEAN: 'bool',
  USMALLINT: 'uint16',
  INTEGER: 'int32',
  BIGINT: 'int64',
  DOUBLE: 'double',
  VARCHAR: 'string',
  DATE: 'date',
  TIMESTAMPTZ: 'timestamp',
  GEOMETRY: 'geometry',
};

/** Unit of a column in data/README.md; empty for none and for "1". */
export function unitWord({ type, unit }: Column): string {
  if (type === 'TIMESTAMPTZ') return 'UTC';
  return unit === null || unit === '1' ? '' : unit;
}

/** Version, order and columns of a table as Markdown. */
function columnTable(table: Table): string {
  const { schema_version, order } = table;
  const rows = columns(table).map(
    (column) =>
      `| \`${column.name}\` | ${TYPE_WORDS[column.type]}${column.nullable ? '?' : ''} | ${unitWord(column)} | ${column.description} |`,
  );
  return [
    `Version ${schema_version}. Sorted by \`${order}\`.\n`,
    '| column | type | unit | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

/** The document with the part between `<!-- columns of NAME -->` and `<!-- end -->` made anew from the schema of each table. */
export function withColumnTables(document: string): string {
  return TABLES.reduce((text, table) => {
    const marked = new RegExp(`(<!-- columns of ${table.name} -->\n).*?(\n<!-- end -->)`, 's');
    if (!marked.test(text)) throw new Error(`data/README.md has no marks of the columns of ${table.name}`);
    return text.replace(marked, (_, begin, end) => `${begin}${columnTable(table)}${end}`);
  }, document);
}

/** `npm run columns` */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = fileURLToPath(new URL('../../../data/README.md', import.meta.url));
  writeFileSync(path, withColumnTables(readFileSync(path, 'utf8')));
}
