import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql, type Transaction } from 'kysely';
import { machineClock } from '../clock.ts';
import type { Store } from '../database.ts';
import { isDead, OWNER } from '../owner.ts';
import { param, prepare } from '../prepare.ts';
import type { Database } from '../schema.ts';
import type { Candidate, ClaimedTask, TaskStore } from './queue.ts';

/** A difference of this size between two measurements, in milliseconds, means that the clock was set. */
const STEP_MS = 1_000;
/** A slower answer says too little about the clock: how far a measurement may be off. */
const SLOW_ANSWER_MS = STEP_MS / 2;
/** Interval of the measurements on PostgreSQL, where each is a round trip. */
const MEASURE_EVERY_MS = 1_000;
/** Candidates of one claim, however many tenants wait. */
const CANDIDATES_MAX = 1_000;

/**
 * Tasks as rows of `tasks`, in the database of the records. Times are those of one clock: of the machine on SQLite, of the server
 * on PostgreSQL. pg-boss is not used on PostgreSQL: its public fetch cannot share claims among tenants, its heartbeats are at
 * least 10 s and end no lease of a dead process, and it has no rule for a clock that is set.
 */
export function tableTaskStore(store: Store, machine_ms: () => number = machineClock): TaskStore {
  const { writer, reader } = store;
  const { clock_ms, ...statements } = statementsOf(store, machine_ms);
  /** By task name: the last measurement, and the clock minus the monotonic clock as times are stored. */
  const measured = new Map<string, { at_ms: number; readonly offset_ms: number }>();
  /** Leases of claims that failed: where the answer to their COMMIT was lost, nothing runs under them. */
  const unused = new Set<string>();

  /** Parameters that say what time it is: on PostgreSQL no later than by the last measurement, until the next one shows a step. */
  const clockOf = (name: string) => {
    const offset_ms = measured.get(name)?.offset_ms;
    const latest_ms = (offset_ms ?? Number.POSITIVE_INFINITY) + performance.now() + SLOW_ANSWER_MS;
    return { now_ms: machine_ms(), latest_ms: Math.min(Math.round(latest_ms), Number.MAX_SAFE_INTEGER) };
  };

  async function endLeases(leases: readonly string[]): Promise<void> {
    const end = statements.endLeases({ leases: JSON.stringify(leases) });
    await writer.transaction().execute((rows) => rows.executeQuery(end));
  }

  async function endUnused(): Promise<void> {
    const leases = [...unused];
    if (leases.length === 0) return;
    await endLeases(leases);
    for (const lease of leases) unused.delete(lease);
  }

  /** Moves the times of tasks when the clock was set, so that the rest of each wait stays the same. */
  async function followClock(name: string, lease_ms: number): Promise<void> {
    const asked_ms = performance.now();
    const last = measured.get(name);
    if (store.kind === 'postgres' && last !== undefined && asked_ms - last.at_ms < MEASURE_EVERY_MS) return;
    const now_ms = await clock_ms();
    const answered_ms = performance.now();
    if (answered_ms - asked_ms > SLOW_ANSWER_MS) return;
    const offset_ms = now_ms - answered_ms;
    const step_ms = last === undefined ? null : offset_ms - last.offset_ms;
    if (last !== undefined) last.at_ms = answered_ms;
    if (step_ms !== null && Math.abs(step_ms) < STEP_MS) return;
    await writer.transaction().execute(async (rows) => {
      if (step_ms === null) await makeDue(rows, name, now_ms);
      else await moveTimes(rows, { name, now_ms, lease_ms, step_ms: Math.round(step_ms) });
    });
    measured.set(name, { at_ms: answered_ms, offset_ms });
  }

  return {
    add: async (rows, ...tasks) => {
      const now_ms = machine_ms();
      const added = tasks.map(({ name, group, tenant = group, retry = false, payload, due_ms = now_ms }) => ({
        ...{ id: randomUUID(), name, group, tenant, retry: retry ? 1 : 0, payload: JSON.stringify(payload) },
        wait_ms: Math.round(due_ms - now_ms),
      }));
      await rows.executeQuery(statements.insert({ tasks: JSON.stringify(added), now_ms }));
    },
    ackAndClaim: async (name, done, { most, choose, full, full_tenants, held, lease_ms }) => {
      await followClock(name, lease_ms);
      await endUnused();
      const candidates = async () => {
        const lists = { full: JSON.stringify(full), full_tenants: JSON.stringify(full_tenants) };
        const query = { name, ...lists, held: JSON.stringify([...held]), most, lease_ms, ...clockOf(name) };
        return (await reader.executeQuery(statements.due(query))).rows;
      };
      const chosen = most === 0 ? [] : choose(await candidates(), most);
      if (done.length === 0 && chosen.length === 0) return [];
      const lease = `${OWNER} ${randomUUID()}`;
      const claiming = writer.transaction().execute(async (rows) => {
        if (done.length > 0) await rows.executeQuery(statements.remove(leasesOf(done)));
        if (chosen.length === 0) return [];
        const claim = statements.claim({ ids: JSON.stringify(chosen), lease, lease_ms, ...clockOf(name) });
        const { rows: claimed } = await rows.executeQuery(claim);
        return claimed
          .map((task) => ({ ...task, tenant: task.tenant || task.group, payload: JSON.parse(task.payload), lease }))
          .toSorted((a, b) => chosen.indexOf(a.id) - chosen.indexOf(b.id));
      });
      return await claiming.catch((error) => {
        unused.add(lease);
        throw error;
      });
    },
    extendLease: async (_, held, lease_ms) => {
      const extend = statements.extend({ ...leasesOf(held), lease_ms, now_ms: machine_ms() });
      await writer.transaction().execute((rows) => rows.executeQuery(extend));
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
      await endLeases(ended);
    },
  };
}

