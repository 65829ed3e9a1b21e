import type { Root } from '../../../pipeline/publish/root.ts';
import { stageTable } from '../../../pipeline/publish/stage.ts';
import { type Column, columns, type Table } from '../../../schemas/columns.ts';
import { layout } from '../../../schemas/layout.ts';

/** A value of a column for row `i` of a date. */
function valueSql({ name, type }: Column, date: string, rows: number): string {
  if (name === 'storm_date') return `DATE '${date}'`;
  if (type === 'TIMESTAMPTZ') return `TIMESTAMP '${date}' + INTERVAL (i * 24 * 3600 // ${rows}) SECOND`;
  if (name === 'row' || name === 'col') return `(i * 7919 % 3500)::${type}`;
  if (type === 'VARCHAR') return `'text-' || (i * 31 % 5000)`;
  if (type === 'BOOLEAN') return 'i % 3 = 0';
  if (type === 'GEOMETRY') return "'POINT (-97 35)'::GEOMETRY";
  return `(i * 37 % 997 / 10)::${type}`;
}

/** Publishes made-up rows of a table as all that a closed date holds of it. */
export async function publishMadeRows(
  root: Root,
  table: Table,
  date: string,
  rows: number,
  now_ms: number,
): Promise<void> {
  const list = columns(table).map((column) => `${valueSql(column, date, rows)} AS "${column.name}"`);
  const query = `SELECT ${list.join(', ')} FROM range(${rows}) AS rows(i)`;
  const into = { folder: layout.table(table.name, date), stem: 'day' };
  const covers = { segment: `day-${date}`, first_scan: null, last_scan: null };
  const file = await stageTable(root.engine, root.staging, table, { query }, 'simulated', into, covers);
  await root.publishFiles(date, 'simulated', [], [file], true, now_ms);
}
