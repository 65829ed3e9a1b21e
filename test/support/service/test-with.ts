import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { RunningService } from './service.ts';

/** What a test does with what it was given as `t.context`. */
type Body<Context> = (t: ExecutionContext<Context>) => unknown;

/** Tests at a time: of hundreds at once each would wait for its answers until connections are closed for idleness. */
const LANES = 4;
const lanes: Promise<unknown>[] = Array.from({ length: LANES }, () => Promise.resolve());
let declared = 0;

/**
 * A `test` whose every test gets something of its own as `t.context`, closed when the test is over, passed or not.
 * Hooks of a file would reach its other tests, too: a file may have several of these.
 */
export function testWith<Context>(
  open: () => Promise<Context>,
  close: (t: ExecutionContext<Context>, context: Context) => Promise<void>,
): (title: string, body: Body<Context>) => void {
  const test = anyTest as TestFn<Context>;
  return (title, body) => {
    const lane = declared % LANES;
    declared += 1;
    test(title, (t) => {
      const run = async () => {
        t.context = await open();
        try {
          await body(t);
        } finally {
          await close(t, t.context);
        }
      };
      const done = lanes[lane].then(run);
      lanes[lane] = Promise.allSettled([done]);
      return done;
    });
  };
}

/** Closes a service that is not expected to have reported any failure. */
export async function closeWithoutFailures(t: ExecutionContext<unknown>, service: RunningService): Promise<void> {
  try {
    t.deepEqual(service.failures, []);
  } finally {
    await service.close();
  }
}
