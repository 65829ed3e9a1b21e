import { refreshCatalogue } from '../catalogues/catalogue.ts';
import type { Config } from '../config.ts';
import { refreshForecast } from '../forecast/publish-forecast.ts';
import { type Log, openLog } from '../log.ts';
import { explainFailure, openRoot } from '../publish/open-root.ts';
import type { Root } from '../publish/root.ts';
import type { SessionSettings } from '../scans/raw-archive.ts';
import { startReadPool } from '../scans/read.ts';
import { openSession, type Session } from '../scans/session.ts';

/** Result of `work` on the data root, which is locked for it and closed in any case; the lock names the command. The catalogue follows. */
export async function withRoot<T>(
  config: Config,
  command: string,
  work: (root: Root) => Promise<T>,
  log: Log = openLog(config.log_level, false),
): Promise<T> {
  const { data_root, storm_day_start_hour, now } = config;
  const root = await openRoot(data_root, `hail-pipeline ${command}`, storm_day_start_hour, now(), log);
  try {
    const result = await work(root);
    await refreshCatalogue(data_root, log);
    return result;
  } catch (error) {
    throw explainFailure(root, error);
  } finally {
    await root.close();
  }
}

interface SessionNeeds extends Pick<SessionSettings, 'log' | 'move_raw' | 'signal'> {
  readonly command: string;
  readonly threads: number;
}

/** Result of `work` in a session on the data root; the climatology and the forecast are refreshed after it. */
export function withSession<T>(
  config: Config,
  { command, threads, ...settings }: SessionNeeds,
  work: (root: Root, session: Session) => Promise<T>,
): Promise<T> {
  return withRoot(
    config,
    command,
    async (root) => {
      const readers = startReadPool(threads);
      try {
        const result = await work(root, openSession(root, readers, { ...config, ...settings, each_scan: false }));
        await refreshForecast(root, config.now(), settings.log);
        return result;
      } finally {
        await readers.close();
      }
    },
    settings.log,
  );
}
