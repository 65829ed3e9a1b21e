import type { Blockage } from '../../schemas/geo/blockage.ts';
import { MS_PER_DAY } from '../../schemas/time.ts';
import { BadInput, type PipelineError } from '../error.ts';
import type { SourceFile } from '../sources/names.ts';
import { type FileIndex, filesOf, type ScanPlan } from '../sources/plan.ts';
import {
  type Deferred,
  deferFile,
  deferUnreadable,
  isArchived,
  type PlanContext,
  type RawArchive,
  type Rejected,
} from './raw-archive.ts';
import type { FileFault, ReadAhead } from './read-ahead.ts';
import type { LateScan } from './run-plan.ts';
import type { TrackingState } from './tracking-state.ts';

/** State that a session keeps from run to run. */
export interface Context extends RawArchive {
  /** State after the scan that was processed last. */
  tracking: TrackingState;
  /** Terrain blockage, read with the first scan; it does not change while a session holds the root. */
  terrain: Blockage | null | undefined;
}

/** Returns the files that arrived since the last call, without waiting. */
export type TakeArrivals = () => readonly SourceFile[];

export interface Tally {
  scans: number;
  redone: number;
  detections: number;
  cells: number;
  /** Scans that were processed or found unusable. */
  readonly done: Set<string>;
  /** Number of scans that the run expects to process. */
  all: number;
  readonly rejected: Rejected;
  readonly deferred: Deferred[];
  readonly dates: Set<string>;
}

export interface Run {
  readonly context: Context;
  /** Storm date whose scans are all made again. */
  readonly rebuild: string | null;
  readonly takeArrivals: TakeArrivals;
  /** Files to plan from. */
  readonly index: FileIndex;
  readonly readAhead: ReadAhead;
  readonly given: SourceFile[];
  /** Given files that are worth planning with; those that correct an archived one are marked. */
  readonly accepted: SourceFile[];
  /** Files to reject once every scan that can be made is published. */
  readonly unusable: { readonly file: SourceFile; readonly stage: string; readonly reason: string }[];
  readonly tally: Tally;
  /** True while published scans are made again. */
  redoing: boolean;
}

/** True once the run has to end at the next commit. */
export function isStopped({ context }: Run): boolean {
  return context.settings.signal?.aborted === true;
}

/**
 * Leaves a file at fault out of the run: a bad one is rejected at the end, an unreadable one is deferred. Throws the fault of
 * an unreadable archived file while scans are made again: a published scan is not replaced by one made from fewer files.
 */
export function dropFile({ context, index, redoing, unusable, tally }: Run, { file, fault }: FileFault): void {
  if (fault instanceof BadInput) unusable.push({ file, stage: fault.stage, reason: fault.reason });
  else if (redoing && isArchived(context.root, file)) throw fault;
  else deferUnreadable(context, file, fault, tally.deferred);
  index.remove(file);
}

/** Leaves a late scan out of the run: its files are rejected when raw files of its time were deleted by age, else deferred. */
export function leaveOutLate(run: Run, { scan, loss }: LateScan): void {
  const { context, index, unusable } = run;
  if (!isExpired(context, scan)) {
    deferLate(run, [scan], loss);
    return;
  }
  for (const file of filesOf(scan))
    if (index.has(file) && !isArchived(context.root, file)) {
      index.remove(file);
      unusable.push({ file, stage: loss.stage, reason: `${loss.subject} ${loss.reason}` });
    }
}

/** True for a scan so old that raw files of its time have been deleted: the scans after it can never be made again. */
export function isExpired({ settings }: PlanContext, { scan_time }: ScanPlan): boolean {
  const { raw_keep_days, now } = settings;
  return raw_keep_days !== null && now() - scan_time > raw_keep_days * MS_PER_DAY;
}

/** Defers the files of late scans to a time at which the published scans after them can be made again. */
export function deferLate({ context, index, tally }: Run, scans: readonly ScanPlan[], fault: PipelineError): void {
  const reason = lateReason(fault);
  const deferred = new Set(tally.deferred.map(({ location }) => location));
  for (const file of new Set(scans.flatMap(filesOf)))
    if (index.has(file) && !isArchived(context.root, file) && !deferred.has(file.location))
      deferFile(context, file, { stage: 'plan', reason }, tally.deferred);
}

/** Reason that the files of a late scan are deferred with. */
export function lateReason(fault: PipelineError): string {
  return `what it changes cannot be made again: ${fault.message}`;
}
