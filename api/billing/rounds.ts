import { yieldToEventLoop } from '../http/event-loop.ts';

/** Groups of one round at most. */
const LARGEST_ROUND = 256;

/** Which calls share a round trip to the database, and how. */
export interface RoundParts<Call, Answer> {
  /** Calls of the same group are one row of the statement. */
  readonly groupOf: (call: Call) => string;
  /** Rows that the call changes: two groups that have one in common go in different rounds. */
  readonly rowsOf: (call: Call) => readonly string[];
  /** Runs the statement; an answer for each call of each group, in their order. */
  readonly run: (groups: readonly (readonly Call[])[]) => Promise<readonly (readonly Answer[])[]>;
}

interface Waiting<Call, Answer> {
  readonly call: Call;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A call that shares its round trip: those of one turn of the event loop, and those that arrive while a statement runs, form the next.
 * A failure of the statement is thrown to every call of its round.
 */
export function inRounds<Call, Answer>({
  groupOf,
  rowsOf,
  run,
}: RoundParts<Call, Answer>): (call: Call) => Promise<Answer> {
  let waiting: Waiting<Call, Answer>[] = [];
  let isRunning = false;

  function nextRound(): readonly Waiting<Call, Answer>[][] {
    const groups = new Map<string, Waiting<Call, Answer>[]>();
    const rows = new Set<string>();
    const later: Waiting<Call, Answer>[] = [];
    for (const each of waiting) {
      const group = groups.get(groupOf(each.call));
      const own = group === undefined ? rowsOf(each.call) : [];
      if (group !== undefined) group.push(each);
      else if (groups.size === LARGEST_ROUND || own.some((row) => rows.has(row))) later.push(each);
      else {
        groups.set(groupOf(each.call), [each]);
        for (const row of own) rows.add(row);
      }
    }
    waiting = later;
    return [...groups.values()];
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    await yieldToEventLoop();
    while (waiting.length > 0) {
      const groups = nextRound();
      try {
        const answers = await run(groups.map((group) => group.map(({ call }) => call)));
        for (const [at, group] of groups.entries())
          for (const [place, { resolve }] of group.entries())
            resolve((answers[at] as readonly Answer[])[place] as Answer);
      } catch (error) {
        for (const group of groups) for (const { reject } of group) reject(error);
      }
    }
    isRunning = false;
  }

  return (call) =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject });
      if (!isRunning) void runAll();
    });
}
