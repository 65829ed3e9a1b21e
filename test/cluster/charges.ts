import pg from 'pg';
import type { Answer, Told } from './load.ts';

/** The ledger beside what the clients were told. */
export interface ChargeCheck {
  readonly charges: number;
  /** Answers that said they were charged, and are not in the ledger. */
  readonly lost: number;
  /** Requests that are in the ledger twice, with other credits, or that nobody sent. */
  readonly doubled: number;
  /** Charges of requests whose answer was cut off by a kill. */
  readonly unanswered: number;
}

/** A row of the ledger. */
export interface Entry {
  readonly request_id: string;
  readonly operation: string;
  readonly credits: number;
}

/** Number of the last row of the ledger. */
export async function lastEntry(database_url: string): Promise<number> {
  const database = new pg.Client(database_url);
  await database.connect();
  const { rows } = await database.query<{ last: number }>('select coalesce(max(id), 0)::int as last from ledger');
  await database.end();
  return rows[0]?.last ?? 0;
}

/** `after`: the last row that was there before the clients of `told` asked. */
export async function checkCharges(database: pg.Client, after: number, told: Told): Promise<ChargeCheck> {
  return compareCharges(await entriesAfter(database, after), told);
}

/** Answers whose charges the ledger does not have, and those that it has more than once. */
export async function unequalAnswers(
  database_url: string,
  after: number,
  answers: readonly Answer[],
): Promise<{ readonly lost: readonly Answer[]; readonly doubled: readonly Answer[] }> {
  const database = new pg.Client(database_url);
  await database.connect();
  try {
    const creditsOf = creditsByRequest(await entriesAfter(database, after));
    return {
      lost: answers.filter(({ request_id, credits }) => creditsOf(request_id) < credits),
      doubled: answers.filter(({ request_id, credits }) => creditsOf(request_id) > credits),
    };
  } finally {
    await database.end();
  }
}

async function entriesAfter(database: pg.Client, after: number): Promise<readonly Entry[]> {
  const { rows } = await database.query<Entry>(
    'select request_id, operation, credits::int as credits from ledger where request_id is not null and id > $1',
    [after],
  );
  return rows;
}

/** A refund carries the id of its request and this. */
const REFUND = / refund$/;

function creditsByRequest(entries: readonly Entry[]): (request_id: string) => number {
  const sums = new Map<string, number>();
  for (const { request_id, credits } of entries) {
    const id = request_id.replace(REFUND, '');
    sums.set(id, (sums.get(id) ?? 0) + credits);
  }
  return (request_id) => sums.get(request_id) ?? 0;
}

/**
 * Compares the ledger with the answers. A charge without an answer is no fault when a request was cut off: the service was killed
 * after its commit. An export that is asked for again under its Idempotency-Key is charged once all the same.
 */
export function compareCharges(
  entries: readonly Entry[],
  told: Pick<Told, 'answers' | 'failures' | 'exports' | 'gone'>,
): ChargeCheck {
  const answers = told.answers.filter(({ request_id }) => !told.gone.has(request_id));
  const exports = told.exports.filter(({ job_id }) => !told.gone.has(job_id));
  const creditsOf = creditsByRequest(entries);
  const charged = new Set(entries.map(({ request_id }) => request_id.replace(REFUND, '')));
  const answered = new Set(answers.map(({ request_id }) => request_id));
  const unanswered = [...charged].filter((id) => !answered.has(id) && creditsOf(id) !== 0).length;
  const cut = told.failures.filter((failure) => failure.unanswered).length;
  const ordered = entries.filter(({ operation }) => operation === 'exports.create').length;
  const lost = answers.filter(({ request_id, credits }) => creditsOf(request_id) < credits).length;
  const more = answers.filter(({ request_id, credits }) => creditsOf(request_id) > credits).length;
  return {
    charges: entries.length,
    lost: lost + Math.max(0, exports.length - ordered),
    doubled: more + Math.max(0, unanswered - cut) + Math.max(0, ordered - exports.length),
    unanswered,
  };
}
