import type { CommittedScan } from '../../schemas/manifest.ts';
import { scanTime, stormDate } from '../../schemas/time.ts';
import { LostInputs, planRun, type RunPlan, type ScanPlan } from '../sources/plan.ts';
import { TRACKING_MAX_GAP_MS } from './tracking-state.ts';

/** Scans of one hour of one storm date, to be published as one segment. */
export type HourOfScans = readonly ScanPlan[];

/** A published segment that must be made again, with whatever is new in its time. */
export interface Redo {
  readonly replaces: readonly CommittedScan[];
  readonly hours: readonly HourOfScans[];
}

/** What a run has to do with one stretch of scans that depend on each other. */
export interface StretchPlan {
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
 * A scan that came late or changed, for which published scans would have to be made again whose raw files are gone, is passed
 * to `onLoss` and left out: what is published stays, and the rest is planned without it.
 */
export function planStretches(
  scans: readonly ScanPlan[],
  committed: readonly CommittedScan[],
  storm_day_start_hour: number,
  onLoss: (scan: ScanPlan, loss: LostInputs) => void,
): StretchPlan[] {
  const plans = new Map(scans.map((scan) => [scan.scan_id, scan]));
  const published = new Map(committed.map((scan) => [scan.scan_id, scan]));
  const ids = [...new Set([...plans.keys(), ...published.keys()])].sort();
  return stretches(ids, published).flatMap((stretch): StretchPlan[] => {
    const listed = stretch.flatMap((id) => published.get(id) ?? []);
    const isChanged = (scan: ScanPlan) => published.get(scan.scan_id)?.inputs !== scan.inputs;
    let own = stretch.flatMap((id) => plans.get(id) ?? []);
    let planned = planUnlessLost(own, listed);
    while (planned instanceof LostInputs) {
      // The first one causes the longest redo.
      const first = own.find(isChanged);
      if (first === undefined) throw planned;
      onLoss(first, planned);
      own = own.filter((scan) => scan !== first);
      planned = planUnlessLost(own, listed);
    }
    const changed = own.filter(isChanged);
    if (changed.length === 0) return [];
    const { run, drop_segments } = planned;
    const segments = drop_segments.map((segment) => listed.filter((scan) => scan.segment === segment));
    const lastListed = listed.at(-1)?.scan_id ?? '';
    const redo = segments.map((replaces, index): Redo => {
      const after = segments[index - 1]?.at(-1)?.scan_id ?? '';
      const last = replaces.at(-1)?.scan_id ?? '';
      const own = run.filter(({ scan_id }) => scan_id > after && scan_id <= last);
      return { replaces, hours: hoursOf(own, storm_day_start_hour) };
    });
    return [
      {
        redo,
        append: hoursOf(
          run.filter(({ scan_id }) => scan_id > lastListed),
          storm_day_start_hour,
        ),
        last_changed: changed.findLast(({ scan_id }) => scan_id <= lastListed)?.scan_id ?? '',
      },
    ];
  });
}

/** All scans of a stretch that there is work with. */
export function scansOf(stretch: StretchPlan): ScanPlan[] {
  return [...stretch.redo.flatMap((redo) => redo.hours), ...stretch.append].flat();
}

function planUnlessLost(own: readonly ScanPlan[], listed: readonly CommittedScan[]): RunPlan | LostInputs {
  try {
    return planRun(own, listed);
  } catch (error) {
    if (error instanceof LostInputs) return error;
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
    if (time_ms - previous_ms > TRACKING_MAX_GAP_MS && id > reach) found.push([]);
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
