import { isIsolated } from '../error.ts';
import { refreshClimatology } from '../forecast/derive-climatology.ts';
import { publishOutlook } from '../forecast/publish-outlook.ts';
import type { Log } from '../log.ts';
import { DERIVED_CLIMATOLOGY, DERIVED_OUTLOOK, type DerivedTable, readOutdated } from '../publish/derived.ts';
import type { Root } from '../publish/root.ts';

/** Outcome of refreshing the derived tables. */
interface RefreshedTables {
  /** Tables whose rows changed. */
  readonly changed: readonly string[];
  /** Tables that cannot be made, with the reason; their published rows stay. */
  readonly failed: readonly { readonly table: string; readonly reason: string }[];
}

/** Publishes a table. Returns the names of the tables whose rows changed. */
type Make = (root: Root, now_ms: number, log: Log) => Promise<readonly string[]>;

/** The derived tables in the order of their dependencies. */
const MAKERS: readonly (readonly [DerivedTable, Make])[] = [
  [
    DERIVED_CLIMATOLOGY,
    async (root, now_ms, log) =>
      (await refreshClimatology(root, now_ms, log))?.changed === true ? [DERIVED_CLIMATOLOGY.table.name] : [],
  ],
  [DERIVED_OUTLOOK, async (root, now_ms) => (await publishOutlook(root, now_ms)) ?? []],
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
      changed.push(...(await make(root, now_ms, log)));
      log.info('Table:Refresh:Done', { table, reason });
    } catch (error) {
      if (!isIsolated(error)) throw error;
      failed.push({ table, reason: error.message });
      log.warn('Table:Refresh:Failed', { table, reason: error.message });
    }
  }
  return { changed, failed };
}
