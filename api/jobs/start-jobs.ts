import type { Logger } from 'pino';
import type { Services } from '../services.ts';
import type { JobHandlers } from './kinds.ts';
import { retention } from './retention.ts';
import { RUN_DEFAULTS, type RunSettings, startRunning } from './run.ts';

const SWEEP_EVERY_MS = 3_600_000;

/** Runs jobs and deletes what is not kept any more, until the function returned is called: what is under way is then given up, and queued again. */
export function startJobs(
  services: Services,
  log: Logger,
  jobHandlers: JobHandlers,
  settings: Partial<RunSettings> = {},
): () => Promise<void> {
  const stop = new AbortController();
  const end = startRunning({
    services,
    jobHandlers,
    log,
    settings: { ...RUN_DEFAULTS, ...settings },
    stop: stop.signal,
  });
  const kept = retention(services, log);
  const sweep = async () => {
    try {
      await kept.sweep(performance.now());
    } catch (error) {
      // It is swept the next time; jobs go on.
      log.warn({ err: error }, 'Jobs:Sweep:Failed');
    }
  };
  let sweeping = sweep();
  const timer = setInterval(() => {
    sweeping = sweeping.then(sweep);
  }, SWEEP_EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await Promise.all([sweeping, end()]);
  };
}
