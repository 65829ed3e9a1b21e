import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { BadInput } from '../error.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { SetAside } from '../read/set-aside.ts';
import type { ModelAnswer, ModelQuestion } from './model-worker.ts';

/** A thread that decodes model hours, one after the other. */
export interface ModelDecoder {
  /** Throws BadInput for files that cannot be used. */
  readonly decode: (question: ModelQuestion) => Promise<{ hour: CellHour; set_aside: readonly SetAside[] }>;
  readonly close: () => Promise<void>;
}

export function openModelDecoder(): ModelDecoder {
  const worker = new Worker(new URL('./model-worker.ts', import.meta.url));
  const ended = once(worker, 'exit').then(([code]) => {
    throw new Error(`thread that decodes model hours ended with code ${code}`);
  });
  // Whoever waits for an answer hears of it; without anybody waiting it is no failure.
  ended.catch(() => {});
  return {
    decode: async (question) => {
      worker.postMessage(question);
      const [answer] = (await Promise.race([once(worker, 'message'), ended])) as [ModelAnswer];
      if ('hour' in answer) return answer;
      if ('bad' in answer) throw new BadInput(answer.bad.stage, answer.bad.subject, answer.bad.reason);
      throw new Error(answer.failure);
    },
    close: async () => {
      await worker.terminate();
    },
  };
}
