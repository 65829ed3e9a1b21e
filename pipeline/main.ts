import { Command } from 'commander';
import { outliveReaders, throwOnExit } from '../schemas/command-line.ts';
import { VERSION_TEXT } from '../schemas/data-format.ts';
import { explainError } from './commands/arguments.ts';
import { backfillCommand } from './commands/backfill.ts';
import { deriveCommand } from './commands/derive.ts';
import { feedsCommand } from './commands/feeds.ts';
import { ingestCommand } from './commands/ingest.ts';
import { inspectCommand } from './commands/inspect.ts';
import { catalogueCommand, compactCommand, rebuildCommand, verifyCommand } from './commands/maintain.ts';
import { simulateCommand } from './commands/simulate.ts';
import { sqlCommand } from './commands/sql.ts';
import { streamCommand } from './commands/stream.ts';
import { readConfig } from './config.ts';

const program = new Command('hail-pipeline')
  .description('Hail from public radar: turns grids into published files.')
  .version(VERSION_TEXT)
  .addCommand(ingestCommand(readConfig))
  .addCommand(streamCommand(readConfig))
  .addCommand(backfillCommand(readConfig))
  .addCommand(feedsCommand(readConfig))
  .addCommand(simulateCommand(readConfig))
  .addCommand(inspectCommand())
  .addCommand(verifyCommand(readConfig))
  .addCommand(sqlCommand(readConfig))
  .addCommand(catalogueCommand(readConfig))
  .addCommand(compactCommand(readConfig))
  .addCommand(rebuildCommand(readConfig))
  .addCommand(deriveCommand(readConfig))
  .addHelpText(
    'after',
    `
Settings are environment variables that begin with HAIL_; api/docs/operate.md lists them.
Exit codes: 0 done, 1 failure, 2 usage, 3 not found, 4 conflict, 5 a check found something.`,
  );

throwOnExit(program);
outliveReaders(program.name());
try {
  await program.parseAsync();
} catch (error) {
  const { code, message } = explainError(error);
  if (message !== '') process.stderr.write(`hail-pipeline: ${message}\n`);
  process.exitCode = code;
}
// A command that has ended ends its process: no thread, watcher or timer that is left may keep it alive without its lock.
// A failure of standard output is reported shortly after the write, and sets the exit code.
process.stdout.write('', () => process.stderr.write('', () => setImmediate(() => process.exit())));
