import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import type { Engine } from '../duckdb.ts';
import { PipelineError } from '../error.ts';
import { replaceFile } from '../files.ts';
import type { Log } from '../log.ts';
import { type Change, commitEdits, type Edit, placeFiles } from './commit.ts';
import type { RetireSnapshots } from './live-snapshots.ts';
import type { StageLive } from './live-window.ts';
import type { Lock } from './lock.ts';
import type { PublishedDates } from './published-dates.ts';
import type { ScanProducts } from './segment.ts';

/** An open data root, as the operations on it see it. */
export interface Publisher {
  readonly path: string;
  readonly staging: string;
  readonly storm_day_start_hour: number;
  readonly lock: Lock;
  readonly engine: Engine;
  readonly dates: PublishedDates;
  readonly stageLive: StageLive;
  readonly retireSnapshots: RetireSnapshots;
  readonly log: Log;
}

/** Publishes changes of partitions together. */
export function commitChanges(
  { path, lock }: Publisher,
  changes: readonly Change[],
  now_ms: number,
): Promise<Manifest[]> {
  return commitEdits(path, changes, now_ms, lock.check);
}

/** Commits edits of storm dates together, then brings the live snapshot up to date and moves the current pointer. */
export async function publishDates(
  publisher: Publisher,
  edits: readonly Edit[],
  now_ms: number,
  fresh: readonly ScanProducts[] = [],
  redone = false,
): Promise<void> {
  await commitDates(publisher, edits, now_ms);
  await moveCurrentPointer(publisher, now_ms, fresh, redone);
}

/** Commits edits of storm dates together; readers of open dates do not see them before the current pointer moves. */
export async function commitDates(publisher: Publisher, edits: readonly Edit[], now_ms: number): Promise<void> {
  const { dates } = publisher;
  const changes: Change[] = [];
  for (const edit of edits) changes.push({ previous: await dates.manifest(edit.partition), edit });
  for (const manifest of await commitChanges(publisher, changes, now_ms)) dates.update(manifest);
}

/** Stages the live snapshot of the committed dates and points readers to it. After a redo all of its rows are read again. */
export async function moveCurrentPointer(
  { path, stageLive, retireSnapshots, lock }: Publisher,
  now_ms: number,
  fresh: readonly ScanProducts[] = [],
  redone = false,
): Promise<void> {
  const staged = await stageLive(fresh, now_ms, redone);
  if (staged === null) return;
  lock.check();
  await placeFiles(path, staged.files);
  await replaceFile(join(path, layout.current), `${JSON.stringify(staged.current, null, 2)}\n`);
  await retireSnapshots(staged.files.map((file) => file.path));
}

/** The newest manifest of a storm date; throws when nothing is published for it. */
export async function publishedManifest({ dates }: Publisher, storm_date: string): Promise<Manifest> {
  const manifest = await dates.manifest(storm_date);
  if (manifest === null)
    throw new PipelineError('publish', storm_date, 'has no published scans, expected a date with some');
  return manifest;
}
