import { parentPort, type ResourceLimits, Worker } from 'node:worker_threads';
import { ApiError } from '../http/errors.ts';

/** Entry and limits of a thread. */
interface ThreadOptions {
  /** Module that calls `answerQuestions`. */
  readonly entry: URL;
  /** Noun phrase for error messages. */
  readonly subject: string;
  /** Processor time of the thread for one question: the load of the machine does not count. */
  readonly limit_ms: number;
  readonly resource_limits?: ResourceLimits;
}

type Said<Answer> =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'failure'; readonly stack: string };

interface Message<Answer> {
  readonly said: Said<Answer>;
  /** Processor time of the thread since its start. */
  readonly used_ms: number;
}

interface Thread {
  readonly worker: Worker;
  ready: boolean;
  /** Processor time since its start, at its last message. */
  used_ms: number;
}

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** Questions that may wait; more are refused. */
const WAITING_MAX = 256;
/** A thread loads its modules in a fraction of a second, and in many times that on a busy machine. */
const START_LIMIT_MS = 30_000;
const RETRY_S = '1';
/** Interval of the checks of the processor time, once it may be over the limit. */
const CHECK_EVERY_MS = 50;

/**
 * Sends questions to a separate thread, one after the other, so that the event loop stays free. The thread starts with the first
 * question and does not keep the process alive. The returned function throws ApiError overloaded when too many questions wait or
 * one exceeds its limit; that thread is terminated, and the next question starts another. Not piscina: its limit is wall time,
 * so the rules of processor time, of the start and of the refusal would stay here.
 */
export function openThread<Question, Answer>(options: ThreadOptions): (question: Question) => Promise<Answer> {
  const { entry, subject, limit_ms, resource_limits = {} } = options;
  const waiting: Waiting<Question, Answer>[] = [];
  let thread: Thread | null = null;
  let current: Waiting<Question, Answer> | null = null;
  let timer: NodeJS.Timeout | undefined;

  const settle = (): Waiting<Question, Answer> | null => {
    clearTimeout(timer);
    const settled = current;
    current = null;
    return settled;
  };

  /** Terminates a thread and rejects its question, or every question if it never became ready. */
  const giveUp = (worker: Worker, error: Error) => {
    if (thread?.worker !== worker) return;
    const failed = thread.ready ? [settle()] : waiting.splice(0);
    clearTimeout(timer);
    thread = null;
    void worker.terminate();
    for (const owed of failed) owed?.reject(error);
    next();
  };

  const start = () => {
    const worker = new Worker(entry, { resourceLimits: resource_limits });
    const started: Thread = { worker, ready: false, used_ms: 0 };
    timer = setTimeout(() => giveUp(worker, new Error(`the thread for ${subject} does not start`)), START_LIMIT_MS);
    worker.on('message', ({ said, used_ms }: Message<Answer>) => {
      if (thread !== started) return;
      started.used_ms = used_ms;
      if (said.kind === 'ready') {
        clearTimeout(timer);
        started.ready = true;
      } else {
        const owed = settle();
        if (said.kind === 'answer') owed?.resolve(said.answer);
        else owed?.reject(new Error(`${subject} failed: ${said.stack}`));
      }
      next();
    });
    worker.on('error', (cause) => giveUp(worker, new Error(`the thread for ${subject} failed`, { cause })));
    worker.on('exit', (code) => giveUp(worker, new Error(`the thread for ${subject} ended with code ${code}`)));
    return started;
  };

  const next = () => {
    if (current !== null) return;
    if (waiting.length === 0) {
      thread?.worker.unref();
      return;
    }
    thread ??= start();
    const { worker, ready } = thread;
    worker.ref();
    if (!ready) return;
    current = waiting.shift() ?? null;
    timer = watch(limit_ms, thread, current);
    worker.postMessage(current?.question);
  };

  /** Gives up a question that has used its time; processor time never exceeds the time that passed. */
  const watch = (wait_ms: number, { worker, used_ms }: Thread, asked: typeof current): NodeJS.Timeout =>
    setTimeout(async () => {
      const left_ms = limit_ms - ((await processorTime(worker)) - used_ms);
      if (thread?.worker !== worker || current !== asked) return;
      if (left_ms <= 0) giveUp(worker, overloaded(`${subject} takes longer than ${limit_ms} ms`));
      else timer = watch(Math.max(CHECK_EVERY_MS, left_ms), thread, asked);
    }, wait_ms);

  return (question) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= WAITING_MAX) throw overloaded(`too many wait for ${subject}`);
      waiting.push({ question, resolve, reject });
      next();
    });
}

/** Runs on the thread: answers each question. */
export function answerQuestions<Question, Answer>(answer: (question: Question) => Answer | Promise<Answer>): void {
  const send = (said: Said<Answer>) => {
    const { user, system } = process.threadCpuUsage();
    parentPort?.postMessage({ said, used_ms: (user + system) / 1000 } satisfies Message<Answer>);
  };
  parentPort?.on('message', async (question: Question) => {
    try {
      send({ kind: 'answer', answer: await answer(question) });
    } catch (error) {
      send({ kind: 'failure', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  send({ kind: 'ready' });
}

/** Processor time of a thread, milliseconds; 0 after its end. */
async function processorTime(worker: Worker): Promise<number> {
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1000;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_NOT_RUNNING') return 0;
    throw error;
  }
}

function overloaded(message: string): ApiError {
  return new ApiError('overloaded', message, { 'Retry-After': RETRY_S }, { reason: 'thread' });
}
