import type { Blockage } from '../../schemas/geo/blockage.ts';
import type { BadInput } from '../error.ts';
import type { SourceFile } from '../sources/names.ts';
import type { FileIndex } from '../sources/plan.ts';
import type { Postponed, RawArchive, Rejected } from './raw-archive.ts';
import type { Reading } from './read-ahead.ts';
import type { TrackingState } from './tracking-state.ts';

/** What a session holds from run to run. */
export interface Context extends RawArchive {
  /** State after the scan that was processed last. */
  tracking: TrackingState;
  /** What terrain blocks, read with the first scan: while a session holds the root nobody replaces it. */
  terrain: Blockage | null | undefined;
}

/** Files that arrived since the last call; never waits for any. */
export type Arrived = () => readonly SourceFile[];

/** Totals of a run so far. */
export interface Tally {
  scans: number;
  redone: number;
  detections: number;
  cells: number;
  /** Scans that were worked on. */
  readonly done: Set<string>;
  /** Scans that the run expects to work on. */
  all: number;
  readonly rejected: Rejected;
  readonly postponed: Postponed[];
  readonly dates: Set<string>;
}

/** A run in progress. */
export interface Run {
  readonly context: Context;
  /** Storm date whose scans are all made again. */
  readonly rebuild: string | null;
  readonly arrived: Arrived;
  readonly pile: FileIndex;
  readonly reading: Reading;
  readonly given: SourceFile[];
  /** Given files that are worth planning with; those that correct an archived one are marked. */
  readonly accepted: SourceFile[];
  /** Files that cannot be used: they are put aside once every scan that can be made is published. */
  readonly unusable: { readonly file: SourceFile; readonly fault: BadInput }[];
  readonly tally: Tally;
  /** True while published scans are made again. */
  redoing: boolean;
}

/** True once the run has to end at the next commit. */
export function isStopped({ context }: Run): boolean {
  return context.settings.signal?.aborted === true;
}
