import { Worker } from 'node:worker_threads';
import { BadInput } from '../error.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { RejectedItem } from '../read/rejected-item.ts';
import type { ModelAnswer, ModelQuestion } from './model-worker.ts';

/** An hour takes a second or two; on a machine that is busy with scans many times that. */
const DECODE_ALLOWED_MS = 120_000;

/** A thread that decodes model hours, one after the other. */
export interface ModelDecoder {
  /** Throws BadInput for files that cannot be used, and an error when the thread has died or does not answer. */
  readonly decode: (question: ModelQuestion) => Promise<{ hour: CellHour; set_aside: readonly RejectedItem[] }>;
  readonly close: () => Promise<void>;
}

/** Starts the thread. `allowed_ms` is how long one hour may take. */
export function openModelDecoder(allowed_ms = DECODE_ALLOWED_MS): ModelDecoder {
  const worker = new Worker(new URL('./model-worker.ts', import.meta.url));
  let death: Error | null = null;
  let fail: (error: Error) => void = () => {};
  const die = (error: Error) => {
    death ??= error;
    fail(death);
  };
  worker.on('error', die);
  worker.on('exit', (code) => die(new Error(`thread that decodes model hours ended with code ${code}`)));
  const answerTo = (question: ModelQuestion) =>
    new Promise<ModelAnswer>((resolve, reject) => {
      // Nobody would answer.
      if (death !== null) return reject(death);
      const timer = setTimeout(() => die(new Error(`no model hour decoded within ${allowed_ms} ms`)), allowed_ms);
      fail = (error) => {
        clearTimeout(timer);
        reject(error);
      };
      worker.once('message', (answer: ModelAnswer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      worker.postMessage(question);
    });
  return {
    decode: async (question) => {
      const answer = await answerTo(question);
      if ('hour' in answer) return answer;
      if ('bad' in answer) throw new BadInput(answer.bad.stage, answer.bad.subject, answer.bad.reason);
      throw new Error(answer.failure);
    },
    close: async () => {
      await worker.terminate();
    },
  };
}
