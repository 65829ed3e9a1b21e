import type { Command } from 'commander';
import {
  createBusiness,
  listBusinesses,
  listMembers,
  purgeBusiness,
  readPlan,
  setStatus,
} from '../accounts/businesses.ts';
import { listKeys } from '../accounts/keys.ts';
import { SELF_HOSTED } from '../accounts/plans.ts';
import type { Config } from '../config.ts';
import { removeFile } from '../jobs/files.ts';
import { filedJobs } from '../jobs/rows.ts';
import { auditLines } from '../records/audit.ts';
import { businessNamed, CommandError, group, label, onBusiness, onRecords } from './cli.ts';

/** `hail-api business`: tenants, and the audit log of operators. */
export function businessCommand(config: () => Config): Command {
  return group('business', 'create, list, show, suspend, resume and delete businesses', [
    onRecords(config, {
      usage: 'create <name>',
      about: 'make a business on plan self-hosted; `plan set` changes what it may do',
      creates: true,
      run: async ({ records, now_ms }, _, given) => {
        const name = label(given);
        const made = await records.transaction((rows) => createBusiness(rows, name, SELF_HOSTED, now_ms));
        if (made === null) throw new CommandError('conflict', `business ${name}: exists, expected a new name`);
        return { json: made };
      },
    }),
    onRecords(config, {
      usage: 'list',
      about: 'every business',
      run: async ({ records }) => ({ json: { businesses: await listBusinesses(records.reader) } }),
    }),
    onBusiness(config, {
      usage: 'show <business>',
      about: 'a business by name or id: plan, members, keys',
      run: async ({ records: { reader }, business, now_ms }) => {
        const plan = await readPlan(reader, business.id);
        const members = await listMembers(reader, business.id);
        return { json: { ...business, plan, members, keys: await listKeys(reader, business.id, now_ms) } };
      },
    }),
    statusCommand(config, 'suspend', 'refuse every call of a business with 403', 'suspended'),
    statusCommand(config, 'resume', 'let a suspended business call again', 'active'),
    onBusiness(config, {
      usage: 'delete <business>',
      about: 'remove a business, its keys, credits, portfolio, reports and exports for good',
      options: (command) => command.requiredOption('--purge', 'say that nothing is to be kept; the audit log is'),
      run: async ({ records, settings, business, now_ms }) => {
        const filed = await filedJobs(records.reader, business.id);
        await records.transaction((rows) => purgeBusiness(rows, records.store, business, now_ms));
        // The sweep removes a file that a job writes at this moment.
        for (const job of filed) await removeFile(settings.data_root, job);
        return { json: { id: business.id, deleted: true } };
      },
    }),
    onRecords(config, {
      usage: 'audit [business]',
      about: 'what operators did, oldest first; of one business by name, or by id when it is gone',
      run: async ({ records }, _, nameOrId?: string) => {
        const gone = await auditLines(records.reader, nameOrId ?? null);
        const isName = gone.length === 0 && nameOrId !== undefined;
        const acts = isName ? await auditLines(records.reader, (await businessNamed(records, nameOrId)).id) : gone;
        return { json: { acts } };
      },
    }),
  ]);
}

function statusCommand(config: () => Config, verb: string, about: string, status: 'suspended' | 'active') {
  return onBusiness(config, {
    usage: `${verb} <business>`,
    about,
    run: async ({ records, business, now_ms }) => {
      const changed = await records.transaction((rows) => setStatus(rows, business, status, now_ms));
      return { json: { id: business.id, status, changed } };
    },
  });
}
