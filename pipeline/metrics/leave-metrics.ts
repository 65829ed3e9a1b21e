import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { RELEASE } from '../../schemas/release.ts';
import type { Config } from '../config.ts';
import { replaceFile } from '../files.ts';
import type { Log } from '../log.ts';
import { addGauge } from './gauge.ts';
import { createPipelineMetrics, observedLog, PREFIX } from './registry.ts';
import { watchRoot } from './root-state.ts';

/** A command that ends before anyone could scrape it. */
export interface OneRun {
  readonly command: 'ingest' | 'feeds' | 'compact' | 'rebuild';
  readonly log: Log;
}

/** Adds what one run says of itself. */
export function addRunGauges(registry: Registry) {
  return {
    succeeded: addGauge(registry, `${PREFIX}run_success`, '1 where the last run ended well, 0 where it failed.'),
    took: addGauge(registry, `${PREFIX}run_seconds`, 'Duration of the last run.'),
    endedAt: addGauge(registry, `${PREFIX}run_timestamp_seconds`, 'End of the last run.'),
  };
}

/**
 * Result of `work`; leaves what it did and the state of the data root as `hail_pipeline_COMMAND.prom` in the folder of the
 * settings, where one is set, also when the work failed. A file that cannot be written is a warning in the log: the work is done.
 */
export async function leaveMetrics<T>(
  config: Config,
  { command, log }: OneRun,
  work: (log: Log) => Promise<T>,
): Promise<T> {
  const { folder } = config.metrics;
  if (folder === null) return work(log);
  const metrics = createPipelineMetrics(RELEASE, false);
  const { registry } = metrics;
  // Files of several commands lie side by side: no series may stand in two of them.
  registry.setDefaultLabels({ command });
  const { succeeded, took, endedAt } = addRunGauges(registry);
  const refresh = watchRoot(metrics, config, false);
  const begun_ms = performance.now();
  succeeded.set(0);
  try {
    const result = await work(observedLog(log, metrics));
    succeeded.set(1);
    return result;
  } finally {
    took.set((performance.now() - begun_ms) / 1000);
    endedAt.set(Date.now() / 1000);
    const path = join(folder, `hail_pipeline_${command}.prom`);
    try {
      await refresh();
      await mkdir(folder, { recursive: true });
      await replaceFile(path, await registry.metrics());
    } catch (error) {
      log.warn('Metrics:Write:Failed', { file: path, reason: error instanceof Error ? error.message : String(error) });
    }
  }
}
