import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { Command } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import type { Records } from '../metering/records.ts';
import { verifyLedger } from '../metering/verify.ts';
import { DumpRefused, dumpRecords, restoreRecords } from '../store/backup.ts';
import { CommandError, type Json, print, type RecordsConfig, withRecords } from './cli.ts';
import { ledgerLines } from './usage.ts';

/** `hail-api backup`: the records in one file, and back. Published data are files that any tool can copy. */
export function backupCommand(config: () => RecordsConfig): Command {
  const command = new Command('backup').description('the records in one file, and back');

  command
    .command('create <file>')
    .description(
      'write the records of this moment to a new file, readable by its owner only, also while the server runs',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  hail-api backup create records-2026-05-01.ndjson.gz')
    .action(async (file: string, { json }: Json) => {
      if (existsSync(file)) throw new CommandError(EXIT.conflict, `backup ${file}: exists, expected a new file`);
      const settings = config();
      const rows = await withRecords(settings, (records) => writeBackup(records, file, settings.now()));
      print(json, { file, rows }, [`Wrote ${counted(rows, 'row')} to ${file}.`]);
    });

  command
    .command('restore <file>')
    .description('put a backup into empty records, all of it or nothing')
    .option('--json', 'print one JSON object')
    .action(async (file: string, { json }: Json) => {
      if (!existsSync(file)) throw new CommandError(EXIT.not_found, `backup ${file}: no such file`);
      const { rows, check } = await withRecords(config(), (records) => restore(records, file), { create: true });
      print(json, { file, rows, ledger: check }, [`Restored ${counted(rows, 'row')}.`, ...ledgerLines(check)]);
      if (check.faults.length > 0) process.exitCode = EXIT.check_found;
    });

  return command;
}

/** Writes to a temporary name and renames: a backup that exists is complete. */
async function writeBackup({ store }: Records, file: string, now_ms: number): Promise<number> {
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  try {
    const out = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
    let rows = 0;
    await pipeline(
      dumpRecords(store, now_ms, (count) => {
        rows = count;
      }),
      createGzip(),
      out,
    );
    renameSync(partial, file);
    syncFolder(dirname(file));
    return rows;
  } finally {
    rmSync(partial, { force: true });
  }
}

async function restore({ store, reader }: Records, file: string) {
  try {
    const rows = await restoreRecords(store, linesOf(file));
    return { rows, check: await verifyLedger(reader) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith('Z_')) throw new CommandError(EXIT.failure, `backup ${file}: is cut short or not a backup`);
    if (!(error instanceof DumpRefused)) throw error;
    throw new CommandError(error.conflict ? EXIT.conflict : EXIT.failure, `backup ${file}: ${error.message}`);
  }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const unzip = createGunzip().setEncoding('utf8');
  // The loop below throws the same error.
  const reading = pipeline(createReadStream(file), unzip).catch(() => {});
  let rest = '';
  for await (const chunk of unzip) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
  await reading;
}

/** Syncs a folder, so that a new name in it survives a power cut. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
