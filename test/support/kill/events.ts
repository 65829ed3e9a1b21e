import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** An event of the log of a child process, with its fields. */
export interface LoggedEvent {
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The log of a child process. */
export interface Events {
  /** All so far. */
  readonly all: readonly LoggedEvent[];
  /** Waits for an event of this name after the one that the last call returned. Throws when the child ends first. */
  readonly next: (name: string) => Promise<LoggedEvent>;
}

/** Reads the events that a child process writes, one JSON object a line. */
export function hearEvents(lines: Readable): Events {
  const all: LoggedEvent[] = [];
  let isOver = false;
  let heard = Promise.withResolvers<void>();
  const wake = () => {
    heard.resolve();
    heard = Promise.withResolvers();
  };
  createInterface({ input: lines })
    .on('line', (line) => {
      all.push(line.startsWith('{') ? JSON.parse(line) : { msg: line });
      wake();
    })
    .on('close', () => {
      isOver = true;
      wake();
    });
  let seen = 0;
  const next = async (name: string): Promise<LoggedEvent> => {
    for (;;) {
      const { promise } = heard;
      const found = all.findIndex(({ msg }, k) => k >= seen && msg === name);
      if (found >= 0) {
        seen = found + 1;
        return all[found] as LoggedEvent;
      }
      if (isOver) throw new Error(`the child ended without ${name}; last: ${JSON.stringify(all.slice(-3))}`);
      await promise;
    }
  };
  return { all, next };
}
