import type { Root } from '../publish/root.ts';
import type { SourceFile } from '../sources/names.ts';
import { finishDates } from './finish-dates.ts';
import { ingestFiles, type RunSummary } from './ingest-run.ts';
import { provenanceOfScans, type SessionSettings, scansByDate } from './raw-archive.ts';
import type { ReadPool } from './read-pool.ts';
import type { Arrived, Context } from './run.ts';
import { emptyTrackingState } from './tracking-state.ts';

/** Publishes raw files in a data root: plans, reads ahead, processes in order, publishes. */
export interface Session {
  /**
   * Brings the root up to date with these files and everything kept before. While scans are made again and files put aside,
   * `arrived` is called for files that came since: new scans among them are published at once, before late ones.
   */
  readonly ingest: (files: readonly SourceFile[], arrived?: Arrived) => Promise<RunSummary>;
  /** Makes every scan of a storm date again from the raw files that were kept. */
  readonly rebuild: (storm_date: string) => Promise<RunSummary>;
  /** Takes data of the other provenance off the storm dates of these files, so that they can take their place. */
  readonly replace: (files: readonly SourceFile[]) => Promise<string[]>;
  /** Takes the archives of reflectivity off the lists that are older than they are kept. Returns how many. */
  readonly expireReflectivity: () => Promise<number>;
  /**
   * Draws what follows from whole dates, joins finished hours, and turns dates that are over into day files. Stops between
   * two of them when `isPressed` returns true because something else is more urgent; true when nothing is left.
   */
  readonly finishDates: (isPressed?: () => boolean) => Promise<boolean>;
}

/** Opens a session on a root; one at a time. */
export function openSession(root: Root, readPool: ReadPool, settings: SessionSettings): Session {
  const context: Context = {
    root,
    readPool,
    settings,
    archived: new Map(),
    provenances: new Map(),
    mixed: new Set(),
    reported: new Set<string>(),
    tracking: emptyTrackingState,
    terrain: undefined,
  };
  return {
    ingest: (files, arrived = () => []) => ingestFiles(context, files, { rebuild: null, arrived }),
    rebuild: (storm_date) => ingestFiles(context, [], { rebuild: storm_date, arrived: () => [] }),
    replace: (files) => replaceOtherProvenance(context, files),
    expireReflectivity: () => root.expireReflectivity(settings.reflectivity_keep_hours, settings.now()),
    finishDates: (isPressed = () => false) => finishDates(context, isPressed),
  };
}

async function replaceOtherProvenance(context: Context, files: readonly SourceFile[]): Promise<string[]> {
  const { root, settings } = context;
  const cleared: string[] = [];
  for (const [date, scans] of scansByDate(context, files)) {
    const provenance = await provenanceOfScans(context.readPool, scans);
    const head = root.heads.get(date);
    if (provenance === null || head === undefined || head.scan_count === 0 || head.provenance === provenance) continue;
    await root.clear(date, settings.now());
    context.provenances.set(date, provenance);
    cleared.push(date);
  }
  return cleared;
}
