import { explainError } from '../../pipeline/commands/arguments.ts';
import { UsageError } from '../../pipeline/error.ts';
import { hasSharedData } from '../support/data/shared-folder.ts';
import { climate } from './climate.ts';
import { day } from './day.ts';
import { decode } from './decode.ts';
import { forecast } from './forecast.ts';
import { history } from './history.ts';
import { historyLoad } from './history-load.ts';
import { http } from './http.ts';
import { lookups } from './lookups.ts';
import { nowcast } from './nowcast.ts';
import { scan } from './scan.ts';
import { tracking } from './tracking.ts';
import { hailModel } from './train/hail-model.ts';

const BENCHES: Readonly<Record<string, (args: string[]) => Promise<void>>> = {
  decode,
  forecast,
  'hail-model': hailModel,
  scan,
  tracking,
  climate,
  day,
  http,
  lookups,
  history,
  'history-load': historyLoad,
  nowcast,
};

/** `npm run bench` runs all but `hail-model` with their usual arguments; `npm run bench -- NAME …` one with its own. */
async function run([name, ...args]: string[]): Promise<void> {
  if (name !== undefined) {
    const bench = BENCHES[name];
    if (bench === undefined)
      throw new UsageError(`the name is '${name}', expected one of ${Object.keys(BENCHES).join(', ')}`);
    await bench(args);
    return;
  }
  await decode();
  await forecast();
  await scan();
  if (hasSharedData) await tracking();
  else console.log('tracking: needs ../shared/data, which is absent');
  await climate();
  await day([]);
  await http();
  await lookups();
  await history();
  await historyLoad();
  await nowcast([]);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  const { code, message } = explainError(error);
  if (message !== '') console.error(`bench: ${message}`);
  process.exitCode = code;
}
