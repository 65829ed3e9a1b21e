import { Command } from 'commander';
import { outliveReaders } from '../schemas/command-line.ts';
import { VERSION_TEXT } from '../schemas/data-format.ts';
import { backupCommand } from './commands/backup.ts';
import { businessCommand } from './commands/business.ts';
import { runProgram } from './commands/cli.ts';
import { doctorCommand } from './commands/doctor.ts';
import { keyCommand } from './commands/key.ts';
import { memberCommand } from './commands/member.ts';
import { planCommand } from './commands/plan.ts';
import { seedCommand } from './commands/seed.ts';
import { serveCommand } from './commands/serve.ts';
import { usageCommand } from './commands/usage.ts';
import { webhookCommand } from './commands/webhook.ts';
import { readConfig } from './config.ts';

const program = new Command('hail-api')
  .description('Hail from public radar: answers questions from published files.')
  .version(VERSION_TEXT)
  .addCommand(serveCommand(readConfig))
  .addCommand(seedCommand(readConfig))
  .addCommand(businessCommand(readConfig))
  .addCommand(memberCommand(readConfig))
  .addCommand(planCommand(readConfig))
  .addCommand(keyCommand(readConfig))
  .addCommand(webhookCommand(readConfig))
  .addCommand(usageCommand(readConfig))
  .addCommand(doctorCommand(readConfig))
  .addCommand(backupCommand(readConfig))
  .addHelpText(
    'after',
    `
Settings are environment variables that begin with HAIL_; api/docs/operate.md lists them.
Exit codes: 0 done, 1 failure, 2 usage, 3 not found, 4 conflict, 5 a check found something.`,
  );

outliveReaders(program.name());
process.exitCode = await runProgram(program, process.argv.slice(2));
