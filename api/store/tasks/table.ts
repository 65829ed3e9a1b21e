import { randomUUID } from 'node:crypto';
import { type ExpressionBuilder, type Kysely, sql, type Transaction } from 'kysely';
import type { Store } from '../database.ts';
import { isDead, OWNER } from '../owner.ts';
import { param, prepare, type Values } from '../prepare.ts';
import type { Database } from '../schema.ts';
import type { Candidate, ClaimedTask, ClaimLimits, TaskStore } from './task-store.ts';

/** So much the machine's clock may run away from the monotonic one between two looks before it counts as set. */
const STEP_MS = 1_000;

/** Milliseconds that never go back and are never set, from any instant. */
const monotonic = () => performance.now();

/** Tasks as rows of `tasks`, beside the records that cause them: for SQLite, whose processes have one clock. */
export function tableTaskStore({ writer, reader }: Store, machine_ms: () => number = Date.now): TaskStore {
  const insert = prepareInsert(writer);
  const due = prepareDue(reader);
  const take = prepareTake(writer);
  const remove = prepare(
    writer.deleteFrom('tasks').where('id', '=', param<string>('id')).where('lease', '=', param<string>('lease')),
  );
  /** By how much the machine's clock was ahead of the monotonic one at the last look for a name. */
  const ahead_ms = new Map<string, number>();

  /** Moves the times of tasks with the machine's clock when that was set, so that what is left of their waits stays the same. */
  async function followClock(name: string, lease_ms: number): Promise<void> {
    const now_ms = machine_ms();
    const known_ms = ahead_ms.get(name);
    const now_ahead_ms = now_ms - monotonic();
    const step_ms = known_ms === undefined ? null : now_ahead_ms - known_ms;
    if (step_ms !== null && Math.abs(step_ms) < STEP_MS) return;
    await writer.transaction().execute(async (rows) => {
      if (step_ms === null) await makeDue(rows, name, now_ms);
      else await moveTimes(rows, { name, now_ms, lease_ms, step_ms: Math.round(step_ms) });
    });
    ahead_ms.set(name, now_ahead_ms);
  }

  return {
    add: async (rows, ...tasks) => {
      const added_ms = machine_ms();
      for (const { name, group, tenant = group, retry = false, payload, due_ms = added_ms } of tasks) {
        const task = { id: randomUUID(), name, task_group: group, tenant, payload: JSON.stringify(payload) };
        await rows.executeQuery(insert({ ...task, retry: retry ? 1 : 0, due_ms, added_ms }));
      }
    },
    ackAndClaim: async (name, done, room) => {
      await followClock(name, room.lease_ms);
      const times = () => leaseTimes(machine_ms(), room);
      const chosen =
        room.most === 0 ? [] : room.choose((await reader.executeQuery(due(name, room, times()))).rows, room.most);
      if (done.length === 0 && chosen.length === 0) return [];
      return await writer.transaction().execute(async (rows) => {
        for (const { id, lease } of done) await rows.executeQuery(remove({ id, lease }));
        const lease = `${OWNER} ${randomUUID()}`;
        const taken: ClaimedTask[] = [];
        for (const id of chosen) {
          const { rows: found } = await rows.executeQuery(take({ id, lease, ...times() }));
          for (const { task_group: group, tenant, payload, taken: count } of found)
            taken.push({ id, group, tenant: tenant || group, payload: JSON.parse(payload), taken: count, lease });
        }
        return taken;
      });
    },
    extendLease: async (_, held, lease_ms) => {
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
    payloads: async (name) => {
      const tasks = await reader.selectFrom('tasks').select('payload').where('name', '=', name).execute();
      return tasks.map(({ payload }) => JSON.parse(payload));
    },
    endLeasesOfDead: async () => {
      const leased = await reader
        .selectFrom('tasks')
        .select('lease')
        .distinct()
        .where('lease', 'is not', null)
        .where('lease_until_ms', '>', 0)
        .execute();
      const ended = leased.flatMap(({ lease }) => (lease !== null && isDead(ownerOf(lease)) ? [lease] : []));
      if (ended.length === 0) return;
      await writer.transaction().execute(async (rows) => {
        for (const lease of ended)
          await rows.updateTable('tasks').set({ lease: null, lease_until_ms: 0 }).where('lease', '=', lease).execute();
      });
    },
    close: async () => {},
  };
}

/**
 * What was added in the future is due now: the clock was put back between two looks, and it is not known how much of its wait is
 * left. What a clock that was put forward made due too early is not known at all.
 */
async function makeDue(rows: Transaction<Database>, name: string, now_ms: number): Promise<void> {
  await rows
    .updateTable('tasks')
    .set({ due_ms: now_ms, added_ms: now_ms })
    .where('name', '=', name)
    .where('added_ms', '>', now_ms)
    .execute();
}

interface ClockStep {
  readonly name: string;
  /** After the step. */
  readonly now_ms: number;
  /** How far the clock was put forward, negative for back. */
  readonly step_ms: number;
  readonly lease_ms: number;
}

/**
 * Moves times that were noted by the clock as it was before a step. Those noted after it are recognised by when they were added; where
 * that is not clear, for steps shorter than a task waits, they stay, and the wait is off by no more than the step. So a second
 * process that moves them again changes nothing.
 */
async function moveTimes(rows: Transaction<Database>, { name, now_ms, step_ms, lease_ms }: ClockStep): Promise<void> {
  const before_ms = now_ms - step_ms;
  const added = rows
    .updateTable('tasks')
    .set((eb) => ({ due_ms: eb('due_ms', '+', step_ms), added_ms: eb('added_ms', '+', step_ms) }))
    .where('name', '=', name);
  const leased = rows
    .updateTable('tasks')
    .set((eb) => ({ lease_until_ms: eb('lease_until_ms', '+', step_ms) }))
    .where('name', '=', name);
  if (step_ms < 0) {
    await added.where('added_ms', '>', now_ms).execute();
    await leased.where('lease_until_ms', '>', now_ms + lease_ms).execute();
    return;
  }
  await added
    .where('due_ms', '>', before_ms)
    .where('added_ms', '<=', before_ms)
    .where('added_ms', '>', before_ms - step_ms)
    .execute();
  await leased.where('lease_until_ms', '>', before_ms).where('lease_until_ms', '<=', now_ms).execute();
}

/** The process that a lease names: it stands before the last blank. A lease of an earlier version names none. */
function ownerOf(lease: string): string {
  return lease.slice(0, Math.max(0, lease.lastIndexOf(' ')));
}

function leaseTimes(now_ms: number, { lease_ms }: ClaimLimits): Values {
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

/**
 * Due tasks of tenants and groups that are not full: of each tenant first attempts, then retries, the longest due first, no more
 * than are wanted. Tenants are found by skipping from one to the next in the index: the
 * backlog of one is not read through for the others.
 */
function prepareDue(reader: Kysely<Database>) {
  const [name, now_ms, limit] = [param<string>('name'), param<number>('now_ms'), param<number>('limit')];
  const query = sql<Candidate>`
    with recursive waiting (tenant) as (
      select min(tenant) from tasks where name = ${name}
      union all
      select (select min(tenant) from tasks where name = ${name} and tenant > waiting.tenant)
      from waiting where waiting.tenant is not null
    )
    select tasks.id, tasks.task_group as "group", coalesce(nullif(tasks.tenant, ''), tasks.task_group) as tenant
    from waiting cross join tasks
    where waiting.tenant not in (select value from json_each(${param<string>('full_tenants')}))
      and tasks.id in (
        select due.id from tasks as due
        where due.name = ${name} and due.tenant = waiting.tenant and due.due_ms <= ${now_ms}
          and (due.lease_until_ms <= ${now_ms} or due.lease_until_ms > ${param<number>('absurd_ms')})
          and due.task_group not in (select value from json_each(${param<string>('full')}))
          and due.id not in (select value from json_each(${param<string>('held')}))
        order by due.retry, due.due_ms, due.id
        limit ${limit}
      )
    order by tasks.retry, tasks.due_ms, tasks.id`;
  const statement = prepare({ compile: () => query.compile(reader) });
  return (task_name: string, { full, full_tenants, most, held }: ClaimLimits, times: Values) =>
    statement({
      ...times,
      name: task_name,
      full: JSON.stringify(full),
      full_tenants: JSON.stringify(full_tenants),
      held: JSON.stringify([...held]),
      limit: most,
    });
}

function prepareInsert(writer: Kysely<Database>) {
  return prepare(
    writer.insertInto('tasks').values({
      id: param<string>('id'),
      name: param<string>('name'),
      task_group: param<string>('task_group'),
      tenant: param<string>('tenant'),
      retry: param<number>('retry'),
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
      .returning(['task_group', 'tenant', 'payload', 'taken']),
  );
}
