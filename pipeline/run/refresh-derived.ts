import { type ClimatologyReport, publishClimatology, refreshClimatology } from '../climatology/derive-climatology.ts';
import { datesToCount } from '../climatology/hail-dates.ts';
import type { Config } from '../config.ts';
import { isIsolated, NotFound } from '../error.ts';
import type { Log } from '../log.ts';
import { publishOutlook } from '../model-runs/publish-outlook.ts';
import { DERIVED_CLIMATOLOGY, DERIVED_OUTLOOK, type DerivedTable, readOutdated } from '../publish/derived.ts';
import { openRoot, type Root } from '../publish/root.ts';

/** Outcome of refreshing the derived tables. */
export interface RefreshedTables {
  /** Tables whose rows changed. */
  readonly changed: readonly string[];
  /** Tables that cannot be made, with the reason; their published rows stay. */
  readonly failed: readonly { readonly table: string; readonly reason: string }[];
}

/** Publishes a table. Returns whether its rows changed. */
type Make = (root: Root, now_ms: number, log: Log) => Promise<boolean>;

/** The derived tables in the order of their dependencies. */
const MAKERS: readonly (readonly [DerivedTable, Make])[] = [
  [DERIVED_CLIMATOLOGY, async (root, now_ms, log) => (await refreshClimatology(root, now_ms, log))?.changed === true],
  [DERIVED_OUTLOOK, async (root, now_ms) => (await publishOutlook(root, now_ms)) === true],
];

/**
 * Publishes again the derived tables whose inputs are newer: a process may have been killed between the commit of a table and
 * that of a table derived from it. Every command that writes ends with this.
 */
export async function refreshDerived(root: Root, now_ms: number, log: Log): Promise<RefreshedTables> {
  const changed: string[] = [];
  const failed: { table: string; reason: string }[] = [];
  for (const [derived, make] of MAKERS) {
    const table = derived.table.name;
    try {
      const reason = await readOutdated(root.path, derived);
      if (reason === null) continue;
      if (await make(root, now_ms, log)) changed.push(table);
      log.info('Table:Refresh:Done', { table, reason });
    } catch (error) {
      if (!isIsolated(error)) throw error;
      failed.push({ table, reason: error.message });
      log.warn('Table:Refresh:Failed', { table, reason: error.message });
    }
  }
  return { changed, failed };
}

/** Publishes the climatology of all published storm dates, and the tables derived from it. */
export async function deriveClimatology(config: Config, log: Log): Promise<ClimatologyReport> {
  const { data_root, storm_day_start_hour, now } = config;
  const root = await openRoot(data_root, 'hail-pipeline derive', storm_day_start_hour, now());
  try {
    const dates = datesToCount(root);
    if (dates === null)
      throw new NotFound('derive', data_root, 'holds no storm date, expected some to make a climatology of');
    const report = await publishClimatology(root, dates, now(), log);
    await refreshDerived(root, now(), log);
    return report;
  } finally {
    await root.close();
  }
}
