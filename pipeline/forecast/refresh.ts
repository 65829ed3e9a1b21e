import { isIsolated } from '../error.ts';
import type { Log } from '../log.ts';
import { readOutdated } from '../publish/inputs.ts';
import type { Root } from '../publish/root.ts';
import { type ClimatologyReport, refreshClimatology } from './derive-climatology.ts';
import { publishForecast } from './publish-forecast.ts';

/** Outcome of a refresh. */
export interface Refreshed {
  /** Null when the climatology was not due or failed. */
  readonly climatology: ClimatologyReport | null;
  /** Collections and static tables whose rows changed. */
  readonly changed: readonly string[];
  /** Tables that cannot be made, with the reason; their published rows stay. */
  readonly failed: readonly { readonly table: string; readonly reason: string }[];
}

/**
 * Makes the climatology when it is due, and the forecast when an input has another commit than the one it was made from: a process
 * may have been killed between the two commits. Every command that writes ends with this.
 */
export async function refreshForecast(root: Root, now_ms: number, log: Log): Promise<Refreshed> {
  const failed: { table: string; reason: string }[] = [];
  const attempt = async <T>(table: string, make: () => Promise<T>): Promise<T | null> => {
    try {
      return await make();
    } catch (error) {
      if (!isIsolated(error)) throw error;
      failed.push({ table, reason: error.message });
      log.warn('Table:Refresh:Failed', { table, reason: error.message });
      return null;
    }
  };
  const climatology = await attempt('climatology', () => refreshClimatology(root, now_ms, log));
  const outdated = (await readOutdated(root.path)).find(({ table }) => table === 'outlook');
  const forecast = outdated === undefined ? null : await attempt('outlook', () => publishForecast(root, now_ms, log));
  if (outdated !== undefined && forecast !== null)
    log.info('Table:Refresh:Done', { table: outdated.table, reason: outdated.reason });
  return { climatology, changed: [...(climatology?.changed ? ['climatology'] : []), ...(forecast ?? [])], failed };
}
