import type { CommittedScan } from '../../schemas/manifest.ts';
import { scanTime } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { filesOf, type ScanPlan } from '../sources/plan.ts';
import { TRACKING_MAX_GAP_MS } from './state.ts';

/** Work of a run, as plain data. */
export interface Work {
  /** New scans after everything published that depends on them, by time. */
  readonly append: readonly ScanPlan[];
  /** One entry for each dirty storm date, by date. */
  readonly redo: readonly Redo[];
  /** New or changed scans that would change published scans whose raw files are gone. */
  readonly late: readonly { readonly scan: ScanPlan; readonly loss: PipelineError }[];
}

/** The rest of a dirty date from its first changed scan on, then the dates that follow while their first state changes. */
export type Redo = readonly RestOfDate[];

/** Published scans of one date to replace, and the scans that replace them. */
interface RestOfDate {
  readonly storm_date: string;
  readonly replaces: readonly CommittedScan[];
  readonly scans: readonly ScanPlan[];
}

/** Scans of one storm date that can be made, and its published ones. */
interface DateScans {
  readonly storm_date: string;
  readonly plans: readonly ScanPlan[];
  readonly published: readonly CommittedScan[];
}

/**
 * Work of a run, given the scans that can be made (by time) and those that are published. A scan after everything published
 * is appended. A new or changed scan before a published one makes its date dirty from its time. `rebuild` makes a whole date dirty.
 */
export function planWork(
  scans: readonly ScanPlan[],
  committed: readonly CommittedScan[],
  dateOf: (scan_id: string) => string,
  rebuild: string | null = null,
): Work {
  const inputs = new Map(committed.map((scan) => [scan.scan_id, scan.inputs]));
  const isChanged = (scan: ScanPlan) =>
    inputs.get(scan.scan_id) !== scan.inputs ||
    filesOf(scan).some(({ precedence }) => precedence === 1) ||
    dateOf(scan.scan_id) === rebuild;
  const planned = new Set(scans.map(({ scan_id }) => scan_id));
  const work = { append: [] as ScanPlan[], redo: [] as Redo[], late: [] as Work['late'][number][] };
  for (const chain of chainsOf(scans, committed, dateOf)) {
    const published = chain.flatMap((date) => date.published.map(({ scan_id }) => scan_id));
    const last = published.at(-1) ?? '';
    const lost = published.findLast((scan_id) => !planned.has(scan_id)) ?? '';
    for (const [index, date] of chain.entries()) {
      const changed = date.plans.filter(isChanged);
      work.append.push(...changed.filter(({ scan_id }) => scan_id > last));
      const before = changed.filter(({ scan_id }) => scan_id <= last);
      const isLate = (scan: ScanPlan) => startOf(date, scan.scan_id) <= lost;
      work.late.push(...before.filter(isLate).map((scan) => ({ scan, loss: lossOf(scan, lost) })));
      const first = before.find((scan) => !isLate(scan));
      if (first === undefined) continue;
      const following = chain.slice(index + 1).map((next) => restOf(next, '', last));
      const rest = restOf(date, startOf(date, first.scan_id), last);
      work.redo.push([rest, ...following.filter((next) => next.scans.length > 0)]);
    }
  }
  return work;
}

/** Storm dates by time, in chains whose scans depend on each other: a gap of more than 30 minutes between two dates ends a chain. */
function chainsOf(
  scans: readonly ScanPlan[],
  committed: readonly CommittedScan[],
  dateOf: (scan_id: string) => string,
): DateScans[][] {
  const plans = Map.groupBy(scans, ({ scan_id }) => dateOf(scan_id));
  const published = Map.groupBy(committed, ({ scan_id }) => dateOf(scan_id));
  const chains: DateScans[][] = [];
  let before_ms = Number.NEGATIVE_INFINITY;
  for (const storm_date of [...new Set([...plans.keys(), ...published.keys()])].sort()) {
    const date = { storm_date, plans: plans.get(storm_date) ?? [], published: published.get(storm_date) ?? [] };
    const times = [...date.plans, ...date.published].map(({ scan_id }) => scanTime(scan_id));
    if (Math.min(...times) - before_ms > TRACKING_MAX_GAP_MS) chains.push([]);
    chains.at(-1)?.push(date);
    before_ms = Math.max(...times);
  }
  return chains;
}

/** First scan that is made again for one of a date: segments are replaced whole. */
function startOf({ published }: DateScans, scan_id: string): string {
  const segment = published.find((scan) => scan.scan_id >= scan_id)?.segment;
  const first = published.find((scan) => scan.segment === segment)?.scan_id ?? scan_id;
  return first < scan_id ? first : scan_id;
}

/** Scans of a date from one to another. */
function restOf({ storm_date, plans, published }: DateScans, from: string, to: string): RestOfDate {
  return {
    storm_date,
    replaces: published.filter(({ scan_id }) => scan_id >= from),
    scans: plans.filter(({ scan_id }) => scan_id >= from && scan_id <= to),
  };
}

function lossOf({ scan_id }: ScanPlan, lost: string): PipelineError {
  const reason = `must be made again for ${scan_id}, but its raw files are gone, expected them in the archive`;
  return new PipelineError('sources', lost, reason);
}
