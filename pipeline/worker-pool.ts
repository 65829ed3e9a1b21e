import { parentPort, Worker, workerData } from 'node:worker_threads';
import { BadInput, Unreadable } from './error.ts';

/** Worker threads that answer requests. */
interface WorkerPool<Request, Answer> {
  /** Answer to a request. Rejects with the error that the thread threw, or with the reason that ended the threads. */
  readonly run: (request: Request) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

interface WorkerPoolOptions {
  /** Name of one thread, for messages. */
  readonly name: string;
  readonly threads?: number;
  /** A thread that takes longer for a request counts as dead, for this reason. */
  readonly limit?: { readonly ms: number; readonly reason: string };
}

type Reply<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly failure: PlainError };

/**
 * Starts threads that run a module which calls `answerRequests`; requests go to the threads in turn. When a thread dies, its
 * pending requests and every later one fail.
 */
export function startWorkers<Request, Answer>(
  module_url: string,
  { threads = 1, ...options }: WorkerPoolOptions,
): WorkerPool<Request, Answer> {
  const workers = Array.from({ length: threads }, () => startWorker<Request, Answer>(module_url, options));
  let requests = 0;
  return {
    run: (request) => (workers[requests++ % threads] as WorkerPool<Request, Answer>).run(request),
    close: async () => {
      await Promise.all(workers.map((worker) => worker.close()));
    },
  };
}

function startWorker<Request, Answer>(
  module_url: string,
  { name, limit }: WorkerPoolOptions,
): WorkerPool<Request, Answer> {
  const worker = new Worker(new URL(module_url), { workerData: { answers: module_url } });
  const pending = new Map<number, PromiseWithResolvers<Answer>>();
  let requests = 0;
  let death: Error | null = null;
  const die = (error: Error) => {
    death ??= error;
    for (const { reject } of pending.values()) reject(death);
    pending.clear();
  };
  worker.on('message', (reply: Reply<Answer>) => {
    const request = pending.get(reply.id);
    pending.delete(reply.id);
    if ('answer' in reply) request?.resolve(reply.answer);
    else request?.reject(revivedError(reply.failure));
  });
  worker.on('error', die);
  worker.on('exit', (code) => die(new Error(`${name} ended with code ${code}`)));
  const run = async (request: Request): Promise<Answer> => {
    if (death !== null) throw death;
    const id = requests++;
    const answer = Promise.withResolvers<Answer>();
    pending.set(id, answer);
    const timer = limit && setTimeout(() => die(new Error(limit.reason)), limit.ms);
    worker.postMessage({ id, request });
    return answer.promise.finally(() => clearTimeout(timer));
  };
  return {
    run,
    close: async () => {
      await worker.terminate();
    },
  };
}

/** Answers the requests of a pool on the thread that it started for this module; does nothing where the module is only imported. */
export function answerRequests<Request, Answer>(
  module_url: string,
  answer: (request: Request) => Answer | Promise<Answer>,
): void {
  if (workerData?.answers !== module_url) return;
  const send = (reply: Reply<Answer>) => parentPort?.postMessage(reply);
  parentPort?.on('message', async ({ id, request }: { id: number; request: Request }) => {
    try {
      send({ id, answer: await answer(request) });
    } catch (error) {
      send({ id, failure: plainError(error) });
    }
  });
}

/** An error as data: a message between threads keeps neither the class of an error nor its fields. */
type PlainError =
  | { readonly bad_input: Pick<BadInput, 'stage' | 'subject' | 'reason'> }
  | { readonly unreadable: Pick<Unreadable, 'subject' | 'reason' | 'is_gone'> }
  | { readonly message: string; readonly stack: string };

function plainError(error: unknown): PlainError {
  if (error instanceof BadInput) return { bad_input: { ...error } };
  if (error instanceof Unreadable) return { unreadable: { ...error } };
  const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
  return { message, stack };
}

function revivedError(plain: PlainError): Error {
  if ('bad_input' in plain) return new BadInput(plain.bad_input.stage, plain.bad_input.subject, plain.bad_input.reason);
  if ('unreadable' in plain) return new Unreadable(plain.unreadable.subject, plain.unreadable.reason, plain.unreadable);
  return Object.assign(new Error(plain.message), { stack: plain.stack });
}
