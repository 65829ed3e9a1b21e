import { parentPort } from 'node:worker_threads';
import { BadInput, Unreadable } from '../error.ts';
import { type ReadRequest, readAndPaint } from './read-and-paint.ts';

/** What a reader thread answers to one request. */
export type ReaderAnswer =
  | { readonly id: number; readonly input: Awaited<ReturnType<typeof readAndPaint>> }
  | { readonly id: number; readonly bad: { readonly stage: string; readonly subject: string; readonly reason: string } }
  | {
      readonly id: number;
      readonly unreadable: { readonly subject: string; readonly reason: string; readonly is_gone: boolean };
    }
  | { readonly id: number; readonly failure: { readonly message: string; readonly stack: string } };

/** The body of a reader thread: a request names the files of a scan, the answer is plain data. */
parentPort?.on('message', ({ id, files }: { id: number; files: ReadRequest }) => {
  readAndPaint(files).then(
    (input) => parentPort?.postMessage({ id, input } satisfies ReaderAnswer),
    (error: unknown) => parentPort?.postMessage(explain(id, error)),
  );
});

function explain(id: number, error: unknown): ReaderAnswer {
  if (error instanceof BadInput)
    return { id, bad: { stage: error.stage, subject: error.subject, reason: error.reason } };
  if (error instanceof Unreadable)
    return { id, unreadable: { subject: error.subject, reason: error.reason, is_gone: error.is_gone } };
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { id, failure: { message, stack: stack ?? message } };
}
