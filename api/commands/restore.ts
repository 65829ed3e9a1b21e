import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import { layout } from '../../schemas/layout.ts';
import type { Config } from '../config.ts';
import { copyJobFiles, type FileFault, NoFileOfJob } from '../jobs/copy-files.ts';
import { sizeFault } from '../jobs/files.ts';
import { filedJobs } from '../jobs/rows.ts';
import type { Records } from '../metering/records.ts';
import { verifyLedger } from '../metering/verify.ts';
import { DumpRefused, restoreRecords, rowsOfDump } from '../store/backup.ts';
import { endDeliveryPause, pauseDeliveries } from '../store/delivery-pause.ts';
import { masterKeyFault } from '../store/secrets.ts';
import { takeServiceLock } from '../store/sqlite-locks.ts';
import { type BackupPlace, findBackup, LineTooLong, linesOf } from './backup-place.ts';
import { CommandError, type Json, print, type RecordsConfig, withRecords } from './cli.ts';
import { ledgerLines } from './usage.ts';

/** What the command needs of the settings. */
export type RestoreConfig = RecordsConfig & Pick<Config, 'master_keys'>;

interface RestoreOptions extends Json {
  readonly replace?: boolean;
  readonly originalIsGone?: boolean;
}

/** Command that ends the pause of a restored copy. */
export const RESUME = 'hail-api webhook resume --original-is-gone';

/** `hail-api restore`: puts a backup into this data root. */
export function restoreCommand(config: () => RestoreConfig): Command {
  return addRestore(new Command('restore').argument('<from>'), config);
}

/** Makes a command restore. */
export function addRestore(command: Command, config: () => RestoreConfig): Command {
  return command
    .description('put a backup into empty records, all of it or nothing, and say what no backup holds')
    .option('--replace', 'delete what the records hold first, in the same transaction')
    .option('--original-is-gone', 'the service that the backup was taken from sends nothing any more: send at once')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
A restored service answers at once, but sends no event and no mail until it is told that its original is gone:
  ${RESUME}`,
    )
    .action(async (from: string, options: RestoreOptions) => {
      const settings = config();
      const place = await findBackup(from);
      const done = await withoutService(settings, from, () =>
        withRecords(settings, (records) => restore(records, settings, from, place, options), { create: true }),
      );
      const { rows, files, check, missing, paused } = done;
      print(options.json, { file: from, rows, files, ledger: check, missing, paused }, [
        `Restored ${counted(rows, 'row')}${place.files_root === null ? '' : ` and ${counted(files, 'file')}`}.`,
        ...ledgerLines(check),
        ...missing.map(({ what, message }) => `Missing: ${what}: ${message}`),
        ...(paused
          ? [`Events and mails wait, because the original may still send them. Once it is gone: ${RESUME}`]
          : []),
      ]);
      if (check.faults.length > 0 || missing.some(({ what }) => what === FILES)) process.exitCode = EXIT.check_found;
    });
}

/** Something that a service needs and that the backup did not bring. */
interface Missing {
  readonly what: string;
  readonly message: string;
}

const FILES = 'files of reports and exports';

/** Files first: a command that is killed leaves records without a business, and another run ends what it began. */
async function restore(
  records: Records,
  settings: RestoreConfig,
  from: string,
  { records: file, files_root, rows: listed }: BackupPlace,
  { replace = false, originalIsGone = false }: RestoreOptions,
) {
  const { store, reader } = records;
  const { data_root, now } = settings;
  try {
    if (!replace && (await reader.selectFrom('businesses').select('id').limit(1).executeTakeFirst()) !== undefined)
      throw new CommandError(
        EXIT.conflict,
        `backup ${from}: records ${store.name} hold businesses, expected none; --replace deletes them`,
      );
    const copied =
      files_root === null ? null : await copyJobFiles(rowsOfDump(linesOf(file), 'jobs'), files_root, data_root);
    const rows = await restoreRecords(store, linesOf(file), {
      replace,
      last: async (transaction, count) => {
        if (listed !== null && count !== listed)
          throw new DumpRefused(`${file} holds ${count} rows and the list says ${listed}: they are of two backups`);
        if (originalIsGone) await endDeliveryPause(transaction);
        else await pauseDeliveries(transaction, 'the records were restored from a backup', now());
      },
    });
    const missing = [
      ...(await missingKey(records, settings)),
      ...(await missingFiles(records, data_root, copied?.faults ?? [])),
      ...missingData(data_root),
    ];
    return { rows, files: copied?.files ?? 0, check: await verifyLedger(reader), missing, paused: !originalIsGone };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith('Z_')) throw new CommandError(EXIT.failure, `backup ${from}: is cut short or not a backup`);
    if (code === 'ENOENT' && !existsSync(file))
      throw new CommandError(EXIT.failure, `backup ${from}: ${file} is missing, expected the records`);
    if (error instanceof NoFileOfJob || error instanceof LineTooLong)
      throw new CommandError(EXIT.failure, `backup ${from}: ${error.message}`);
    if (!(error instanceof DumpRefused)) throw error;
    throw new CommandError(error.conflict ? EXIT.conflict : EXIT.failure, `backup ${from}: ${error.message}`);
  }
}

/** Runs `work` while no service has these SQLite records; on PostgreSQL nobody can tell. */
async function withoutService<Result>(
  { data_root, database_url }: RestoreConfig,
  from: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const release = database_url === null ? takeServiceLock(data_root) : () => {};
  if (release === null)
    throw new CommandError(
      EXIT.conflict,
      `backup ${from}: a service runs on the records of ${data_root}, expected none: stop it first`,
    );
  try {
    return await work();
  } finally {
    release();
  }
}

async function missingKey(records: Records, { data_root, master_keys }: RestoreConfig): Promise<readonly Missing[]> {
  const fault = await masterKeyFault(records, { records_root: data_root, master_keys });
  if (fault === null) return [];
  return [
    {
      what: 'master key',
      message: `${fault}. No backup contains it, on purpose: put your own copy there before the service starts`,
    },
  ];
}

/** Files that are named. */
const NAMED = 3;

/** `known`: what is wrong with files of the backup. */
async function missingFiles(
  { reader }: Records,
  data_root: string,
  known: readonly FileFault[],
): Promise<readonly Missing[]> {
  const reasons = new Map(known.map(({ id, fault }) => [id, `${fault} in the backup`]));
  const faults: string[] = [];
  for (const job of await filedJobs(reader, null)) {
    if (job.status !== 'done') continue;
    const fault = await sizeFault(data_root, job);
    if (fault !== null) faults.push(`the file of ${job.id} ${reasons.get(job.id) ?? fault}`);
  }
  if (faults.length === 0) return [];
  const more = faults.length > NAMED ? [`${faults.length - NAMED} more`] : [];
  const message = `${[...faults.slice(0, NAMED), ...more].join('; ')}. Copy reports/ and exports/ of the original before the service starts, or these are refunded when a client asks for them`;
  return [{ what: FILES, message }];
}

function missingData(data_root: string): readonly Missing[] {
  if (existsSync(join(data_root, layout.current))) return [];
  return [
    {
      what: 'published data',
      message: `${data_root} holds no scans. A backup has none: copy the data root of the original, or fill it with hail-pipeline`,
    },
  ];
}
