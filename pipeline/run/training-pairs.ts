import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { type GroundReport, groundReports } from '../../schemas/tables/feeds.ts';
import {
  type Cell,
  cells,
  type ProbSevereObject,
  probsevere,
  type TrackPoint,
  tracks,
} from '../../schemas/tables/radar.ts';
import { openEngine } from '../duckdb.ts';
import { listPartitions, readNewest, tablePaths } from '../publish/manifests.ts';
import { requireReadableRoot } from '../publish/root-name.ts';
import { readRows } from '../publish/tables.ts';
import { type ReportPair, reportPairs } from '../train/report-pairs.ts';
import { publishedSamples } from '../train/samples.ts';
import type { TrainingSample } from '../train/train-model.ts';

/** Training pairs of radar and truth in the published tables. Simulated dates are counted and left out. */
export interface PublishedTrainingPairs {
  /** Observed storm dates that were read. */
  readonly dates: readonly string[];
  readonly simulated_dates: number;
  readonly samples: readonly TrainingSample[];
  /** Null when no ground report is published. */
  readonly report_pairs: readonly ReportPair[] | null;
}

/** Training pairs of a data root, which is only read. */
export async function publishedTrainingPairs(data_root: string): Promise<PublishedTrainingPairs> {
  await requireReadableRoot(data_root);
  const engine = await openEngine();
  try {
    const reported = await readNewest(data_root, layout.collectionPartition('reports'));
    const files = (reported?.files ?? []).filter(({ table }) => table === groundReports.name);
    const all = await readRows<GroundReport>(
      engine,
      groundReports,
      files.map(({ path }) => join(data_root, path)),
    );
    const reports = Map.groupBy(
      all.filter(({ data_source }) => data_source === 'observed'),
      ({ storm_date }) => storm_date,
    );
    const dates: string[] = [];
    const samples: TrainingSample[] = [];
    const pairs: ReportPair[] = [];
    let simulated_dates = 0;
    for (const date of (await listPartitions(data_root)).dates) {
      const manifest = await readNewest(data_root, date);
      if (manifest === null || manifest.scans.length === 0) continue;
      if (manifest.source !== 'observed') {
        simulated_dates++;
        continue;
      }
      dates.push(date);
      const paths = (table: string) => tablePaths(data_root, manifest, table);
      const points = await readRows<TrackPoint>(engine, tracks, paths(tracks.name), "state = 'tracked'");
      const objects = await readRows<ProbSevereObject>(engine, probsevere, paths(probsevere.name));
      samples.push(...publishedSamples(await readRows<Cell>(engine, cells, paths(cells.name)), objects, points));
      pairs.push(...reportPairs(reports.get(date) ?? [], points));
    }
    return { dates, simulated_dates, samples, report_pairs: files.length === 0 ? null : pairs };
  } finally {
    engine.close();
  }
}
