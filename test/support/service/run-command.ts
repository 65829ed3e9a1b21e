import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { Command } from 'commander';
import { backupCommand } from '../../../api/commands/backup.ts';
import { businessCommand } from '../../../api/commands/business.ts';
import { runProgram } from '../../../api/commands/cli.ts';
import { doctorCommand } from '../../../api/commands/doctor.ts';
import { keyCommand } from '../../../api/commands/key.ts';
import { memberCommand } from '../../../api/commands/member.ts';
import { planCommand } from '../../../api/commands/plan.ts';
import { seedCommand } from '../../../api/commands/seed.ts';
import { usageCommand } from '../../../api/commands/usage.ts';
import { webhookCommand } from '../../../api/commands/webhook.ts';
import { type Config, readConfig } from '../../../api/config.ts';
import { EXIT } from '../../../schemas/command-line.ts';
import { listen } from '../listen.ts';

/** Makers of every command of `hail-api` but `serve`. */
export const API_COMMANDS = [
  backupCommand,
  businessCommand,
  doctorCommand,
  keyCommand,
  memberCommand,
  planCommand,
  seedCommand,
  usageCommand,
  webhookCommand,
];

export type Operator = ReturnType<typeof operator>;

/** Runs `hail-api` on a data root of its own. Tests that use it are serial: it listens to standard output. */
export function operator(t: ExecutionContext) {
  const data_root = mkdtempSync(join(tmpdir(), 'hail-operator-'));
  t.teardown(() => rmSync(data_root, { recursive: true, force: true }));
  const config: Config & { now_ms: number; database_url: string | null } = {
    ...readConfig({ HAIL_DATA: data_root }),
    now_ms: Date.parse('2026-05-20T12:00:00Z'),
    now: () => config.now_ms,
  };
  const run = (...args: string[]) => runHere(config, args);
  return {
    config,
    run,
    /** Runs with --json and returns the object; fails on another exit code than 0. */
    json: async (...args: string[]): Promise<Record<string, unknown>> => {
      const { code, out, err } = await run(...args, '--json');
      if (code !== EXIT.done) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`);
      return JSON.parse(out);
    },
    /** A path in the data root's folder. */
    path: (name: string) => join(data_root, name),
  };
}

async function runHere(config: Config, args: readonly string[]) {
  const program = new Command('hail-api');
  for (const command of API_COMMANDS) program.addCommand(command(() => config));
  const out = listen(process.stdout);
  const err = listen(process.stderr);
  try {
    const code = await runProgram(program, args);
    return { code, out: out(), err: err() };
  } finally {
    process.exitCode = undefined;
  }
}
