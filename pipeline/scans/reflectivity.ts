import { MS_PER_HOUR } from '../../schemas/time.ts';
import type { Reflectivity } from '../publish/reflectivity.ts';
import { inputHash, type ScanPlan } from '../sources/plan.ts';
import { REFLECTIVITY_VERSION } from '../tiles/reflectivity-tiles.ts';
import { dateOf } from './raw-archive.ts';
import type { Context } from './run.ts';

/** What the archive of a scan's reflectivity is made from; null without the product, and for a scan of which none is kept. */
function archiveInputs({ settings }: Context, { scan_time, companions }: ScanPlan): string | null {
  const { reflectivity_keep_hours: hours, now } = settings;
  const file = companions.max_reflectivity_dbz;
  if (file === undefined || hours === 0 || now() - scan_time >= hours * MS_PER_HOUR) return null;
  return inputHash(`reflectivity ${REFLECTIVITY_VERSION}`, file);
}

/** True for a scan whose reflectivity is to be painted: one that is young enough, and not listed as painted from the same file. */
export async function paintsReflectivity(context: Context, scan: ScanPlan): Promise<boolean> {
  const inputs = archiveInputs(context, scan);
  if (inputs === null) return false;
  const list = await context.root.manifest(dateOf(context, scan.scan_id));
  const published = list?.scans.find(({ scan_id }) => scan_id === scan.scan_id);
  if (published?.reflectivity !== inputs) return true;
  return !list?.files.some(({ kind, first_scan }) => kind === 'reflectivity-tiles' && first_scan === scan.scan_id);
}

/** What is published of a scan's reflectivity: the archive that was painted, or the one that is listed and stays. */
export function reflectivityOf(context: Context, scan: ScanPlan, painted: Uint8Array | undefined): Reflectivity | null {
  const inputs = archiveInputs(context, scan);
  return inputs === null ? null : { inputs, archive: painted ?? null };
}
