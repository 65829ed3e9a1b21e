import type { Store } from '../records/database.ts';
import { isOutage } from '../records/errors.ts';
import { EARLIER_COMMIT } from '../records/migrate.ts';
import { openCommitJournal, type UnresolvedCommit } from './commit-journal.ts';
import { type Charge, REQUEST_ID, refundAll, refundId } from './ledger.ts';
import { wasCommitted } from './outcome.ts';

/** How often the outcome of a commit is asked for that could not be looked up. */
const RESOLVE_EVERY_MS = 250;
const REASON = 'the answer to its commit was lost, and nothing was served';

/** Commits of charges whose outcome is not known: found out as soon as the database can be reached, and taken back if made. */
export interface UnresolvedCommits {
  /** Keeps a commit, in the journal too, before its callers are answered. `resolved` is called with its outcome. */
  readonly add: (id: string, charges: readonly Charge[], resolved: (committed: boolean) => void) => void;
  /** Resolves what it can, the last that this does; what is left is in the journal for the next start. */
  readonly close: () => Promise<void>;
}

export interface UnresolvedCommitsOptions {
  readonly store: Store;
  /** A file that keeps what is in doubt over a restart; null: memory alone. */
  readonly journal: string | null;
  /** Called with a line for each commit that was resolved. */
  readonly report: (line: string) => void;
}

/** Begins with what an earlier process left in the journal. Throws when the journal is not one. */
export function openUnresolvedCommits({ store, journal, report }: UnresolvedCommitsOptions): UnresolvedCommits {
  const open = new Map<string, { readonly doubt: UnresolvedCommit; readonly resolved: (committed: boolean) => void }>();
  const file = openCommitJournal(journal);
  let timer: NodeJS.Timeout | null = null;
  let resolving: Promise<void> | null = null;

  function write(): void {
    try {
      file.write([...open.values()].map(({ doubt }) => doubt).filter(({ charges }) => charges.length > 0));
    } catch (error) {
      report(
        `records: ${journal} cannot be written, what is in doubt is forgotten at the next start (${String(error)})`,
      );
    }
  }

  /** By any of its charges: the ledger rows of a business that was deleted meanwhile are gone. */
  async function wasMade({ id, charges }: UnresolvedCommit): Promise<boolean> {
    for (const each of new Set([id, ...charges.map(({ request_id = id }) => request_id)]))
      if (await wasCommitted(store, each)) return true;
    return false;
  }

  async function resolve(commit: UnresolvedCommit): Promise<boolean> {
    const { id, charges } = commit;
    if (charges.length > 0 && !REQUEST_ID.test(id)) return await resolveEarlier(commit);
    if (!(await wasMade(commit))) return false;
    if (charges.length === 0) return true;
    await store.writer.transaction().execute(async (rows) => {
      // Another process may have read the same journal: its refund ends first.
      const businesses = charges.map(({ business_id }) => business_id);
      const months = rows.selectFrom('periods').select('used').where('business_id', 'in', businesses);
      await months.orderBy('business_id').orderBy('period').modifyEnd(store.forUpdate).execute();
      // The answer to the COMMIT of a refund may be lost too: it is not given twice.
      const ids = charges.map(({ request_id = id }) => refundId(request_id));
      const refund = rows.selectFrom('ledger').select('id').where('request_id', 'in', ids);
      if ((await refund.executeTakeFirst()) === undefined) await refundAll(rows, charges, REASON);
    });
    return true;
  }

  /** Commits of an earlier version are settings, removed with the refund. */
  async function resolveEarlier({ id, charges }: UnresolvedCommit): Promise<boolean> {
    return await store.writer.transaction().execute(async (rows) => {
      const made = rows.deleteFrom('settings').where('name', '=', `${EARLIER_COMMIT}${id}`);
      if ((await made.executeTakeFirst()).numDeletedRows === 0n) return false;
      await refundAll(rows, charges, REASON);
      return true;
    });
  }

  async function resolveAll(): Promise<void> {
    try {
      for (const { doubt, resolved } of open.values()) {
        const committed = await resolve(doubt);
        open.delete(doubt.id);
        write();
        resolved(committed);
        report(`records: commit ${doubt.id} was ${committed ? 'made, and its charges are refunded' : 'not made'}`);
      }
    } catch (error) {
      if (!isOutage(error)) throw error;
    }
  }

  function later(): void {
    timer ??= setTimeout(() => {
      timer = null;
      resolving = resolveAll().finally(() => {
        resolving = null;
        if (open.size > 0) later();
      });
    }, RESOLVE_EVERY_MS).unref();
  }

  for (const doubt of file.left) if (doubt.charges.length > 0) open.set(doubt.id, { doubt, resolved: () => {} });
  if (open.size > 0) later();

  return {
    add: (id, charges, resolved) => {
      open.set(id, { doubt: { id, charges: [...charges] }, resolved });
      write();
      later();
    },
    close: async () => {
      if (timer !== null) clearTimeout(timer);
      await resolving;
      if (timer !== null) clearTimeout(timer);
      await resolveAll().finally(file.close);
    },
  };
}
