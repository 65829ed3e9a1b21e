import { z } from 'zod';
import { MS_PER_HOUR } from './time.ts';

/** What was marked for deletion is deleted after so long. */
export const MARKED_FOR_MS = 24 * MS_PER_HOUR;
/** A clock that is so near to the newest observed scan is right: scans carry the time of their radars. */
const AGREES_WITHIN_MS = 2 * MS_PER_HOUR;
/** The machine may have been off for so long. What is further ahead is a clock that was set wrong, as far as is known. */
const LONGEST_GAP_MS = 7 * 24 * MS_PER_HOUR;
/** So much of such a gap counts as time that has passed, unless scans say so: two wrong steps must not make a day. */
const GAP_COUNTS_MS = 6 * MS_PER_HOUR;

/** What is known of the time, from one sweep to the next. Whoever deletes by age keeps one, and deletes by no other clock. */
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

/** What a look at the clock finds. */
export interface ClockLook {
  /** The machine's clock, epoch milliseconds. */
  readonly wall_ms: number;
  /** How long this process has run since its last look, by the monotonic clock, milliseconds. */
  readonly run_ms: number;
  /** Observation time of the newest observed scan, epoch milliseconds; null: none is known. Not of simulated ones, which follow the clock. */
  readonly newest_scan_ms: number | null;
  /** Time of the newest of what this machine wrote, epoch milliseconds; null: nothing. It counts at the first look alone. */
  readonly newest_own_ms: number | null;
}

/**
 * The clock after a look at it. A machine's clock is followed where the newest observed scan agrees, and where it is no further
 * ahead than a machine may have been off; else only the time that passes while processes run is counted, and a host that boots in
 * the wrong year deletes nothing. Pure.
 */
export function lookAtClock(before: DeletionClock | null, look: ClockLook): DeletionClock {
  const { wall_ms, newest_scan_ms } = look;
  const agrees = newest_scan_ms !== null && Math.abs(wall_ms - newest_scan_ms) <= AGREES_WITHIN_MS;
  if (before === null) return { trusted_ms: firstTrust(look, agrees), passed_ms: 0, wall_ms, marks: {} };
  // Of several processes each counts what the one before it has not: what the clock went on by since, as far as it ran itself.
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

/** The instant up to which things have run out, epoch milliseconds: never later than the machine's clock. */
export function vouchedTime({ trusted_ms, wall_ms }: DeletionClock): number {
  return Math.min(trusted_ms, wall_ms);
}

/** True while the machine's clock is so far ahead that it is not believed, and nothing is deleted by it. */
export function isDoubted({ trusted_ms, wall_ms }: DeletionClock): boolean {
  return wall_ms - trusted_ms > LONGEST_GAP_MS;
}

/** The instant it is as far as is known, where the machine's clock says `wall_ms`: what is vouched for while that is not believed. */
export function believedTime(clock: DeletionClock, wall_ms: number): number {
  return isDoubted({ ...clock, wall_ms }) ? clock.trusted_ms : wall_ms;
}

/** What may be deleted now, epoch milliseconds, null: nothing; and the clock after that was asked. */
export interface DueForDeletion {
  readonly clock: DeletionClock;
  readonly until_ms: number | null;
}

/**
 * What of a kind may be deleted: that which had run out at `until_ms`, epoch milliseconds, and was marked a day ago; null: nothing
 * may. What has run out now is marked where nothing is. A mark that the clock has gone back behind was wrong, and is made anew.
 */
export function dueForDeletion(clock: DeletionClock, kind: string): DueForDeletion {
  const mark = clock.marks[kind];
  if (mark === undefined || mark.until_ms > vouchedTime(clock))
    return { clock: markForDeletion(clock, kind), until_ms: null };
  return { clock, until_ms: clock.passed_ms - mark.passed_ms < MARKED_FOR_MS ? null : mark.until_ms };
}

/** The clock with a new mark for a kind, once all that the last one was for is deleted. */
export function markForDeletion(clock: DeletionClock, kind: string): DeletionClock {
  const mark = { until_ms: vouchedTime(clock), passed_ms: clock.passed_ms };
  return { ...clock, marks: { ...clock.marks, [kind]: mark } };
}

/** Most items that one sweep deletes of `count`, at least one: an operator sees a mistake before everything is gone. */
export function shareOfSweep(count: number): number {
  return Math.max(1, Math.ceil(count * SHARE_OF_SWEEP));
}

const SHARE_OF_SWEEP = 0.05;
