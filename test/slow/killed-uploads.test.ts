import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { scratch } from '../support/data/world.ts';
import { LOCATIONS, rows, sending } from '../support/service/portfolio.ts';

const SERVER = fileURLToPath(new URL('../support/kill/portfolio-server.ts', import.meta.url));
/** Several statements' worth of rows. */
const ROWS = 450;
/** More statements than an upload runs. */
const STATEMENTS_MAX = 100;

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  readonly url: string;
  readonly key: string | null;
}

async function start(t: ExecutionContext, folder: string): Promise<Started> {
  const child = fork(SERVER, [folder]);
  const ended = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  const [{ port, key }] = (await once(child, 'message')) as [{ port: number; key: string | null }];
  return { child, ended, url: `http://127.0.0.1:${port}${LOCATIONS}`, key };
}

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly replay: boolean;
}

/** Null when the connection broke before the whole answer was there. */
async function upload(url: string, key: string, idempotencyKey: string): Promise<Answered | null> {
  const { headers, ...init } = sending('POST', { format: 'json', data: rows(ROWS, idempotencyKey) });
  try {
    const response = await fetch(url, {
      ...init,
      headers: { ...headers, Authorization: `Bearer ${key}`, 'Idempotency-Key': idempotencyKey },
    });
    const text = await response.text();
    return { status: response.status, text, replay: response.headers.has('Idempotent-Replay') };
  } catch {
    return null;
  }
}

function sums(folder: string) {
  const db = new DatabaseSync(join(folder, 'records', 'hail.sqlite'), { readOnly: true });
  const number = (sql: string) => Number(db.prepare(sql).get()?.n ?? 0);
  const found = {
    locations: number('SELECT count(*) AS n FROM portfolio_locations'),
    used: number('SELECT sum(used) AS n FROM periods'),
    ledger: number('SELECT sum(credits) AS n FROM ledger'),
  };
  db.close();
  return found;
}

/** Lets the server die right after so many more statements; 0: not at all. False when it is dead already. */
async function arm({ child, ended }: Started, statements: number): Promise<boolean> {
  const armed = once(child, 'message').then(() => true);
  // Not to be told is to be dead, which is waited for.
  child.send(statements, () => {});
  return await Promise.race([armed, ended.then(() => false)]);
}

/** The answer, or null when the server died first. */
async function uploadOrDeath(server: Started, key: string, name: string): Promise<Answered | null> {
  const answer = upload(server.url, key, name);
  const [outcome] = await Promise.all([answer, Promise.race([answer, server.ended])]);
  return outcome;
}

test('an upload whose server dies after any statement, and that is sent again, ends in one upload and one charge', async (t) => {
  const folder = await scratch(t);
  let server = await start(t, folder);
  const key = server.key ?? '';
  let died = 0;
  for (let statements = 1; statements <= STATEMENTS_MAX && died === statements - 1; statements++) {
    const name = `upload ${statements}`;
    const before = sums(folder);
    await arm(server, statements);
    const first = await uploadOrDeath(server, key, name);
    if (first === null) {
      died += 1;
      const { locations } = sums(folder);
      t.true(locations === before.locations || locations === before.locations + ROWS, 'all of it or nothing');
      server = await start(t, folder);
    } else if (!(await arm(server, 0))) {
      // It ran other statements after its answer, such as those of notes.
      server = await start(t, folder);
    }
    const again = await upload(server.url, key, name);
    t.is(again?.status, 200, again?.text);
    if (first !== null) t.deepEqual(again, { ...first, replay: true });
    t.deepEqual(sums(folder), {
      locations: before.locations + ROWS,
      used: before.used + 10,
      ledger: before.ledger + 10,
    });
  }
  server.child.kill('SIGKILL');
  t.log(`died after each of ${died} statements`);
  t.true(died > 5 && died < STATEMENTS_MAX);
});
