import { randomUUID } from 'node:crypto';
import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
import type { Store } from '../records/database.ts';
import { param, prepare, type Values } from '../records/prepare.ts';
import type { Database } from '../records/tables.ts';
import type { Held, Room, Shelf } from './shelf.ts';

/** Stands where a statement, which has a fixed number of them, is given no group. */
const NO_GROUP = randomUUID();

/** Tasks as rows of `tasks`, beside the records that cause them: for SQLite, whose processes have one clock. */
export function tableShelf({ writer, reader }: Store): Shelf {
  const due = prepareDue(reader);
  const take = prepareTake(writer);
  const remove = prepare(
    writer.deleteFrom('tasks').where('id', '=', param<string>('id')).where('lease', '=', param<string>('lease')),
  );

  return {
    add: async (rows, { name, group, payload, due_ms = Date.now() }) => {
      const task = { id: randomUUID(), name, task_group: group, payload: JSON.stringify(payload), due_ms };
      await rows
        .insertInto('tasks')
        .values({ ...task, lease: null, lease_until_ms: 0, taken: 0 })
        .execute();
    },
    exchange: async (name, done, room) => {
      const chosen = room.most === 0 ? [] : choose((await reader.executeQuery(due(name, room))).rows, room);
      if (done.length === 0 && chosen.length === 0) return [];
      return await writer.transaction().execute(async (rows) => {
        for (const { id, lease } of done) await rows.executeQuery(remove({ id, lease }));
        const lease = randomUUID();
        const taken: Held[] = [];
        for (const id of chosen) {
          const { rows: found } = await rows.executeQuery(take({ id, lease, ...leaseTimes(room) }));
          for (const { task_group, payload, taken: times } of found)
            taken.push({ id, group: task_group, payload: JSON.parse(payload), taken: times, lease });
        }
        return taken;
      });
    },
    close: async () => {},
  };
}

interface Due {
  readonly id: string;
  readonly task_group: string;
}

/** Tasks that fit into the room, in their order. */
function choose(due: readonly Due[], { most, of, held }: Room): readonly string[] {
  const left = new Map<string, number>();
  const chosen: string[] = [];
  for (const { id, task_group } of due) {
    const room = left.get(task_group) ?? of(task_group);
    if (chosen.length === most || room <= 0 || held.has(id)) continue;
    left.set(task_group, room - 1);
    chosen.push(id);
  }
  return chosen;
}

function leaseTimes({ lease_ms }: Room): Values {
  const now_ms = Date.now();
  // Twice as far as a lease can reach: the clock was put back since, and nobody knows when that one ends.
  return { now_ms, until_ms: now_ms + lease_ms, absurd_ms: now_ms + 2 * lease_ms };
}

/** Nobody has it, or whoever took it was too slow. */
function isFree({ eb, or }: ExpressionBuilder<Database, 'tasks'>) {
  return or([
    eb('lease_until_ms', '<=', param<number>('now_ms')),
    eb('lease_until_ms', '>', param<number>('absurd_ms')),
  ]);
}

/** Due tasks of groups that are not full, the longest due first: as many as are wanted beside those that are held already. */
function prepareDue(reader: Kysely<Database>) {
  const statements = new Map<number, ReturnType<typeof prepareDueOf>>();
  return (name: string, room: Room) => {
    const { full, full_at_most, most, held } = room;
    const statement = statements.get(full_at_most) ?? prepareDueOf(reader, full_at_most);
    statements.set(full_at_most, statement);
    const groups = Array.from({ length: full_at_most }, (_, k) => [`full_${k}`, full[k] ?? NO_GROUP]);
    return statement({ ...Object.fromEntries(groups), name, limit: most + held.size, ...leaseTimes(room) });
  };
}

function prepareDueOf(reader: Kysely<Database>, full_at_most: number) {
  const full = Array.from({ length: full_at_most }, (_, k) => param<string>(`full_${k}`));
  return prepare(
    reader
      .selectFrom('tasks')
      .select(['id', 'task_group'])
      .where('name', '=', param<string>('name'))
      .where('due_ms', '<=', param<number>('now_ms'))
      .where(isFree)
      .$if(full_at_most > 0, (query) => query.where('task_group', 'not in', full))
      .orderBy('due_ms')
      .orderBy('id')
      .limit(param<number>('limit')),
  );
}

function prepareTake(writer: Kysely<Database>) {
  return prepare(
    writer
      .updateTable('tasks')
      .set({
        lease: param<string>('lease'),
        lease_until_ms: param<number>('until_ms'),
        taken: sql<number>`taken + 1`,
      })
      .where('id', '=', param<string>('id'))
      .where(isFree)
      .returning(['task_group', 'payload', 'taken']),
  );
}
