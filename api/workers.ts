import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { startWatch, watchPartsOf } from './alerts/watch.ts';
import { makeExport } from './jobs/export.ts';
import { makeReport } from './jobs/report.ts';
import { startJobs } from './jobs/run.ts';
import { startRiskWatch } from './legacy/risk-watch.ts';
import type { Services } from './services.ts';
import { startDeliveryWorker } from './webhooks/delivery-worker.ts';

/** Background work that runs while the service does. */
export interface Worker {
  /** Noun, for the log. */
  readonly name: string;
  /** Starts, and returns a function that starts nothing new and waits for running work. */
  readonly start: (services: Services, log: Logger) => () => Promise<void>;
}

/** Every worker of the service, in the order in which they start. */
export const WORKERS: readonly Worker[] = [
  { name: 'deliveries', start: startDeliveryWorker },
  { name: 'alerts', start: (services, log) => startWatch(watchPartsOf(services, log)) },
  { name: 'risk scores', start: startRiskWatch },
  { name: 'jobs', start: (services, log) => startJobs(services, log, { report: makeReport, export: makeExport }) },
];

/** Time for started workers to end when a later one could not start. */
const START_FAILED_MS = 5_000;

/**
 * Starts workers. If one cannot start, the ones before it are ended. The function that it returns ends all; it resolves when the last
 * has ended, or after `longest_ms`.
 */
export async function startWorkers(services: Services, log: Logger, workers: readonly Worker[]) {
  const running: { readonly name: string; readonly end: () => Promise<void> }[] = [];
  const endOf = async ({ name, end }: (typeof running)[number], longest_ms: number) => {
    const late = new AbortController();
    try {
      const ended = end().then(() => true);
      if (!(await Promise.race([ended, sleep(longest_ms, false, { signal: late.signal })])))
        log.error({ worker: name, longest_ms }, 'Worker:Stop:Late');
    } catch (error) {
      log.error({ worker: name, err: error }, 'Worker:Stop:Failed');
    } finally {
      late.abort();
    }
  };
  const stop = async (longest_ms: number) => {
    await Promise.all(running.map((each) => endOf(each, longest_ms)));
  };
  try {
    for (const { name, start } of workers) running.push({ name, end: start(services, log) });
  } catch (error) {
    await stop(START_FAILED_MS);
    throw error;
  }
  log.info({ workers: running.map(({ name }) => name) }, 'Workers:Start:Done');
  return async (longest_ms: number): Promise<void> => {
    await stop(longest_ms);
    log.info({}, 'Workers:Stop:Done');
  };
}
