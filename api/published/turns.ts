import { ApiError } from '../http/errors.ts';

const RETRY_AFTER_S = 5;

/** Runs work in its turn. Throws ApiError overloaded when too much waits. */
export type Turns = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Lets some work run at the same time and more wait, first come, first served: of requests without a key a bounded number. */
export function turns(at_once: number, waiting_max = Number.POSITIVE_INFINITY): Turns {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < at_once) running += 1;
    else {
      if (waiting.length >= waiting_max)
        throw new ApiError(
          'overloaded',
          `too many requests without a key wait, at most ${waiting_max} may`,
          { 'Retry-After': String(RETRY_AFTER_S) },
          { reason: 'guests' },
        );
      await new Promise<void>((resolve) => waiting.push(resolve)); // the call that ends passes its turn on
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
