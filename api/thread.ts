import { parentPort, Worker } from 'node:worker_threads';
import { ApiError } from './errors.ts';

/** How a thread is made, and how much is asked of it. */
export interface ThreadOptions {
  /** Module that calls `answerQuestions`. */
  readonly entry: URL;
  /** What it works on, for messages. */
  readonly subject: string;
  /** A question that takes more of the thread's own processor time is given up: how busy the machine is does not count. */
  readonly limit_ms: number;
}

type Said<Answer> =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'failure'; readonly stack: string };

interface Message<Answer> {
  readonly said: Said<Answer>;
  /** Processor time of the thread so far. */
  readonly used_ms: number;
}

interface Thread {
  readonly worker: Worker;
  ready: boolean;
  /** Processor time that it had used when it was last heard of. */
  used_ms: number;
}

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** Questions that may wait for a thread; what comes on top is refused. */
const WAITING_MAX = 256;
/** Loading its modules takes a thread a fraction of a second, many times that where the machine is busy. */
const START_LIMIT_MS = 30_000;
const RETRY_S = '1';
/** How often the processor time of a question is looked at once it may be over its limit. */
const LOOK_EVERY_MS = 50;

/**
 * Asks a thread of its own one question after the other, so that requests go on meanwhile; it is started with the first
 * question, and holds no process that would end. The returned function throws ApiError overloaded when too many questions wait, or
 * when one takes longer than the limit: that thread is ended, and the next question has another.
 */
export function openThread<Question, Answer>(options: ThreadOptions): (question: Question) => Promise<Answer> {
  const { entry, subject, limit_ms } = options;
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

  /** Ends a thread that is of no more use: what it worked on fails, or everything where it never came to work. */
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
    const worker = new Worker(entry);
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
    timer = lookAfter(limit_ms, thread, current);
    worker.postMessage(current?.question);
  };

  /** Gives a question up once it has used its time; a thread has used no more than has passed. */
  const lookAfter = (wait_ms: number, { worker, used_ms }: Thread, asked: typeof current): NodeJS.Timeout =>
    setTimeout(async () => {
      const left_ms = limit_ms - ((await processorTime(worker)) - used_ms);
      if (thread?.worker !== worker || current !== asked) return;
      if (left_ms <= 0) giveUp(worker, overloaded(`${subject} takes longer than ${limit_ms} ms`));
      else timer = lookAfter(Math.max(LOOK_EVERY_MS, left_ms), thread, asked);
    }, wait_ms);

  return (question) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= WAITING_MAX) throw overloaded(`too many wait for ${subject}`);
      waiting.push({ question, resolve, reject });
      next();
    });
}

/** On the thread: answers each question that is asked. */
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

/** Processor time of a thread, milliseconds; of one that has ended, 0. */
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
  return new ApiError('overloaded', message, { 'Retry-After': RETRY_S });
}
