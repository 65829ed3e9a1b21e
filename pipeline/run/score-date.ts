import { layout } from '../../schemas/layout.ts';
import { detections, type TrackPoint, tracks } from '../../schemas/tables/radar.ts';
import { type Score, scores } from '../../schemas/tables/scores.ts';
import { scanTime } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { NotFound, PipelineError } from '../error.ts';
import type { StagedFile } from '../publish/commit.ts';
import { SCORE_SEGMENT } from '../publish/day-products.ts';
import { tablePaths } from '../publish/manifests.ts';
import { stageTable } from '../publish/stage.ts';
import { readRows } from '../publish/tables.ts';
import { dayScores, type ScoredDay } from '../train/day-scores.ts';
import { withRoot } from './with-root.ts';

/** JSON output of `score --json`. */
export interface ScoreReport {
  readonly storm_date: string;
  readonly scores: readonly Score[];
  /** Path of the published table; null when there was nothing to score. */
  readonly path: string | null;
  /** False when the same scores were already published. */
  readonly changed: boolean;
}

/** Scores a storm date from its published tables and publishes the scores in place of earlier ones. */
export function scoreDate(config: Config, storm_date: string): Promise<ScoreReport> {
  return withRoot(config, 'score', async (root) => {
    const manifest = await root.manifest(storm_date);
    if (manifest === null || manifest.scans.length === 0)
      throw new NotFound('score', storm_date, 'has no published scans, expected a date with some');
    const { source, scans, files } = manifest;
    if (source === 'mixed')
      throw new PipelineError('score', storm_date, 'is of mixed provenance, expected one of a single one');
    const paths = (table: string) => tablePaths(root.path, manifest, table);
    const rows = dayScores({
      storm_date,
      source,
      lattice: root.lattice,
      scan_times: scans.map(({ scan_id }) => scanTime(scan_id)).sort((a, b) => a - b),
      tracks: await readRows<TrackPoint>(root.engine, tracks, paths('tracks')),
      detections: await readRows<ScoredDay['detections'][number]>(root.engine, detections, paths('detections')),
    });
    const publish = (staged: readonly StagedFile[]) =>
      root.publishFiles(storm_date, source, [SCORE_SEGMENT], staged, manifest.closed, config.now());
    if (rows.length === 0) {
      const changed = files.some(({ segment }) => segment === SCORE_SEGMENT);
      if (changed) await publish([]);
      return { storm_date, scores: rows, path: null, changed };
    }
    const [first_scan = null, last_scan = null] = [scans[0]?.scan_id, scans.at(-1)?.scan_id];
    const covers = { segment: SCORE_SEGMENT, first_scan, last_scan };
    const destination = { folder: layout.table(scores.name, storm_date), stem: 'day' };
    const staged = await stageTable(root.engine, root.staging, scores, { rows }, source, destination, covers);
    const { path } = staged.entry;
    const changed = !files.some((file) => file.path === path);
    if (changed) await publish([staged]);
    return { storm_date, scores: rows, path, changed };
  });
}
