import { MS_PER_DAY } from '../../schemas/time.ts';
import { BadInput, type PipelineError } from '../error.ts';
import { filesOf, type ScanPlan } from '../sources/plan.ts';
import { isArchived, postpone } from './raw-archive.ts';
import type { Context, Run } from './run.ts';

/** Leaves a scan out of the run that came late for published scans whose raw files are gone: for good, or for a later run. */
export function leaveOutLate(run: Run, scan: ScanPlan, loss: PipelineError): void {
  if (isSwept(run.context, scan)) dropLate(run, scan, loss);
  else postponeLate(run, [scan], loss);
}

/** True for a scan so old that raw files of its time have been deleted by their age: what it changes can never be made again. */
function isSwept({ settings: { raw_keep_days, now } }: Context, { scan_time }: ScanPlan): boolean {
  return raw_keep_days !== null && now() - scan_time > raw_keep_days * MS_PER_DAY;
}

/** Leaves a late scan out of the run for good: its own files are put aside at the end. */
function dropLate({ context, pile, unusable }: Run, scan: ScanPlan, { stage, subject, reason }: PipelineError): void {
  for (const file of filesOf(scan))
    if (pile.has(file) && !isArchived(context.root, file)) {
      pile.remove(file);
      unusable.push({ file, fault: new BadInput(stage, file.location, `${subject} ${reason}`) });
    }
}

/** Leaves the files of scans that are late for a time at which what is published can be made again. */
export function postponeLate({ context, pile, tally }: Run, scans: readonly ScanPlan[], fault: PipelineError): void {
  const reason = `what it changes cannot be made again: ${fault.message}`;
  const waiting = new Set(tally.postponed.map(({ location }) => location));
  for (const file of new Set(scans.flatMap(filesOf)))
    if (pile.has(file) && !isArchived(context.root, file) && !waiting.has(file.location))
      postpone(context, file, { stage: 'plan', reason }, tally.postponed);
}
