import { layout } from '../../schemas/layout.ts';
import { detections } from '../../schemas/tables/detections.ts';
import { type Score, scores } from '../../schemas/tables/scores.ts';
import { type TrackPoint, tracks } from '../../schemas/tables/tracks.ts';
import { scanTime } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { NotFound, PipelineError } from '../error.ts';
import type { StagedFile } from '../publish/commit.ts';
import { SCORE_SEGMENT } from '../publish/day-products.ts';
import { tablePaths } from '../publish/manifests.ts';
import { openRoot } from '../publish/root.ts';
import { stageTable } from '../publish/stage.ts';
import { readRows } from '../publish/tables.ts';
import { dayScores, type ScoredDay } from '../train/day-scores.ts';

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
export async function scoreDate(config: Config, storm_date: string): Promise<ScoreReport> {
  const { data_root, storm_day_start_hour, now } = config;
  const root = await openRoot(data_root, 'hail-pipeline score', storm_day_start_hour, now());
  try {
    const manifest = await root.manifest(storm_date);
    if (manifest === null || manifest.scans.length === 0)
      throw new NotFound('score', storm_date, 'has no published scans, expected a date with some');
    if (manifest.source === 'mixed')
      throw new PipelineError('score', storm_date, 'is of mixed provenance, expected one of a single one');
    const paths = (table: string) => tablePaths(root.path, manifest, table);
    const found = dayScores({
      storm_date,
      source: manifest.source,
      scan_times: manifest.scans.map(({ scan_id }) => scanTime(scan_id)).sort((a, b) => a - b),
      tracks: await readRows<TrackPoint>(root.engine, tracks, paths('tracks')),
      detections: await readRows<ScoredDay['detections'][number]>(root.engine, detections, paths('detections')),
    });
    const publish = (files: readonly StagedFile[]) =>
      root.publishFiles(storm_date, manifest.source, [SCORE_SEGMENT], files, manifest.closed, now());
    if (found.length === 0) {
      const changed = manifest.files.some(({ segment }) => segment === SCORE_SEGMENT);
      if (changed) await publish([]);
      return { storm_date, scores: found, path: null, changed };
    }
    const [first, last] = [manifest.scans[0], manifest.scans.at(-1)];
    const covers = {
      segment: SCORE_SEGMENT,
      first_scan: first?.scan_id ?? null,
      last_scan: last?.scan_id ?? null,
    };
    const destination = { folder: layout.table(scores.name, storm_date), stem: 'day' };
    const staged = await stageTable(
      root.engine,
      root.staging,
      scores,
      { rows: found },
      manifest.source,
      destination,
      covers,
    );
    const { path } = staged.entry;
    if (manifest.files.some((file) => file.path === path)) return { storm_date, scores: found, path, changed: false };
    await publish([staged]);
    return { storm_date, scores: found, path, changed: true };
  } finally {
    await root.close();
  }
}
