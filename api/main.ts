#!/usr/bin/env node
import { Command } from 'commander';
import { serveCommand } from './commands/serve.ts';
import { readConfig, releaseVersion } from './config.ts';

const program = new Command('hail-api')
  .description('Hail from public radar: answers questions from published files.')
  .version(releaseVersion())
  .addCommand(serveCommand(readConfig));

await program.parseAsync();
