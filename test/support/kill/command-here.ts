import { Command } from 'commander';
import { explainError } from '../../../pipeline/commands/arguments.ts';
import { backfillCommand } from '../../../pipeline/commands/backfill.ts';
import { inspectCommand } from '../../../pipeline/commands/inspect.ts';
import { catalogueCommand } from '../../../pipeline/commands/maintain.ts';
import { sqlCommand } from '../../../pipeline/commands/sql.ts';
import { readConfig } from '../../../pipeline/config.ts';
import { throwOnExit } from '../../../schemas/command-line.ts';
import { listen } from '../listen.ts';
import { environmentOf } from './killed.ts';

let turn: Promise<unknown> = Promise.resolve();

/** Runs a command of `hail-pipeline` on a data root in this process, one at a time: it listens to standard output. */
export function commandHere(root: string, args: readonly string[]) {
  const run = turn.then(() => runHere(root, args));
  turn = run;
  return run;
}

async function runHere(root: string, args: readonly string[]) {
  const config = () => readConfig(environmentOf(root));
  const program = new Command('hail-pipeline');
  for (const made of [backfillCommand(config), catalogueCommand(config), inspectCommand(), sqlCommand(config)])
    program.addCommand(made);
  throwOnExit(program);
  const [stdout, stderr] = [listen(process.stdout), listen(process.stderr)];
  try {
    await program.parseAsync([...args], { from: 'user' });
    return { code: 0, stdout: stdout(), stderr: stderr() };
  } catch (error) {
    const { code, message } = explainError(error);
    return { code, stdout: stdout(), stderr: `${stderr()}${message}` };
  } finally {
    process.exitCode = undefined;
  }
}