interface ClaimedRow extends Pick<ClaimedTask, 'id' | 'group' | 'tenant' | 'taken'> {
  readonly payload: string;
}

/**
 * The statements of the store and its clock, epoch milliseconds. Statements that change several rows pass over rows that another
 * transaction holds, so no two of them wait for each other.
 */
function statementsOf({ kind, writer, reader, skipLocked }: Store, machine_ms: () => number) {
  const isSqlite = kind === 'sqlite';
  const [name, lease_ms] = [param<string>('name'), param<number>('lease_ms')];
  const server_ms = sql<number>`(select floor(extract(epoch from statement_timestamp()) * 1000)::bigint)`;
  const now_ms = isSqlite ? param<number>('now_ms') : server_ms;
  const list = (items: string) =>
    isSqlite
      ? sql`(select value from json_each(${param<string>(items)}))`
      : sql`(select jsonb_array_elements_text(${param<string>(items)}::jsonb))`;
  const tasks = param<string>('tasks');
  const added = isSqlite ? sql`json_each(${tasks})` : sql`jsonb_array_elements(${tasks}::jsonb) as added (value)`;
  // A clock that was set forward makes nothing due before the times of tasks are moved.
  const due_now_ms = isSqlite ? now_ms : sql`least(${server_ms}, ${param<number>('latest_ms')}::bigint)`;
  // A lease that reaches twice as far as any can was given before the clock was set back.
  const is_free = sql`(lease_until_ms <= ${due_now_ms} or lease_until_ms > ${now_ms} + 2 * ${lease_ms})`;
  const is_leased = sql`id in ${list('ids')} and id || ' ' || lease in ${list('leases')}`;
  const unlocked = (condition: RawBuilder<unknown>) =>
    sql`with unlocked as materialized (select id from tasks where ${condition} ${skipLocked})`;
  const of_tenant = (columns: RawBuilder<unknown>) => sql`
    select ${columns} from tasks as due
    where name = ${name} and tenant = waiting.tenant and due_ms <= ${due_now_ms} and ${is_free}
      and task_group not in ${list('full')} and id not in ${list('held')}
    order by retry, due_ms, id limit ${param<number>('most')}`;
  const joined = isSqlite
    ? sql`cross join tasks on tasks.id in (${of_tenant(sql`id`)})`
    : sql`cross join lateral (${of_tenant(sql`id, task_group, tenant, retry, due_ms`)}) as tasks`;
  const written = <Row>(query: RawBuilder<Row>) => prepare({ compile: () => query.compile(writer) });
  return {
    clock_ms: async () => {
      if (isSqlite) return machine_ms();
      const { rows } = await sql<{ now_ms: number }>`select ${server_ms} as now_ms`.execute(reader);
      return Number(rows[0]?.now_ms);
    },
    insert: written(sql`
      insert into tasks (id, name, task_group, tenant, retry, payload, due_ms, added_ms, lease_until_ms, taken)
      select value ->> 'id', value ->> 'name', value ->> 'group', value ->> 'tenant', cast(value ->> 'retry' as bigint),
        value ->> 'payload', ${now_ms} + cast(value ->> 'wait_ms' as bigint), ${now_ms}, 0, 0
      from ${added}`),
    /**
     * Due tasks of tenants and groups with room: of each tenant at most `most`, first attempts before retries, the longest due
     * first; of all tenants their first ones before their second ones. The query skips from tenant to tenant in the index
     * `tasks_by_tenant`, so it never reads through the backlog of one.
     */
    due: prepare({
      compile: () =>
        sql<Candidate>`
        with recursive waiting (tenant) as (
          select min(tenant) from tasks where name = ${name}
          union all
          select (select min(tenant) from tasks where name = ${name} and tenant > waiting.tenant)
          from waiting where waiting.tenant is not null
        )
        select tasks.id, task_group as "group", coalesce(nullif(tasks.tenant, ''), task_group) as tenant
        from waiting ${joined}
        where waiting.tenant not in ${list('full_tenants')}
        order by row_number() over (partition by tasks.tenant order by retry, due_ms, tasks.id), retry, due_ms, tasks.id
        limit ${sql.lit(CANDIDATES_MAX)}`.compile(reader),
    }),
    claim: written(sql<ClaimedRow>`
      ${unlocked(sql`id in ${list('ids')} and ${is_free}`)}
      update tasks set lease = ${param<string>('lease')}, lease_until_ms = ${now_ms} + ${lease_ms}, taken = taken + 1
      where id in (select id from unlocked)
      returning id, task_group as "group", tenant, payload, taken`),
    remove: written(sql`delete from tasks where ${is_leased}`),
    extend: written(sql`
      ${unlocked(is_leased)}
      update tasks set lease_until_ms = ${now_ms} + ${lease_ms} where id in (select id from unlocked)`),
    endLeases: written(sql`
      ${unlocked(sql`lease in ${list('leases')}`)}
      update tasks set lease = null, lease_until_ms = 0 where id in (select id from unlocked)`),
  };
}

/** Parameters that name tasks and the leases under which they were claimed. */
function leasesOf(tasks: readonly ClaimedTask[]) {
  return {
    ids: JSON.stringify(tasks.map(({ id }) => id)),
    leases: JSON.stringify(tasks.map(({ id, lease }) => `${id} ${lease}`)),
  };
}

/**
 * Makes tasks due now that were added in the future: the clock was set back while no process watched it, and the rest of their
 * wait is unknown. Tasks that a clock set forward made due too early cannot be recognised.
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
  /** How far the clock was set forward; negative: back. */
  readonly step_ms: number;
  readonly lease_ms: number;
}

/**
 * Moves the times that were stored before the clock was set. `added_ms` shows which those are. Where it is ambiguous, for steps
 * shorter than the wait of a task, the times stay, and the wait is off by at most the step. A second process that moves the
 * same times changes nothing.
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

/** The process that a lease names: the part before the last blank. A lease of an earlier version names none. */
function ownerOf(lease: string): string {
  return lease.slice(0, Math.max(0, lease.lastIndexOf(' ')));
}
