import { existsSync } from 'node:fs';
import { cp, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { sql } from 'kysely';
import { layout } from '../../schemas/layout.ts';
import type { Config } from '../config.ts';
import { masterKeyPath } from '../records/cipher.ts';
import { sqlitePath } from '../records/sqlite.ts';
import { CommandError, print, withRecords } from './cli.ts';

/** `hail-api backup`: a copy of the SQLite records, the master key, and the files of reports and exports, as a data root of its own. */
export function backupCommand(config: () => Config): Command {
  return new Command('backup')
    .description(
      'copy the SQLite records, the master key, reports and exports to a new folder, also while the server runs',
    )
    .argument('<folder>')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nThe folder is a data root without published data. Where the original still runs, start a service on it with `serve --no-workers`: both would send its events.',
    )
    .action(async (folder: string, { json }: { readonly json?: true }) => {
      const settings = config();
      const to = resolve(folder);
      if (settings.database_url !== null)
        throw new CommandError(
          'usage',
          'backup: the records are on PostgreSQL, expected SQLite: run pg_dump, and copy records/master.key, reports and exports of the data root',
        );
      if (existsSync(to)) throw new CommandError('conflict', `backup ${folder}: exists, expected a new folder`);
      if (!existsSync(dirname(to)))
        throw new CommandError('not_found', `backup ${folder}: there is no folder ${dirname(to)}, expected one`);
      await writeBackup(settings, to);
      const lines = [`Wrote ${folder}. It holds the master key: keep it where only you can read it.`];
      print(json, { json: { folder }, lines });
    });
}

/** Writes under a temporary name: a folder with the final name is complete. */
async function writeBackup(settings: Config, to: string): Promise<void> {
  const { data_root } = settings;
  const partial = `${to}.partial`;
  await rm(partial, { recursive: true, force: true });
  try {
    const copy = sqlitePath(partial);
    await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
    // SQLite writes into the empty file, which its owner alone can read.
    await (await open(copy, 'wx', 0o600)).close();
    await withRecords(settings, ({ reader }) => sql`vacuum into ${copy}`.execute(reader));
    if (existsSync(masterKeyPath(data_root))) await cp(masterKeyPath(data_root), masterKeyPath(partial));
    // After the records: a job that is done has its file.
    for (const name of [layout.reports, layout.exports])
      if (existsSync(join(data_root, name))) await cp(join(data_root, name), join(partial, name), { recursive: true });
    await rename(partial, to);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}
