import type { CommittedScan } from '../../schemas/manifest.ts';
import { scanTime, stormDate } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import type { ScanPlan } from '../sources/plan.ts';
import { TRACKING_MAX_GAP_MS } from './tracking-state.ts';

/** Scans of one hour of one storm date, to be published as one segment. */
export type HourOfScans = readonly ScanPlan[];

/** A published segment that must be made again, together with new scans of its time. */
export interface Redo {
  readonly replaces: readonly CommittedScan[];
  readonly hours: readonly HourOfScans[];
}

/** Work of a run on one stretch of scans that depend on each other. */
export interface StretchPlan {
  /** In order of time; readers see all of them or none. */
  readonly redo: readonly Redo[];
  /** Scans after everything published. */
  readonly append: readonly HourOfScans[];
  /** Last published time at which a scan is new or made from other files; after it a redo may end early. */
  readonly last_changed: string;
}

/** A scan that came late or changed and cannot be made: it would change published scans whose raw files are gone. */
export interface LateScan {
  readonly scan: ScanPlan;
  readonly loss: PipelineError;
}

/** Work of a run, as plain data: `hail-pipeline ingest --plan` prints it. */
export interface RunPlan {
  /** Stretches with work, by time. */
  readonly stretches: readonly StretchPlan[];
  /** Scans left out; the published ones that they would change stay. */
  readonly late: readonly LateScan[];
}

/**
 * Plan of a run, given the scans that can be made (by time) and those that are published.
 * A scan after everything published is appended. A new or changed scan at a published time makes every segment that ends at
 * or after it again, because tracks depend on the scans before. Stretches are planned separately: they are parted by gaps of
 * more than 30 minutes that no segment bridges, so that a late scan of one never changes another.
 */
export function planRun(
  scans: readonly ScanPlan[],
  committed: readonly CommittedScan[],
  storm_day_start_hour: number,
): RunPlan {
  const plans = new Map(scans.map((scan) => [scan.scan_id, scan]));
  const published = new Map(committed.map((scan) => [scan.scan_id, scan]));
  const ids = [...new Set([...plans.keys(), ...published.keys()])].sort();
  const late: LateScan[] = [];
  const planned = stretchesOf(ids, published).flatMap((stretch) => {
    const listed = stretch.flatMap((id) => published.get(id) ?? []);
    let own = stretch.flatMap((id) => plans.get(id) ?? []);
    let plan = planStretch(own, listed, storm_day_start_hour);
    while (plan !== null && 'loss' in plan) {
      const { scan } = plan;
      late.push(plan);
      own = own.filter((one) => one !== scan);
      plan = planStretch(own, listed, storm_day_start_hour);
    }
    return plan ?? [];
  });
  return { stretches: planned, late };
}

/** All scans that a stretch has work with. */
export function scansOf(stretch: StretchPlan): ScanPlan[] {
  return [...stretch.redo.flatMap((redo) => redo.hours), ...stretch.append].flat();
}

/** A scan of a plan with its status. */
export interface PlannedScan {
  /** Number of its stretch, from 1. */
  readonly stretch: number;
  readonly scan: ScanPlan;
  readonly status: 'new' | 'redo';
  /** Why it is made in this place or made again; null for a scan after everything published. */
  readonly reason: string | null;
}

/** Scans of a plan in order, with the reason of each. */
export function plannedScans({ stretches }: RunPlan, committed: readonly CommittedScan[]): PlannedScan[] {
  const published = new Map(committed.map(({ scan_id, inputs }) => [scan_id, inputs]));
  return stretches.flatMap((stretch, index) => {
    const isChanged = (scan: ScanPlan) => published.get(scan.scan_id) !== scan.inputs;
    const first = scansOf(stretch).find(isChanged)?.scan_id;
    const appended = new Set(stretch.append.flat());
    return scansOf(stretch).map((scan): PlannedScan => {
      const step = { stretch: index + 1, scan };
      if (!published.has(scan.scan_id)) {
        const reason = appended.has(scan) ? null : 'came late: scans after it are published';
        return { ...step, status: 'new', reason };
      }
      if (isChanged(scan)) return { ...step, status: 'redo', reason: 'its files have changed' };
      if (first !== undefined && scan.scan_id < first)
        return { ...step, status: 'redo', reason: `is published in one segment with ${first}` };
      const may_stay = scan.scan_id > stretch.last_changed ? ', unless the tracks come out the same' : '';
      return { ...step, status: 'redo', reason: `follows ${first}${may_stay}` };
    });
  });
}

/** Plan of one stretch; null without work, the first changed scan when published scans after it cannot be made again. */
function planStretch(
  own: readonly ScanPlan[],
  listed: readonly CommittedScan[],
  storm_day_start_hour: number,
): StretchPlan | LateScan | null {
  const inputs = new Map(listed.map((scan) => [scan.scan_id, scan.inputs]));
  const changed = own.filter((scan) => inputs.get(scan.scan_id) !== scan.inputs);
  const first = changed[0];
  if (first === undefined) return null;
  const lastListed = listed.at(-1)?.scan_id ?? '';
  const { from, segments } = segmentsFrom(first.scan_id, listed);
  const loss = segments.length === 0 ? null : lossFrom(from, own, listed);
  if (loss !== null) return { scan: first, loss };
  return {
    redo: segments.map((replaces, index): Redo => {
      const after = segments[index - 1]?.at(-1)?.scan_id ?? '';
      const last = replaces.at(-1)?.scan_id ?? '';
      const within = own.filter(({ scan_id }) => scan_id >= from && scan_id > after && scan_id <= last);
      return { replaces, hours: hoursOf(within, storm_day_start_hour) };
    }),
    append: hoursOf(
      own.filter(({ scan_id }) => scan_id > lastListed),
      storm_day_start_hour,
    ),
    last_changed: changed.findLast(({ scan_id }) => scan_id <= lastListed)?.scan_id ?? '',
  };
}

/** Segments that end at or after a scan, by their first scan, and the earlier of that scan and their first one. */
function segmentsFrom(
  scan_id: string,
  listed: readonly CommittedScan[],
): { from: string; segments: readonly CommittedScan[][] } {
  const segments = [...Map.groupBy(listed, ({ segment }) => segment).values()];
  const ends = segments.map((scans) => ({ scans, first: scans[0]?.scan_id ?? '', last: scans.at(-1)?.scan_id ?? '' }));
  const dropped = new Set<readonly CommittedScan[]>();
  let from = scan_id;
  for (const { scans, first, last } of ends.sort((a, b) => (a.last > b.last ? -1 : 1))) {
    if (last < from) break;
    dropped.add(scans);
    if (first < from) from = first;
  }
  return { from, segments: segments.filter((scans) => dropped.has(scans)) };
}

/** Error that names the published scans from an instant on whose raw files are gone; null when all can be made again. */
function lossFrom(from: string, own: readonly ScanPlan[], listed: readonly CommittedScan[]): PipelineError | null {
  const available = new Set(own.map((scan) => scan.scan_id));
  const lost = listed.map(({ scan_id }) => scan_id).filter((id) => id >= from && !available.has(id));
  if (lost.length === 0) return null;
  const others = lost.length > 1 ? ` (and ${lost.length - 1} more)` : '';
  return new PipelineError(
    'sources',
    `${lost[0]}${others}`,
    `must be made again from ${from} on, but its raw files are gone, expected them in the archive`,
  );
}

function stretchesOf(ids: readonly string[], published: ReadonlyMap<string, CommittedScan>): string[][] {
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
