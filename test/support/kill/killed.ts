import { spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { IngestReport } from '../../../pipeline/commands/ingest.ts';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { verifyRoot } from '../../../pipeline/publish/verify.ts';
import { timestamp } from '../../../schemas/time.ts';
import { copyOf, NOW_MS, scratch } from '../data/world.ts';
import { BARE_ENVIRONMENT } from './bare-environment.ts';

export const MAIN = fileURLToPath(new URL('../../../pipeline/start.js', import.meta.url));
const PRELOAD = fileURLToPath(new URL('kill-at.ts', import.meta.url));

export type Ended = Awaited<ReturnType<typeof ended>>;

export interface CommandSettings {
  readonly now_ms?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Arguments for Node itself. */
  readonly node?: readonly string[];
}

/** The environment of a command on a data root, with a fixed data clock. */
export function environmentOf(root: string, { now_ms = NOW_MS, environment = {} }: CommandSettings = {}) {
  return {
    ...BARE_ENVIRONMENT,
    PATH: process.env.PATH ?? '',
    HAIL_DATA: root,
    HAIL_NOW: timestamp(now_ms),
    ...environment,
  };
}

/** Starts `hail-pipeline` on a data root. */
export function start(root: string, args: readonly string[], settings: CommandSettings = {}) {
  return spawn(process.execPath, [...(settings.node ?? []), MAIN, ...args], {
    env: environmentOf(root, settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs `hail-pipeline` on a data root to its end. */
export async function command(root: string, args: readonly string[], settings: CommandSettings = {}) {
  return ended(start(root, args, settings));
}

/** Runs `hail-pipeline ingest` and returns its report. */
export async function ingestReport(root: string, args: readonly string[], now_ms: number): Promise<IngestReport> {
  const { stdout, stderr } = await command(root, ['ingest', ...args, '--json', '--no-progress'], { now_ms });
  if (stdout === '') throw new Error(`ingest ${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

export async function ended(child: ReturnType<typeof start>) {
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (...end) => resolve(end));
  });
  return { code, signal, stdout, stderr };
}

/** Runs a command that is killed just before the n-th thing it does to the disk. */
export function killedAt(root: string, args: readonly string[], point: number, settings: CommandSettings = {}) {
  const environment = { ...settings.environment, KILL_AT: String(point) };
  return command(root, args, { ...settings, environment, node: ['--import', PRELOAD] });
}

/** Kills a command at some of the things that it does to the disk, each time on a copy of a prepared root, and looks at what is left. */
export async function killEach(
  t: ExecutionContext,
  { prepared, args, points, settings = {} }: Killing,
  tried: readonly number[],
  look: (root: string, where: string) => Promise<void>,
): Promise<void> {
  for (const point of tried) {
    const where = `${point}: ${points[point - 1]}`;
    const root = await copyOf(t, prepared);
    const { signal, stderr } = await killedAt(root, args, point, settings);
    t.is(signal, 'SIGKILL', `${where} ${stderr}`);
    await look(root, where);
    await fs.rm(root, { recursive: true });
  }
}

interface Killing {
  readonly prepared: string;
  readonly args: readonly string[];
  /** What the command does to the disk, in order. */
  readonly points: readonly string[];
  readonly settings?: CommandSettings;
}

/** Everything a command does to the disk, in order; `code` is how it ends when nobody kills it. */
export async function pointsOf(
  t: ExecutionContext,
  root: string,
  args: readonly string[],
  settings: CommandSettings = {},
  code = 0,
): Promise<string[]> {
  const log = await scratch(t, 'points');
  const environment = { ...settings.environment, KILL_LOG: log };
  const run = await command(root, args, { ...settings, environment, node: ['--import', PRELOAD] });
  if (run.code !== code) throw new Error(`the command to be killed ends by itself with ${run.code}: ${run.stderr}`);
  return (await fs.readFile(log, 'utf8')).trimEnd().split('\n');
}

/** What `verify` finds wrong with a root, as it is. */
export async function faultsOf(root: string): Promise<string[]> {
  const engine = await openEngine();
  try {
    const { faults } = await verifyRoot(engine, root, null, () => {});
    return faults.map(({ path, reason }) => `${path}: ${reason}`);
  } finally {
    engine.close();
  }
}
