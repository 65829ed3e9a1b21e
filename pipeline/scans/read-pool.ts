import { Worker } from 'node:worker_threads';
import { BadInput, Unreadable } from '../error.ts';
import type { ScanInput } from '../grid.ts';
import type { ReadRequest } from './read-and-paint.ts';
import type { ReaderAnswer } from './read-worker.ts';

interface Waiting {
  readonly resolve: (input: ScanInput) => void;
  readonly reject: (error: Error) => void;
}

/** Threads that decode scans, so that one scan is read while the one before it is tracked and published. */
export interface ReadPool {
  readonly read: (files: ReadRequest) => Promise<ScanInput>;
  readonly close: () => Promise<void>;
}

/**
 * Starts `threads` reader threads; requests are dealt out in turn.
 * A read fails with BadInput when a file cannot be used; when a thread dies, its reads in flight and every later one fail.
 */
export function startReadPool(threads: number): ReadPool {
  const lanes = Array.from({ length: threads }, startLane);
  let next = 0;
  return {
    read: (files) => (lanes[next++ % lanes.length] as ReturnType<typeof startLane>).read(files),
    close: async () => {
      await Promise.all(lanes.map((lane) => lane.close()));
    },
  };
}

function startLane() {
  const worker = new Worker(new URL('./read-worker.ts', import.meta.url));
  const waiting = new Map<number, Waiting>();
  let requests = 0;
  let dead: Error | null = null;
  const failAll = (error: Error) => {
    dead ??= error;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.on('message', (answer: ReaderAnswer) => {
    const owed = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('input' in answer) owed?.resolve(answer.input);
    else if ('bad' in answer) owed?.reject(new BadInput(answer.bad.stage, answer.bad.subject, answer.bad.reason));
    else if ('unreadable' in answer) {
      const { subject, reason, is_gone } = answer.unreadable;
      owed?.reject(new Unreadable(subject, reason, { is_gone }));
    } else owed?.reject(Object.assign(new Error(answer.failure.message), { stack: answer.failure.stack }));
  });
  worker.on('error', failAll);
  worker.on('exit', (code) => failAll(new Error(`reader thread ended with code ${code}`)));
  return {
    read: (files: ReadRequest) =>
      new Promise<ScanInput>((resolve, reject) => {
        // Nobody would answer.
        if (dead !== null) return reject(dead);
        const id = requests++;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, files });
      }),
    close: () => worker.terminate(),
  };
}
