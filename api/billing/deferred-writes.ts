import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import { instant, utcDate } from '../../schemas/time.ts';
import type { CursorNote } from '../records/cursors.ts';
import type { Store } from '../records/database.ts';
import { param, prepare } from '../records/prepare.ts';
import type { Database } from '../records/schema.ts';
import { dropClaim } from './idempotency.ts';

/** Writes that were deferred since the last batch. */
export interface DeferredBatch {
  readonly cursors: readonly CursorNote[];
  readonly keys: readonly KeyNote[];
  readonly claims: readonly string[];
}

interface KeyNote {
  readonly key_id: string;
  readonly day: string;
  /** Requests that cost nothing. */
  requests: number;
  /** Epoch milliseconds. */
  last_used_ms: number;
}

/**
 * Small writes that share the transaction of a group of charges: cursors go with the next group, which holds the charge of the
 * page that ends with them; counts of requests, last uses of keys, and the end of claims that could not be ended with their
 * request go about once a second.
 */
export interface DeferredWrites {
  readonly cursor: (note: CursorNote) => void;
  /** A request of a key: `free` when no charge will count it. */
  readonly request: (key_id: string, now_ms: number, free: boolean) => void;
  /** Forgets a claim of an idempotency key that led to nothing. */
  readonly release: (token: string) => void;
  readonly takeCursors: () => DeferredBatch;
  readonly takeAll: () => DeferredBatch;
  /** Back again, because it could not be written. */
  readonly putBack: (batch: DeferredBatch) => void;
  readonly write: (rows: Transaction<Database>, batch: DeferredBatch) => Promise<void>;
}

/** `due` is called with each first note after a batch. */
export function createDeferredWrites(
  { writer: db, forKeyShare }: Pick<Store, 'writer' | 'forKeyShare'>,
  due: () => void,
): DeferredWrites {
  let cursors: CursorNote[] = [];
  let keys = new Map<string, KeyNote>();
  let claims: string[] = [];
  const writeCursor = prepare(cursorUpsert(db));
  const writeCount = prepare(countUpsert(db, forKeyShare));
  const writeLastUse = prepare(lastUseUpdate(db));

  function add(key_id: string, day: string, requests: number, last_used_ms: number): void {
    const name = `${key_id} ${day}`;
    const note = keys.get(name);
    if (!note) {
      if (keys.size === 0) due();
      keys.set(name, { key_id, day, requests, last_used_ms });
      return;
    }
    note.requests += requests;
    if (last_used_ms > note.last_used_ms) note.last_used_ms = last_used_ms;
  }

  return {
    cursor: (note) => {
      if (cursors.length === 0) due();
      cursors.push(note);
    },
    request: (key_id, now_ms, free) => add(key_id, utcDate(now_ms), free ? 1 : 0, now_ms),
    release: (token) => {
      claims.push(token);
      due();
    },
    takeCursors: () => {
      const batch = { cursors: inOrder(cursors, cursorName), keys: [], claims: [] };
      cursors = [];
      return batch;
    },
    takeAll: () => {
      const batch = {
        cursors: inOrder(cursors, cursorName),
        keys: inOrder([...keys.values()], ({ key_id, day }) => `${key_id} ${day}`),
        claims: claims.toSorted(),
      };
      cursors = [];
      keys = new Map();
      claims = [];
      return batch;
    },
    putBack: (batch) => {
      if (batch.cursors.length + batch.claims.length > 0) due();
      cursors = [...batch.cursors, ...cursors];
      claims = [...batch.claims, ...claims];
      for (const { key_id, day, requests, last_used_ms } of batch.keys) add(key_id, day, requests, last_used_ms);
    },
    write: async (rows, batch) => {
      for (const note of batch.cursors) await rows.executeQuery(writeCursor({ ...note }));
      for (const { key_id, day, requests, last_used_ms } of batch.keys) {
        if (requests > 0) await rows.executeQuery(writeCount({ key_id, day, requests }));
        await rows.executeQuery(writeLastUse({ key_id, last_used_at: instant(last_used_ms) }));
      }
      for (const token of batch.claims) await dropClaim(rows, token);
    },
  };
}

/** Always in the same order, so that two processes never wait for each other. */
function inOrder<Note>(notes: readonly Note[], nameOf: (note: Note) => string): readonly Note[] {
  return notes.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

function cursorName({ business_id, list, item_id, holder }: CursorNote): string {
  return `${business_id} ${list} ${item_id} ${holder}`;
}

function cursorUpsert(db: Kysely<Database>) {
  return db
    .insertInto('cursors')
    .values({
      business_id: param<string>('business_id'),
      holder: param<string>('holder'),
      list: param<string>('list'),
      item_id: param<string>('item_id'),
      sort_key: param<string>('sort_key'),
      expires_at: param<string>('expires_at'),
    })
    .onConflict((conflict) =>
      conflict.columns(['business_id', 'list', 'item_id', 'holder']).doUpdateSet((eb) => ({
        sort_key: eb.ref('excluded.sort_key'),
        expires_at: eb.ref('excluded.expires_at'),
      })),
    );
}

/** Counts for a key that is there, and stays there until the transaction ends. */
function countUpsert(db: Kysely<Database>, forKeyShare: RawBuilder<unknown>) {
  return db
    .insertInto('request_counts')
    .columns(['key_id', 'day', 'requests'])
    .expression((eb) =>
      eb
        .selectFrom('keys')
        .select(['keys.id', param<string>('day').as('day'), param<number>('requests').as('requests')])
        .where('keys.id', '=', param<string>('key_id'))
        .modifyEnd(forKeyShare),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['key_id', 'day'])
        .doUpdateSet((eb) => ({ requests: eb('request_counts.requests', '+', eb.ref('excluded.requests')) })),
    );
}

function lastUseUpdate(db: Kysely<Database>) {
  return db
    .updateTable('keys')
    .set({ last_used_at: param<string>('last_used_at') })
    .where('id', '=', param<string>('key_id'))
    .where((eb) =>
      eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', sql<string>`${param('last_used_at')}`)]),
    );
}
