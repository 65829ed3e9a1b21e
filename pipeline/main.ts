#!/usr/bin/env node
import { Command } from 'commander';
import { explainError } from './commands/cli.ts';
import { ingestCommand } from './commands/ingest.ts';
import { readConfig } from './config.ts';

const program = new Command('hail-pipeline')
  .description('Hail from public radar: turns grids into published files.')
  .version('0.1.0')
  .addCommand(ingestCommand(readConfig))
  .exitOverride()
  .addHelpText(
    'after',
    '\nSettings are environment variables that begin with HAIL_; README lists them.\nExit codes: 0 done, 1 failure, 2 usage, 3 not found, 4 conflict, 5 a check found something.',
  );

for (const command of program.commands) command.exitOverride();

try {
  await program.parseAsync();
} catch (error) {
  const { code, message } = explainError(error);
  if (message !== '') process.stderr.write(`hail-pipeline: ${message}\n`);
  process.exitCode = code;
}
