import type { CommittedScan } from '../schemas/manifest.ts';
import { scanTime, stormDate } from '../schemas/time.ts';
import { PipelineError } from './error.ts';
import { planRun, type RunPlan, type ScanPlan } from './sources/plan.ts';

/** After a gap this long nothing that the stages remember matters any more: scans beyond it stand on their own. */
export const MEMORY_MAX_GAP_MS = 30 * 60_000;

/** Scans of one hour of one storm date, to be published as one segment. */
export type HourOfScans = readonly ScanPlan[];

/** A published segment that must be made again, with whatever is new in its time. */
export interface Redo {
  readonly replaces: readonly CommittedScan[];
  readonly hours: readonly HourOfScans[];
}

/** What a run has to do with one stretch of scans that depend on each other. */
export interface Chain {
  /** In order of time; readers see all of them or none. */
  readonly redo: readonly Redo[];
  /** Scans after everything published. */
  readonly append: readonly HourOfScans[];
  /** Last published time at which something is new or made from other files; after it a redo may find all as it was. */
  readonly last_changed: string;
}

/**
 * Plans every stretch of scans on its own. Stretches are parted by gaps of more than 30 minutes that no segment bridges,
 * so that a late scan of one never touches another. Stretches without work are left out.
 * A stretch in which a published scan that must be made again has lost its raw files goes to `onLoss`, with what is new or
 * changed in it; unless that throws, what is published of the stretch stays as it is and what follows it is appended.
 */
export function planChains(
  scans: readonly ScanPlan[],
  committed: readonly CommittedScan[],
  storm_day_start_hour: number,
  onLoss: (fault: PipelineError, changed: readonly ScanPlan[]) => void = (fault) => {
    throw fault;
  },
): Chain[] {
  const plans = new Map(scans.map((scan) => [scan.scan_id, scan]));
  const published = new Map(committed.map((scan) => [scan.scan_id, scan]));
  const ids = [...new Set([...plans.keys(), ...published.keys()])].sort();
  return stretches(ids, published).flatMap((stretch): Chain[] => {
    const own = stretch.flatMap((id) => plans.get(id) ?? []);
    const listed = stretch.flatMap((id) => published.get(id) ?? []);
    const changed = own.filter((scan) => published.get(scan.scan_id)?.inputs !== scan.inputs);
    if (changed.length === 0) return [];
    const lastListed = listed.at(-1)?.scan_id ?? '';
    const isNew = ({ scan_id }: ScanPlan) => scan_id > lastListed;
    const planned = planStretch(own, listed);
    if (planned instanceof PipelineError) {
      onLoss(
        planned,
        changed.filter((scan) => !isNew(scan)),
      );
      return [{ redo: [], append: hoursOf(own.filter(isNew), storm_day_start_hour), last_changed: '' }];
    }
    const { run, drop_segments } = planned;
    const segments = drop_segments.map((segment) => listed.filter((scan) => scan.segment === segment));
    const redo = segments.map((replaces, index): Redo => {
      const after = segments[index - 1]?.at(-1)?.scan_id ?? '';
      const last = replaces.at(-1)?.scan_id ?? '';
      const own = run.filter(({ scan_id }) => scan_id > after && scan_id <= last);
      return { replaces, hours: hoursOf(own, storm_day_start_hour) };
    });
    return [
      {
        redo,
        append: hoursOf(run.filter(isNew), storm_day_start_hour),
        last_changed: changed.findLast(({ scan_id }) => scan_id <= lastListed)?.scan_id ?? '',
      },
    ];
  });
}

/** What a run has to do in a stretch, or why published scans of it cannot be made again. */
function planStretch(scans: readonly ScanPlan[], committed: readonly CommittedScan[]): RunPlan | PipelineError {
  try {
    return planRun(scans, committed);
  } catch (error) {
    if (error instanceof PipelineError) return error;
    throw error;
  }
}

function stretches(ids: readonly string[], published: ReadonlyMap<string, CommittedScan>): string[][] {
  const lastOf = new Map<string, string>();
  for (const { segment, scan_id } of published.values()) {
    if (scan_id > (lastOf.get(segment) ?? '')) lastOf.set(segment, scan_id);
  }
  const found: string[][] = [];
  let previous_ms = Number.NEGATIVE_INFINITY;
  let reach = ''; // last scan of the segments that the stretch has entered
  for (const id of ids) {
    const time_ms = scanTime(id);
    if (time_ms - previous_ms > MEMORY_MAX_GAP_MS && id > reach) found.push([]);
    found.at(-1)?.push(id);
    const end = lastOf.get(published.get(id)?.segment ?? '') ?? id;
    if (end > reach) reach = end;
    previous_ms = time_ms;
  }
  return found;
}

function hoursOf(scans: readonly ScanPlan[], storm_day_start_hour: number): HourOfScans[] {
  const hour = ({ scan_id, scan_time }: ScanPlan) =>
    `${stormDate(scan_time, storm_day_start_hour)} ${scan_id.slice(0, 'YYYYMMDDTHH'.length)}`;
  return [...Map.groupBy(scans, hour).values()];
}
