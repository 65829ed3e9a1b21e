import { Command } from 'commander';
import { EXIT } from '../../schemas/command-line.ts';
import {
  type Business,
  createBusiness,
  listBusinesses,
  purgeBusiness,
  readPlan,
  setStatus,
} from '../accounts/businesses.ts';
import { listKeys } from '../accounts/keys.ts';
import { listMembers } from '../accounts/members.ts';
import { SELF_HOSTED } from '../accounts/plans.ts';
import type { Records } from '../billing/records.ts';
import { removeFile } from '../jobs/files.ts';
import { filedJobs } from '../jobs/rows.ts';
import { auditLines } from '../records/audit.ts';
import { businessNamed, CommandError, type Json, label, print, type RecordsConfig, table, withRecords } from './cli.ts';
import { planLines } from './plan.ts';

/** `hail-api business`: tenants, and the audit log of operators. */
export function businessCommand(config: () => RecordsConfig): Command {
  const command = new Command('business').description('create, list, show, suspend, resume and delete businesses');

  command
    .command('create')
    .argument('<name>', 'up to 100 characters', label)
    .description('make a business on plan self-hosted; `plan set` changes what it may do')
    .option('--json', 'print one JSON object')
    .action(async (name: string, { json }: Json) => {
      const settings = config();
      const business = await withRecords(settings, (records) => create(records, name, settings.now()), {
        create: true,
      });
      print(json, business, [`Made business ${name} (${business.id}).`]);
    });

  command
    .command('list')
    .description('every business')
    .option('--json', 'print one JSON object')
    .action(async ({ json }: Json) => {
      const businesses = await withRecords(config(), (records) => listBusinesses(records.reader));
      const lines = businesses.map(({ id, name, status, created_at }) => [name, id, status, created_at]);
      print(json, { businesses }, table(['name', 'id', 'status', 'made'], lines, 'There is no business.'));
    });

  command
    .command('show <business>')
    .description('a business by name or id: plan, members, keys')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string, { json }: Json) => {
      const settings = config();
      const shown = await withRecords(settings, (records) => show(records, nameOrId, settings.now()));
      print(json, shown, [
        `${shown.name} (${shown.id}), ${shown.status}, made ${shown.created_at}`,
        ...planLines(shown.plan),
        ...table(
          ['member', 'role'],
          shown.members.map(({ email, role }) => [email, role]),
          'no members',
        ),
        ...table(
          ['key', 'public id', 'kind', 'status'],
          shown.keys.map(({ name, public_id, kind, status }) => [name, public_id, kind, status]),
          'no keys',
        ),
      ]);
    });

  for (const [verb, status, past] of [
    ['suspend', 'suspended', 'suspended'],
    ['resume', 'active', 'active'],
  ] as const)
    command
      .command(`${verb} <business>`)
      .description(
        verb === 'suspend' ? 'refuse every call of a business with 403' : 'let a suspended business call again',
      )
      .option('--json', 'print one JSON object')
      .action(async (nameOrId: string, { json }: Json) => {
        const settings = config();
        const { business, changed } = await withRecords(settings, async (records) => {
          const business = await businessNamed(records, nameOrId);
          const changed = await records.transaction((rows) => setStatus(rows, business, status, settings.now()));
          return { business, changed };
        });
        print(json, { id: business.id, status, changed }, [
          `${business.name} ${changed ? 'is now' : 'already was'} ${past}.`,
        ]);
      });

  command
    .command('delete <business>')
    .description('remove a business, its keys, credits, portfolio, reports and exports for good')
    .option('--purge', 'say that nothing is to be kept; the audit log is')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string, { json, purge }: Json & { readonly purge?: true }) => {
      if (!purge)
        throw new CommandError(
          EXIT.usage,
          `business ${nameOrId}: --purge is missing, expected it, for nothing is kept`,
        );
      const settings = config();
      const business = await withRecords(settings, async (records) => {
        const found = await businessNamed(records, nameOrId);
        const filed = await filedJobs(records.reader, found.id);
        await records.transaction((rows) => purgeBusiness(rows, records.store, found, settings.now()));
        // The sweep removes a file that a job writes at this moment.
        for (const job of filed) await removeFile(settings.data_root, job);
        return found;
      });
      print(json, { id: business.id, deleted: true }, [`Deleted business ${business.name} (${business.id}).`]);
    });

  command
    .command('audit [business]')
    .description('what operators did, oldest first; of one business by name, or by id when it is gone')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string | undefined, { json }: Json) => {
      const lines = await withRecords(config(), (records) => audit(records, nameOrId ?? null));
      const rows = lines.map(({ at, actor, act, subject, detail }) => [
        at,
        actor,
        act,
        subject,
        JSON.stringify(detail),
      ]);
      print(json, { acts: lines }, table(['when', 'who', 'act', 'on', 'detail'], rows, 'Nothing was done.'));
    });

  return command;
}

async function create(records: Records, name: string, now_ms: number): Promise<Business> {
  const business = await records.transaction((rows) => createBusiness(rows, name, SELF_HOSTED, now_ms));
  if (business === null) throw new CommandError(EXIT.conflict, `business ${name}: exists, expected a new name`);
  return business;
}

async function show(records: Records, nameOrId: string, now_ms: number) {
  const business = await businessNamed(records, nameOrId);
  return {
    ...business,
    plan: await readPlan(records.reader, business.id),
    members: await listMembers(records.reader, business.id),
    keys: await listKeys(records.reader, business.id, now_ms),
  };
}

async function audit(records: Records, nameOrId: string | null) {
  if (nameOrId === null) return await auditLines(records.reader, null);
  const gone = await auditLines(records.reader, nameOrId);
  return gone.length > 0 ? gone : await auditLines(records.reader, (await businessNamed(records, nameOrId)).id);
}
