import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { BARE_ENVIRONMENT } from './bare-environment.ts';

const START = { 'hail-pipeline': '../../../pipeline/start.js', 'hail-api': '../../../api/start.js' } as const;
export type CommandName = keyof typeof START;

/** Where a command starts. */
export const commandPath = (name: CommandName) => fileURLToPath(new URL(START[name], import.meta.url));

/** Runs a command with its own environment only; its exit code, and what it told on standard error. */
export async function runCommand(
  name: CommandName,
  args: readonly string[],
  environment: Record<string, string> = {},
  flags: string[] = [],
) {
  const child = spawn(process.execPath, [...flags, commandPath(name), ...args], {
    env: { ...BARE_ENVIRONMENT, HAIL_LOG_LEVEL: 'error', HAIL_PORT: '0', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, told };
}
