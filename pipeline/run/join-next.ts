import type { Manifest } from '../../schemas/manifest.ts';
import { addDays, scanTime } from '../../schemas/time.ts';
import type { DateTasks, MadeDate } from '../cluster/date-tasks.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { readLattice } from '../publish/root-name.ts';
import { TRACKING_MAX_GAP_MS } from '../scans/tracking-state.ts';
import { planScans } from '../sources/plan.ts';
import { lastCheckpoint } from './make-date.ts';
import { type BackfillSource, listStormDate } from './storm-date-files.ts';

/** A date that was made and is about to be published, and the date after it. */
export interface Neighbours {
  readonly storm_date: string;
  readonly source: BackfillSource;
  readonly made: MadeDate;
  /** The date as it is published so far, and the date after it; null where nothing is published. */
  readonly published: Manifest | null;
  readonly next: Manifest | null;
}

/**
 * Adds the date after one that leaves other tracks than before to the tasks, where it is published and goes on from them. Where it
 * cannot be made again, one line of the log says so with the command that mends it. Call it before the date is published: a worker that
 * is killed in between leaves a task too many instead of one too few. `config`: that of the root in which the date was made.
 */
export async function joinNext(
  config: Config,
  { storm_date, source, made, published, next }: Neighbours,
  tasks: Pick<DateTasks, 'add'>,
  log: Log,
): Promise<void> {
  const first = next?.scans[0]?.scan_id;
  const is_joined =
    made.ends_ms !== null && first !== undefined && scanTime(first) - made.ends_ms <= TRACKING_MAX_GAP_MS;
  if (!is_joined || next === null || lastCheckpoint(published)?.sha256 === made.left_as) return;
  const date = addDays(storm_date, 1);
  const reason = await whyNot(config, source, next);
  if (reason === null) return tasks.add([date], source, false);
  const [where, folder] = source.kind === 'dir' ? [' --folder FOLDER', 'dir'] : ['', 'noaa'];
  const command = `hail-pipeline backfill --from ${date} --to ${date} --source ${folder}${where} --again`;
  log.warn('Backfill:Next:Unjoined', { date, reason, command });
}

/** Why a published date cannot be made again as it is; null when it can. */
async function whyNot(config: Config, source: BackfillSource, next: Manifest): Promise<string | null> {
  if (!next.closed) return 'its tracks go on from other ones, and it is not closed yet';
  const { files } = await listStormDate(config, source, next.partition, await readLattice(config.data_root));
  const inputs = new Map(planScans(files).scans.map((scan) => [scan.scan_id, scan.inputs]));
  const lost = next.scans.filter((scan) => inputs.get(scan.scan_id) !== scan.inputs);
  if (lost.length === 0) return null;
  const found = `the source has not the raw files of ${lost.length} of its ${next.scans.length} scans`;
  return `its tracks go on from other ones, and ${found} (${lost[0]?.scan_id} first)`;
}
