import { randomUUID } from 'node:crypto';
import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
import type { Store } from '../records/database.ts';
import { param, prepare, type Values } from '../records/prepare.ts';
import type { Database } from '../records/tables.ts';
import type { Held, Room, Shelf } from './shelf.ts';

/** Stands where a statement, which has a fixed number of them, is given no group. */
const NO_GROUP = randomUUID();

/** So much the machine's clock may go back against the monotonic one before it counts as put back. */
const STEP_MS = 1_000;

/** Tasks as rows of `tasks`, beside the records that cause them: for SQLite, whose processes have one clock. */
export function tableShelf({ writer, reader }: Store, machine_ms: () => number = Date.now): Shelf {
  const insert = prepareInsert(writer);
  const due = prepareDue(reader);
  const take = prepareTake(writer);
  const remove = prepare(
    writer.deleteFrom('tasks').where('id', '=', param<string>('id')).where('lease', '=', param<string>('lease')),
  );
  const clockWentBack = stepDetector(machine_ms);
  let wentBack = false;

  return {
    add: async (rows, ...tasks) => {
      const added_ms = machine_ms();
      for (const { name, group, payload, due_ms = added_ms } of tasks) {
        const task = { id: randomUUID(), name, task_group: group, payload: JSON.stringify(payload) };
        await rows.executeQuery(insert({ ...task, due_ms, added_ms }));
      }
    },
    exchange: async (name, done, room) => {
      wentBack = clockWentBack() || wentBack;
      if (wentBack) await makeDue(writer, machine_ms());
      wentBack = false;
      const times = () => leaseTimes(machine_ms(), room);
      const chosen = room.most === 0 ? [] : choose((await reader.executeQuery(due(name, room, times()))).rows, room);
      if (done.length === 0 && chosen.length === 0) return [];
      return await writer.transaction().execute(async (rows) => {
        for (const { id, lease } of done) await rows.executeQuery(remove({ id, lease }));
        const lease = randomUUID();
        const taken: Held[] = [];
        for (const id of chosen) {
          const { rows: found } = await rows.executeQuery(take({ id, lease, ...times() }));
          for (const { task_group, payload, taken: count } of found)
            taken.push({ id, group: task_group, payload: JSON.parse(payload), taken: count, lease });
        }
        return taken;
      });
    },
    prolong: async (_, held, lease_ms) => {
      await writer.transaction().execute(async (rows) => {
        for (const { id, lease } of held)
          await rows
            .updateTable('tasks')
            .set({ lease_until_ms: machine_ms() + lease_ms })
            .where('id', '=', id)
            .where('lease', '=', lease)
            .execute();
      });
    },
    close: async () => {},
  };
}

/** Tells whether the machine's clock was put back since it was asked last; the first time it may have been. */
function stepDetector(machine_ms: () => number): () => boolean {
  let ahead_ms = Number.POSITIVE_INFINITY;
  return () => {
    const last_ms = ahead_ms;
    ahead_ms = machine_ms() - performance.now();
    return ahead_ms < last_ms - STEP_MS;
  };
}

/** What was added in the future, by a clock that was put back since, is due now: nobody knows how much of its wait is left. */
async function makeDue(writer: Kysely<Database>, now_ms: number): Promise<void> {
  await writer.transaction().execute(async (rows) => {
    await rows.updateTable('tasks').set({ due_ms: now_ms, added_ms: now_ms }).where('added_ms', '>', now_ms).execute();
  });
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

function leaseTimes(now_ms: number, { lease_ms }: Room): Values {
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
  return (name: string, room: Room, times: Values) => {
    const { full, full_at_most, most, held } = room;
    const statement = statements.get(full_at_most) ?? prepareDueOf(reader, full_at_most);
    statements.set(full_at_most, statement);
    const groups = Array.from({ length: full_at_most }, (_, k) => [`full_${k}`, full[k] ?? NO_GROUP]);
    return statement({ ...Object.fromEntries(groups), name, limit: most + held.size, ...times });
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

function prepareInsert(writer: Kysely<Database>) {
  return prepare(
    writer.insertInto('tasks').values({
      id: param<string>('id'),
      name: param<string>('name'),
      task_group: param<string>('task_group'),
      payload: param<string>('payload'),
      due_ms: param<number>('due_ms'),
      added_ms: param<number>('added_ms'),
      lease_until_ms: 0,
      lease: null,
      taken: 0,
    }),
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
