import type { ExecutionContext } from 'ava';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { writeCatalogue } from '../../../pipeline/catalogues/catalogue.ts';
import type { Table } from '../../../schemas/columns.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { dayMax } from '../../../schemas/tables/radar.ts';
import { icebergRows, manifestRows } from './iceberg-reading.ts';
import { rowTexts } from './row-texts.ts';
import { assetsOf, itemsOf, type StacFile, walkStac } from './stac-walk.ts';
import { viewTexts } from './view-rows.ts';

/** Writes the catalogue of a root into it. */
export const catalogue = (root: string) => writeCatalogue(root, { out: root, location: root });

/** Rows of the STAC items of a table, read by hyparquet. */
async function stacRows(files: readonly StacFile[], table: Table): Promise<string[]> {
  const rows: Record<string, unknown>[] = [];
  for (const { path } of itemsOf(files, table.name).flatMap(assetsOf))
    rows.push(...(await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors })));
  return rowTexts(table, rows);
}

/** The largest size of each pixel that scans saw: the files of a running date add up. */
function largest(texts: readonly string[]): Record<string, number> {
  const sizes: Record<string, number> = {};
  for (const text of texts) {
    const { storm_date, row, col, max_mm, interpolated } = Object.fromEntries(JSON.parse(text));
    if (interpolated) continue;
    const key = `${storm_date} ${row} ${col}`;
    sizes[key] = Math.max(sizes[key] ?? 0, max_mm);
  }
  return sizes;
}

/** Iceberg and STAC give the rows that the newest manifests give, views the current ones. */
export async function sameAsManifests(t: ExecutionContext, root: string, state: string): Promise<void> {
  const views = await viewTexts(root, TABLES);
  const files = walkStac(root);
  for (const table of TABLES) {
    const rows = await manifestRows(root, table);
    t.deepEqual(await icebergRows(root, table), rows, `Iceberg, ${table.name}, ${state}`);
    t.deepEqual(await stacRows(files, table), rows, `STAC, ${table.name}, ${state}`);
    const shown = views.get(table.name) ?? [];
    if (table.name === dayMax.name) t.deepEqual(largest(shown), largest(rows), `views, day maxima, ${state}`);
    else
      t.deepEqual(
        shown,
        rows.filter((text) => !text.includes('["is_current",false]')),
        `views, ${table.name}, ${state}`,
      );
  }
  const shown = views.get(dayMax.name) ?? [];
  t.is(shown.filter((text) => text.includes('["interpolated",false]')).length, Object.keys(largest(shown)).length);
}
