import { explainError } from '../../pipeline/commands/arguments.ts';
import { UsageError } from '../../pipeline/error.ts';
import { day } from './day.ts';
import { decode } from './decode.ts';
import { forecast } from './forecast.ts';
import { history } from './history.ts';
import { http } from './http.ts';
import { lookups } from './lookups.ts';
import { motion } from './motion.ts';
import { scan } from './scan.ts';
import { viewer } from './viewer.ts';

type Bench = (args: string[]) => Promise<void>;
const BENCHES: Readonly<Record<string, Bench>> = {
  decode,
  forecast,
  scan,
  day,
  http,
  lookups,
  history,
  motion,
  viewer,
};

/** `npm run bench` runs all with their usual arguments; `npm run bench -- NAME …` one with its own. */
async function run([name, ...args]: string[]): Promise<void> {
  if (name === undefined) for (const bench of Object.values(BENCHES)) await bench([]);
  else if (BENCHES[name] === undefined)
    throw new UsageError(`the name is '${name}', expected one of ${Object.keys(BENCHES).join(', ')}`);
  else await BENCHES[name](args);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  const { code, message } = explainError(error);
  if (message !== '') console.error(`bench: ${message}`);
  process.exitCode = code;
}
