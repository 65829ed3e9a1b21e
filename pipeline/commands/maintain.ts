import { resolve } from 'node:path';
import { Command } from 'commander';
import { counted, EXIT, readableBytes } from '../../schemas/command-line.ts';
import { monthOf } from '../../schemas/time.ts';
import { writeCatalogue } from '../catalogues/catalogue.ts';
import type { Config } from '../config.ts';
import { openEngine } from '../duckdb.ts';
import { NotFound, UsageError } from '../error.ts';
import { type Log, openLog } from '../log.ts';
import { type Verification, verifyRoot } from '../publish/verify.ts';
import type { RunSummary } from '../scans/ingest.ts';
import { calendarDate, readerThreads } from './arguments.ts';
import { withSession } from './with-root.ts';

interface Options {
  readonly json?: true;
  readonly progress: boolean;
}

/** `hail-pipeline verify`: re-reads all published data. Exit code 5 when it finds a fault. Takes no lock. */
export function verifyCommand(config: () => Config): Command {
  return new Command('verify')
    .description('re-read everything that the manifests list and say what is wrong')
    .option('--date <date>', 'one storm date only', calendarDate)
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText('after', '\nExamples:\n  hail-pipeline verify\n  hail-pipeline verify --date 2024-05-01 --json')
    .action(async (options: Options & { readonly date?: string }) => {
      const { data_root, log_level } = config();
      const log = openLog(log_level, options.progress && process.stderr.isTTY === true);
      const engine = await openEngine();
      try {
        const found = await verifyRoot(engine, data_root, options.date ?? null, (done, total) =>
          log.progress('files', done, total),
        );
        log.close();
        if (options.date !== undefined && found.partitions === 0)
          throw new NotFound(
            'verify',
            options.date,
            `has no manifest under ${data_root}, expected a published storm date`,
          );
        process.stdout.write(options.json ? `${JSON.stringify(found)}\n` : verifyText(found, data_root));
        if (found.faults.length > 0) process.exitCode = EXIT.check_found;
      } finally {
        log.close();
        engine.close();
      }
    });
}

function verifyText(found: Verification, dataRoot: string): string {
  const read = `${counted(found.files, 'file')}, ${counted(found.rows, 'row')}, ${readableBytes(found.bytes)} in ${counted(found.partitions, 'partition')}`;
  if (found.files + found.faults.length === 0) return `Nothing is published under ${dataRoot}.\n`;
  if (found.faults.length === 0) return `All is as the manifests say: ${read}.\n`;
  const faults = found.faults.map((fault) => `  ${fault.path}: ${fault.reason}`);
  return `${counted(found.faults.length, 'fault')} in ${read}:\n${faults.join('\n')}\n`;
}

/** `hail-pipeline rebuild`: makes a storm date again from the raw files that were kept. */
export function rebuildCommand(config: () => Config): Command {
  return new Command('rebuild')
    .description('make every scan of a storm date again from the raw files that were kept')
    .requiredOption('--date <date>', 'storm date', calendarDate)
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText('after', '\nExample:\n  hail-pipeline rebuild --date 2024-05-01')
    .action(async (options: Options & { readonly date: string }) => {
      const settings = config();
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const request = { storm_date: options.date, threads: readerThreads(), log };
      const run = await rebuildDate(settings, request).finally(log.close);
      process.stdout.write(
        options.json
          ? `${JSON.stringify(run)}\n`
          : `Made ${counted(run.redone + run.scans, 'scan')} of ${run.dates.join(', ')} again.\n`,
      );
    });
}

/** Makes every scan of a storm date again from the archive and finishes the date; NotFound when it has no published scan. */
function rebuildDate(
  config: Config,
  { storm_date, threads, log }: { readonly storm_date: string; readonly threads: number; readonly log: Log },
): Promise<RunSummary> {
  return withSession(config, { command: 'rebuild', threads, move_raw: false, log }, async (root, session) => {
    if ((root.heads.get(storm_date)?.scans.count ?? 0) === 0)
      throw new NotFound('rebuild', storm_date, `has no published scans under ${config.data_root}`);
    const run = await session.rebuild(storm_date);
    await session.finishDates();
    return run;
  });
}

/** `hail-pipeline compact`: does now what a stream does periodically: closes dates, joins months, sweeps. */
export function compactCommand(config: () => Config): Command {
  return new Command('compact')
    .description('close storm dates that are over, join months, draw what is due, and sweep what no list names')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  hail-pipeline compact')
    .action(async ({ json }: Options) => {
      const settings = config();
      const report = await compactRoot(settings, openLog(settings.log_level, false));
      process.stdout.write(json ? `${JSON.stringify(report)}\n` : compactText(report));
    });
}

function compactText(report: Awaited<ReturnType<typeof compactRoot>>): string {
  const joined = report.joined_months.join(', ') || 'none';
  return `${counted(report.closed_dates, 'closed date')}; months joined: ${joined}; swept ${counted(report.swept_files, 'file')}, ${readableBytes(report.swept_bytes)}.\n`;
}

/** Finishes the dates of a data root, joins closed dates into months and sweeps files that no manifest names. */
function compactRoot(config: Config, log: Log) {
  return withSession(config, { command: 'compact', threads: 1, move_raw: false, log }, async (root, session) => {
    await session.finishDates();
    const closed = [...root.heads.values()].filter((head) => head.closed).map((head) => head.partition);
    const joined_months: string[] = [];
    for (const month of new Set(closed.map(monthOf))) if (await session.joinMonth(month)) joined_months.push(month);
    const { files, bytes } = await session.sweep();
    /** Storm dates that are closed now, those closed before included. */
    return { closed_dates: closed.length, joined_months, swept_files: files, swept_bytes: bytes };
  });
}

/** `hail-pipeline catalogue`: lists what is published for DuckDB, STAC readers and Iceberg engines. Takes no lock. */
export function catalogueCommand(readConfig: () => Config): Command {
  return new Command('catalogue')
    .description('write views.sql, STAC and Iceberg metadata of what is published now')
    .option('--location <url>', 'address of a copy of the data root, such as s3://bucket/hail; needs --out')
    .option('--out <dir>', 'folder to write into (default: the data root); copy it over the copy of the data root')
    .addHelpText('after', '\nExample:\n  hail-pipeline catalogue --location s3://bucket/hail --out /tmp/catalogue')
    .action(async ({ location, out }: Readonly<Partial<Record<'location' | 'out', string>>>) => {
      const root = readConfig().data_root;
      if ((location === undefined) !== (out === undefined))
        throw new UsageError('--location and --out are needed together: the data root keeps its own addresses');
      if (location !== undefined && !/^[a-z][a-z0-9+.-]*:\/\/[^\s*?[]*[^/\s*?[]$/.test(location))
        throw new UsageError(
          `--location is '${location}', expected an address such as s3://bucket/hail, without *, ? and [, and with no slash at its end`,
        );
      const target = { out: out === undefined ? root : resolve(out), location: location ?? root };
      const { number, edition } = await writeCatalogue(root, target);
      process.stdout.write(`catalogue ${number} of edition ${edition} in ${target.out}\n`);
    });
}
