import { createWriteStream, existsSync, realpathSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Command } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import { isInLayout } from '../../schemas/layout.ts';
import { type CopiedFiles, copyJobFiles, type FileFault } from '../jobs/copy-files.ts';
import { filedAmong } from '../jobs/rows.ts';
import type { Records } from '../metering/records.ts';
import { dumpRecords, rowsOfDump } from '../store/backup.ts';
import { takeLock } from '../store/sqlite-locks.ts';
import { LIST_NAME, linesOf, listText, RECORDS_NAME, syncFolder } from './backup-place.ts';
import { CommandError, type Json, print, withRecords } from './cli.ts';
import { addRestore, type RestoreConfig } from './restore.ts';
import { refuseNowhere } from './whole-file.ts';

interface CreateOptions extends Json {
  readonly withFiles?: boolean;
}

/** `hail-api backup`: the records in one file, or with the files of reports and exports in one folder, and back. */
export function backupCommand(config: () => RestoreConfig): Command {
  const command = new Command('backup').description('the records in one file, and back');

  command
    .command('create <to>')
    .description(
      'write the records of this moment to a new file, readable by its owner only, also while the server runs',
    )
    .option('--with-files', 'write a new folder instead, with the files of reports and exports, too')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Published data are files that any tool can copy. No backup holds the master key: keep records/master.key elsewhere.

Examples:
  hail-api backup create records-2026-05-01.ndjson.gz
  hail-api backup create /srv/backups/2026-05-01 --with-files`,
    )
    .action(async (given: string, { json, withFiles = false }: CreateOptions) => {
      // A name that ends in a slash would put the unfinished backup inside of itself.
      const to = given === '' ? given : resolve(given);
      refuseExisting(to, given, withFiles);
      refuseNowhere('backup', given);
      const settings = config();
      const { data_root, now } = settings;
      refuseInside(data_root, to, given);
      const { rows, copied } = await withRecords(settings, (records) =>
        alone(to, given, async () => {
          refuseExisting(to, given, withFiles);
          return await whole(to, async (partial) => {
            if (!withFiles) return { rows: await writeRecords(records, partial, now()), copied: null };
            return await writeFolder(records, data_root, partial, now());
          });
        }),
      );
      if (copied === null) {
        print(json, { file: given, rows }, [`Wrote ${counted(rows, 'row')} to ${given}.`]);
        return;
      }
      const { files, bytes, faults } = copied;
      print(json, { folder: given, rows, files, bytes, missing: faults }, [
        `Wrote ${counted(rows, 'row')} and ${counted(files, 'file')} of ${counted(bytes, 'byte')} to ${given}.`,
        ...faults.map(({ id, fault }) => `The file of ${id} ${fault}: the backup is without it.`),
      ]);
      if (faults.length > 0) process.exitCode = EXIT.check_found;
    });

  addRestore(command.command('restore <from>'), config);
  return command;
}

function refuseExisting(to: string, given: string, withFiles: boolean): void {
  if (existsSync(to))
    throw new CommandError(EXIT.conflict, `backup ${given}: exists, expected a new ${withFiles ? 'folder' : 'file'}`);
}

/** A file among reports that belongs to none is deleted after a day, as others are in other folders of the root. */
function refuseInside(data_root: string, to: string, given: string): void {
  if (!existsSync(data_root)) return;
  if (isInLayout(relative(realpathSync(data_root), join(realpathSync(dirname(to)), basename(to)))))
    throw new CommandError(
      EXIT.conflict,
      `backup ${given}: lies in a folder of the data root ${data_root}, where it would be deleted, expected another place`,
    );
}

/** Does some work while no other process writes a backup of the same name: each deletes the unfinished one that it finds. */
async function alone<Made>(to: string, given: string, work: () => Promise<Made>): Promise<Made> {
  const lock = `${to}.lock`;
  const release = takeLock(lock);
  if (release === null)
    throw new CommandError(EXIT.conflict, `backup ${given}: is being written by another process, expected none`);
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
    release();
  }
}

/** Makes something under a temporary name and renames it: a backup that exists is complete. */
async function whole<Made>(to: string, make: (partial: string) => Promise<Made>): Promise<Made> {
  const partial = `${to}.partial`;
  await rm(partial, { recursive: true, force: true });
  try {
    const made = await make(partial);
    await rename(partial, to);
    await syncFolder(dirname(to));
    return made;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function writeRecords({ store }: Records, file: string, now_ms: number): Promise<number> {
  let rows = 0;
  await pipeline(
    dumpRecords(store, now_ms, (count) => {
      rows = count;
    }),
    createGzip(),
    createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }),
  );
  return rows;
}

/** Files may run out while they are copied: then the records of a later moment, which no longer name them, are taken. */
const TRIES = 3;

async function writeFolder(
  records: Records,
  data_root: string,
  folder: string,
  now_ms: number,
): Promise<{ readonly rows: number; readonly copied: CopiedFiles }> {
  for (let tried = 1; ; tried++) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    const file = join(folder, RECORDS_NAME);
    const rows = await writeRecords(records, file, now_ms);
    const copied = await copyJobFiles(rowsOfDump(linesOf(file), 'jobs'), data_root, folder);
    if (tried < TRIES && (await hasOutrun(records, copied.faults))) continue;
    const list = { created_at: new Date(now_ms).toISOString(), rows, files: copied.files };
    await writeFile(join(folder, LIST_NAME), listText(list), { mode: 0o600, flush: true });
    await syncFolder(folder);
    return { rows, copied };
  }
}

/** Rows of one look. */
const ROWS_AT_ONCE = 500;

/** True when the records no longer say that a missing file is there. */
async function hasOutrun({ reader }: Records, faults: readonly FileFault[]): Promise<boolean> {
  for (let from = 0; from < faults.length; from += ROWS_AT_ONCE) {
    const some = faults.slice(from, from + ROWS_AT_ONCE);
    const ids = some.map(({ id }) => id);
    const filed = await filedAmong(reader, ids);
    if (some.some(({ id, sha256 }) => filed.get(id) !== sha256)) return true;
  }
  return false;
}
