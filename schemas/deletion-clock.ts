import { z } from 'zod';
import { MS_PER_HOUR } from './time.ts';

/** Time from the mark to the deletion, ms. */
const MARKED_FOR_MS = 24 * MS_PER_HOUR;
/** A clock within this of the newest observed scan is right: scans carry the time of their radars, ms. */
const AGREES_WITHIN_MS = 2 * MS_PER_HOUR;
/** Longest time that the machine is assumed to have been off, ms; a clock that is further ahead counts as wrong. */
const LONGEST_GAP_MS = 7 * 24 * MS_PER_HOUR;
/** Most of such a gap that counts as time passed unless scans confirm it, ms: two wrong steps must not make a day. */
const GAP_COUNTS_MS = 6 * MS_PER_HOUR;

/** Clock for deletion by age, kept from one sweep to the next. Everything that deletes by age uses one, and no other clock. */
export const DeletionClock = z.object({
  trusted_ms: z.number().meta({ description: 'The latest instant that is vouched for, epoch milliseconds.' }),
  passed_ms: z
    .number()
    .meta({ description: 'Time that has passed since the first look, whatever the clock said, ms.' }),
  wall_ms: z.number().meta({ description: "The machine's clock at the last look, epoch milliseconds." }),
  marks: z
    .record(z.string(), z.object({ until_ms: z.number(), passed_ms: z.number() }))
    .meta({ description: 'By kind: what ran out until then is marked for deletion, and since when by `passed_ms`.' }),
});
export type DeletionClock = z.infer<typeof DeletionClock>;

/** Readings for one update of the clock. */
interface ClockLook {
  /** The machine's clock, epoch milliseconds. */
  readonly wall_ms: number;
  /** Run time of this process since its last update, by the monotonic clock, milliseconds. */
  readonly run_ms: number;
  /** Observation time of the newest observed scan, epoch milliseconds; null without any. Simulated scans do not count: they follow the clock. */
  readonly newest_scan_ms: number | null;
  /**
   * Time of the newest file that this machine wrote, epoch milliseconds; null without any. It counts at the first update only.
   */
  readonly newest_own_ms: number | null;
}

/**
 * The clock updated with new readings. The machine's clock is trusted if the newest observed scan agrees with it, or if it is no
 * further
 * ahead than a machine may have been off. Otherwise only the run time of processes counts, so that a host that boots in the wrong
 * year deletes nothing. Pure.
 */
export function lookAtClock(before: DeletionClock | null, look: ClockLook): DeletionClock {
  const { wall_ms, newest_scan_ms } = look;
  const agrees = newest_scan_ms !== null && Math.abs(wall_ms - newest_scan_ms) <= AGREES_WITHIN_MS;
  if (before === null) return { trusted_ms: firstTrust(look, agrees), passed_ms: 0, wall_ms, marks: {} };
  // Several processes share the clock: each counts its own run time, but not more than the clock advanced since the last update.
  const ran_ms = Math.min(Math.max(0, wall_ms - before.wall_ms), look.run_ms);
  const gap_ms = wall_ms - before.trusted_ms - ran_ms;
  const isFollowed = agrees || (gap_ms <= LONGEST_GAP_MS && wall_ms >= before.trusted_ms);
  const counted_ms = isFollowed ? Math.min(Math.max(0, gap_ms), agrees ? LONGEST_GAP_MS : GAP_COUNTS_MS) : 0;
  return {
    trusted_ms: isFollowed ? wall_ms : before.trusted_ms + ran_ms,
    passed_ms: before.passed_ms + ran_ms + counted_ms,
    wall_ms,
    marks: before.marks,
  };
}

function firstTrust({ wall_ms, newest_scan_ms, newest_own_ms }: ClockLook, agrees: boolean): number {
  const newest_ms = Math.max(newest_scan_ms ?? Number.NEGATIVE_INFINITY, newest_own_ms ?? Number.NEGATIVE_INFINITY);
  const isLikely = agrees || newest_ms === Number.NEGATIVE_INFINITY || wall_ms - newest_ms <= LONGEST_GAP_MS;
  return isLikely ? wall_ms : newest_ms;
}

/** The instant up to which ages are counted, epoch milliseconds; never later than the machine's clock. */
export function vouchedTime({ trusted_ms, wall_ms }: DeletionClock): number {
  return Math.min(trusted_ms, wall_ms);
}

/** True while the machine's clock is too far ahead to be trusted; nothing is deleted by it then. */
function isDoubted({ trusted_ms, wall_ms }: DeletionClock): boolean {
  return wall_ms - trusted_ms > LONGEST_GAP_MS;
}

/** Present time for a machine's clock of `wall_ms`: the last trusted time while that clock is not trusted. */
export function believedTime(clock: DeletionClock, wall_ms: number): number {
  return isDoubted({ ...clock, wall_ms }) ? clock.trusted_ms : wall_ms;
}

/**
 * Items of a kind that may be deleted: those that had expired at `until_ms`, epoch milliseconds, and were marked a day ago; null
 * for none; and the clock afterwards. Without a mark, the items that have expired by now are marked. A mark later than the clock is
 * wrong and is replaced.
 */
export function dueForDeletion(clock: DeletionClock, kind: string) {
  const mark = clock.marks[kind];
  if (mark === undefined || mark.until_ms > vouchedTime(clock))
    return { clock: markForDeletion(clock, kind), until_ms: null };
  return { clock, until_ms: clock.passed_ms - mark.passed_ms < MARKED_FOR_MS ? null : mark.until_ms };
}

/** The clock with a new mark for a kind, after all items of the last mark are deleted. */
export function markForDeletion(clock: DeletionClock, kind: string): DeletionClock {
  const mark = { until_ms: vouchedTime(clock), passed_ms: clock.passed_ms };
  return { ...clock, marks: { ...clock.marks, [kind]: mark } };
}

/** Most of `count` items that one sweep deletes, at least one: an operator can notice a mistake before everything is gone. */
export function shareOfSweep(count: number): number {
  return Math.max(1, Math.ceil(count * SHARE_OF_SWEEP));
}

const SHARE_OF_SWEEP = 0.05;
