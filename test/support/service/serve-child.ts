import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BARE_ENVIRONMENT } from '../kill/bare-environment.ts';
import { WHOLE_NOW_MS } from './whole-service.ts';

const MAIN = fileURLToPath(new URL('../../../api/start.js', import.meta.url));

/** `hail-api serve` as a process of its own. */
export type ServeChild = Awaited<ReturnType<typeof startServe>>;

/** Flags that the command's first line gives to Node. */
const FLAGS = readFileSync(MAIN, 'utf8').split('\n')[0]?.match(/--\S+/g) ?? [];

/**
 * Starts the real command on a data root, by default at the data clock of the tiny world, and waits until it listens. `settings`
 * are further ones of its environment.
 */
export async function startServe(
  data_root: string,
  now_ms = WHOLE_NOW_MS,
  log_level = 'debug',
  settings: Readonly<Record<string, string>> = {},
) {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [...FLAGS, MAIN, 'serve'], {
    env: {
      ...BARE_ENVIRONMENT,
      PATH,
      HAIL_DATA: data_root,
      HAIL_PORT: '0',
      HAIL_LOG_LEVEL: log_level,
      HAIL_NOW: new Date(now_ms).toISOString(),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let out = '';
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`serve ended before it listened: ${log}`)));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      if (out.includes('/usage')) resolve();
    });
  });
  const found = (pattern: RegExp) => pattern.exec(out)?.[1] ?? null;
  const [live, test] = [found(/live +(hs_live_\w+)/), found(/test +(hs_test_\w+)/)];
  return {
    child,
    data_root,
    url: found(/listens at (\S+)/) ?? '',
    /** Keys it printed; only the first start on a data root prints some. */
    keys: live === null || test === null ? null : { live, test },
    /** Everything it has written to standard error. */
    log: () => log,
    /** Ends it with a signal and waits until it is gone. */
    end: async (signal: 'SIGKILL' | 'SIGTERM') => {
      child.kill(signal);
      await ended;
    },
  };
}
