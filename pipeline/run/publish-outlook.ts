import { join } from 'node:path';
import { type CollectionName, WHOLE_COLLECTION } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import { layout } from '../../schemas/layout.ts';
import { combineProvenances } from '../../schemas/provenance.ts';
import { type Forecast, forecast } from '../../schemas/tables/forecast.ts';
import { type Outlook, outlook } from '../../schemas/tables/outlook.ts';
import { type SpcOutlook, spcOutlooks } from '../../schemas/tables/spc-outlooks.ts';
import { addDays } from '../../schemas/time.ts';
import { firstOutlookDate, outlookRows } from '../forecast/outlook.ts';
import { readHead } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readRows } from '../publish/tables.ts';
import { readUsualHail } from './usual-hail.ts';

/** Outlooks of the Storm Prediction Center are read for so many days: its day 8 is our day 8 at most. */
const SPC_DAYS = 8;

/**
 * Publishes the blend of the next seven days from what is published of its components, in place of the last one. Returns whether
 * anything changed: without any component there is nothing to publish.
 */
export async function publishOutlook(root: Root, now_ms: number): Promise<boolean> {
  const first_date = firstOutlookDate(now_ms);
  const last_date = addDays(first_date, SPC_DAYS);
  const climatology = await readUsualHail(root);
  const spc = await rowsOf<SpcOutlook>(
    root,
    'outlooks',
    spcOutlooks,
    `forecast_date BETWEEN '${first_date}' AND '${last_date}'`,
  );
  const hours = await rowsOf<Forecast>(root, 'forecast', forecast, 'true');
  if (climatology === null && spc.length === 0 && hours.length === 0) return false;
  const rows: Outlook[] = [];
  for (const cell of outlookRows({ first_date, spc, forecast: hours, climatology })) rows.push(...cell);
  const provenance = combineProvenances(rows.map(({ data_source }) => data_source)) ?? 'observed';
  const segment = { segment: WHOLE_COLLECTION, table: outlook, rows, provenance, state: null };
  return root.publishCollection('outlook', [segment], [], now_ms);
}

async function rowsOf<Row>(root: Root, name: CollectionName, table: Table, where: string): Promise<Row[]> {
  const head = await readHead(root.path, layout.collectionPartition(name));
  const paths = (head?.files ?? []).map(({ path }) => join(root.path, path));
  return readRows<Row>(root.engine, table, paths, where);
}
