import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A part of the cluster that can be killed and started again. */
export interface Node {
  readonly name: string;
  /** Process that all its others descend from; 0 while it is down. */
  readonly pid: () => number;
  readonly start: () => Promise<void>;
  /** Ends it at once, as a power cut would; resolves when it is gone. */
  readonly kill: () => Promise<void>;
  /** Stops it in order. */
  readonly stop: () => Promise<void>;
}

/** How a program is run. */
export interface Program {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** File that its output is added to. */
  readonly log: string;
  /** Rejects or waits until it works. */
  readonly ready: () => Promise<boolean>;
}

/** Node of a program with one process and the children that it starts. */
export interface ProgramNode extends Node {
  readonly log: () => string;
  /** Suspends and resumes it. */
  readonly signal: (signal: 'SIGSTOP' | 'SIGCONT') => void;
}

const STOPS_WITHIN_MS = 40_000;
const READY_WITHIN_MS = 60_000;

export function programNode(program: Program): ProgramNode {
  let child: ChildProcess | null = null;
  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;
  const end = async (signal: NodeJS.Signals) => {
    if (child === null || !isRunning()) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  mkdirSync(dirname(program.log), { recursive: true });
  return {
    name: program.name,
    pid: () => (isRunning() ? (child?.pid ?? 0) : 0),
    log: () => readFileSync(program.log, 'utf8'),
    signal: (signal) => void child?.kill(signal),
    start: async () => {
      const out = openSync(program.log, 'a');
      const { PATH = '' } = process.env;
      child = spawn(program.command, program.args, {
        env: { PATH: `${PATH}:/usr/sbin:/sbin`, ...program.environment },
        stdio: ['ignore', out, out],
      });
      closeSync(out);
      await until(program.name, READY_WITHIN_MS, async () => {
        if (!isRunning()) throw new Error(`${program.name} ended: ${readFileSync(program.log, 'utf8').slice(-2_000)}`);
        return program.ready();
      });
    },
    kill: () => end('SIGKILL'),
    stop: async () => {
      const late = setTimeout(() => void child?.kill('SIGKILL'), STOPS_WITHIN_MS);
      await end('SIGTERM');
      clearTimeout(late);
    },
  };
}

/** Waits until something is true; returns how long that took, milliseconds. Throws when it takes too long. */
export async function until(what: string, within_ms: number, isTrue: () => Promise<boolean>): Promise<number> {
  const started_ms = performance.now();
  while (!(await isTrue())) {
    if (performance.now() - started_ms > within_ms)
      throw new Error(`${what}: not within ${within_ms / 1000} s, expected sooner`);
    await sleep(100);
  }
  return performance.now() - started_ms;
}

/** True when an address answers with a status of success. */
export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // nobody listens, or it takes too long: asked again
  }
}
