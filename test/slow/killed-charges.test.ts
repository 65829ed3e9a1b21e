import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { scratch } from '../support/data/world.ts';
import { LOCATIONS, sending } from '../support/service/portfolio.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';

const ROUNDS = 3;
/** How much a server answers before it dies, a little more each round. */
const ANSWERED = { reads: 200, uploads: 12 };
const READERS = 12;
const WRITERS = 4;
const PRICE = 5;
const UPLOAD_PRICE = 10;
const READ = '/v1/coverage?lat=35&lon=-97';

interface Told {
  /** Reads that were sent, and those whose whole answer arrived. */
  sent: number;
  answered: number;
  /** Names of uploads that were sent, whatever became of them. */
  readonly uploads: string[];
}

function openRows(folder: string): DatabaseSync {
  return new DatabaseSync(join(folder, 'records', 'hail.sqlite'), { timeout: 5000 });
}

/** Credits by each account of them, and calls of an operation in the ledger. */
function booksOf(folder: string) {
  const rows = openRows(folder);
  const number = (sql: string, ...values: string[]) => Number(rows.prepare(sql).get(...values)?.n ?? 0);
  const calls = (operation: string) => number('SELECT count(*) AS n FROM ledger WHERE operation = ?', operation);
  const found = {
    used: number('SELECT sum(used) AS n FROM periods'),
    ledger: number('SELECT sum(credits) AS n FROM ledger'),
    usage: number('SELECT sum(credits) AS n FROM usage'),
    reads: calls('coverage.get'),
    uploads: calls('portfolio.locations.upsert'),
    names: rows
      .prepare('SELECT name FROM portfolio_locations ORDER BY name')
      .all()
      .map(({ name }) => String(name)),
  };
  rows.close();
  return found;
}

/** The status of an answer that arrived whole, or null. */
async function statusOf(url: string, init: RequestInit): Promise<number | null> {
  try {
    const response = await fetch(url, init);
    await response.text();
    return response.status;
  } catch {
    return null;
  }
}

function uploadOf(name: string, key: string): RequestInit {
  const { headers, ...init } = sending('POST', { format: 'json', data: [{ name, lat: 35, lon: -97 }] });
  return { ...init, headers: { ...headers, Authorization: `Bearer ${key}`, 'Idempotency-Key': name } };
}

/** Calls as fast as it can until the server is gone, which is killed once it has answered so much. */
async function load(t: ExecutionContext, server: ServeChild, key: string, told: Told, round: number): Promise<void> {
  let alive = true;
  const answered = { reads: 0, uploads: 0 };
  const { promise: isUnderLoad, resolve: underLoad } = Promise.withResolvers<void>();
  const note = (what: keyof typeof answered, status: number | null) => {
    if (status === null) alive = false;
    else {
      t.is(status, 200);
      answered[what] += 1;
    }
    if (!alive || (answered.reads >= ANSWERED.reads + 40 * round && answered.uploads >= ANSWERED.uploads)) underLoad();
  };
  const reading = async () => {
    while (alive) {
      told.sent += 1;
      const status = await statusOf(server.url + READ, { headers: { Authorization: `Bearer ${key}` } });
      note('reads', status);
      if (status === 200) told.answered += 1;
    }
  };
  const writing = async (writer: number) => {
    for (let n = 0; alive; n++) {
      const name = `upload ${round}.${writer}.${n}`;
      told.uploads.push(name);
      note('uploads', await statusOf(server.url + LOCATIONS, uploadOf(name, key)));
    }
  };
  await Promise.all([
    ...Array.from({ length: READERS }, reading),
    ...Array.from({ length: WRITERS }, (_, writer) => writing(writer)),
    isUnderLoad.then(() => server.end('SIGKILL')),
  ]);
}

test('servers killed under load lose no acknowledged charge, charge no call twice, and uploads sent again are made once', async (t) => {
  const folder = await scratch(t);
  const told: Told = { sent: 0, answered: 0, uploads: [] };
  let server = await startServe(folder);
  t.teardown(() => server.end('SIGKILL'));
  const key = server.keys?.live ?? '';
  const plans = openRows(folder);
  plans.prepare('UPDATE plans SET rate_per_minute = 1000000').run();
  plans.close();
  for (let round = 0; round < ROUNDS; round++) {
    await load(t, server, key, told, round);
    const { used, ledger, usage, reads } = booksOf(folder);
    t.deepEqual([ledger, usage], [used, used]);
    t.true(reads >= told.answered, `${reads} charged, ${told.answered} answered`);
    t.true(reads <= told.sent, `${reads} charged, ${told.sent} sent`);
    server = await startServe(folder);
  }
  for (const name of told.uploads) t.is(await statusOf(server.url + LOCATIONS, uploadOf(name, key)), 200, name);
  const books = booksOf(folder);
  t.log(`${told.sent} reads sent, ${told.answered} answered, ${books.reads} charged; ${told.uploads.length} uploads`);
  t.true(told.answered >= ROUNDS * ANSWERED.reads && told.uploads.length >= ROUNDS * ANSWERED.uploads);
  t.deepEqual(books.names, [...told.uploads].sort());
  t.is(books.uploads, told.uploads.length);
  t.is(books.used, books.reads * PRICE + books.uploads * UPLOAD_PRICE);
  t.deepEqual([books.ledger, books.usage], [books.used, books.used]);
  await server.end('SIGTERM');
});
