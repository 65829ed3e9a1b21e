import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import { correction_ms, followServerClock } from '../../api/records/clock.ts';
import type { Database } from '../../api/records/schema.ts';

const AHEAD_MS = 90 * 86_400_000;

/** A server whose clock is 90 days ahead, and which takes so long for its answers, one after the other; the last figure stands for all others. */
function serverAhead(...answer_ms: readonly number[]): Kysely<Database> {
  let asked = 0;
  class Driver extends DummyDriver {
    override async acquireConnection() {
      return {
        executeQuery: async <Row>(_: CompiledQuery): Promise<QueryResult<Row>> => {
          const wait_ms = answer_ms[Math.min(asked++, answer_ms.length - 1)] ?? 0;
          await sleep(wait_ms / 2);
          const rows = [{ now_ms: Date.now() + AHEAD_MS }] as Row[];
          await sleep(wait_ms / 2);
          return { rows };
        },
        streamQuery: () => {
          throw new Error('the test streams nothing');
        },
      };
    }
  }
  return new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new Driver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

async function correctionAfterStart(t: ExecutionContext, ...answer_ms: readonly number[]): Promise<number> {
  const said: string[] = [];
  const end = await followServerClock({ reader: serverAhead(...answer_ms) }, (line) => said.push(line));
  const correction = correction_ms();
  end();
  t.is(said.length, 1);
  return correction;
}

test.serial(
  'a service does not begin with the clock of its machine because the first answer of the server is slow',
  async (t) => {
    t.true(Math.abs((await correctionAfterStart(t, 600, 1)) - AHEAD_MS) < 100);
  },
);

test.serial('of a server that is slow each time the last answer counts', async (t) => {
  t.true(Math.abs((await correctionAfterStart(t, 550)) - AHEAD_MS) < 600);
});
