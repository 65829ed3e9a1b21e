import { createReadStream, statSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { EXIT } from '../../schemas/command-line.ts';
import { CommandError } from './cli.ts';

/** Written last into the folder of a backup: a folder without it is none. */
export const LIST_NAME = 'backup.json';
/** The records in the folder of a backup. */
export const RECORDS_NAME = 'records.ndjson.gz';
/** A list has a few fields. */
const LIST_BYTES_MAX = 65_536;
const FORMAT = 'hail-backup';
const VERSION = 1;

const List = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  created_at: z.string(),
  rows: z.int().nonnegative(),
  files: z.int().nonnegative(),
});

/** What the list of a backup says. */
export type BackupList = Readonly<z.infer<typeof List>>;

/** A backup on the disk. */
export interface BackupPlace {
  /** The records, as lines that are packed. */
  readonly records: string;
  /** Folder with the files of reports and exports; null for a backup of the records alone. */
  readonly files_root: string | null;
  /** Rows that the list of the folder says; null without a list. */
  readonly rows: number | null;
}

/** Text of the list of a new backup. */
export function listText(list: Omit<BackupList, 'format' | 'version'>): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, ...list } satisfies BackupList, null, 2)}\n`;
}

/** Finds a backup: one file, or a folder with its list. Throws CommandError for anything else. */
export async function findBackup(from: string): Promise<BackupPlace> {
  const stat = statSync(from, { throwIfNoEntry: false });
  if (stat === undefined) throw new CommandError(EXIT.not_found, `backup ${from}: no such file or folder`);
  if (!stat.isDirectory()) return { records: from, files_root: null, rows: null };
  const list = join(from, LIST_NAME);
  if (statSync(list, { throwIfNoEntry: false }) === undefined)
    throw new CommandError(
      EXIT.failure,
      `backup ${from}: has no ${LIST_NAME}, which is written last: it was cut short, or is no backup`,
    );
  const stats = statSync(list);
  const found = stats.isFile() && stats.size <= LIST_BYTES_MAX ? parsed(await readFile(list, 'utf8')) : null;
  const parts = List.safeParse(found);
  if (!parts.success)
    throw new CommandError(
      EXIT.failure,
      `backup ${from}: ${LIST_NAME} is not the list of a backup that this version reads, expected version ${VERSION}`,
    );
  return { records: join(from, RECORDS_NAME), files_root: from, rows: parts.data.rows };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Longest line of a backup, characters: a row is shorter by far, and a small file may unpack to one line without an end. */
const LINE_MAX = 32 * 1024 * 1024;

/** A line is longer than any row. */
export class LineTooLong extends Error {
  override name = 'LineTooLong';
}

/**
 * The lines of a packed file. Throws the errors of zlib where it is cut short or no packed file, and LineTooLong for a line that
 * is longer than any row.
 */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const unzip = createGunzip().setEncoding('utf8');
  // The loop below throws the same error.
  const reading = pipeline(createReadStream(file), unzip).catch(() => {});
  let rest = '';
  for await (const chunk of unzip as AsyncIterable<string>) {
    if (!chunk.includes('\n')) {
      // Not joined yet: a long line would be copied with every piece.
      rest += chunk;
      if (rest.length > LINE_MAX) throw new LineTooLong(`has a line of over ${LINE_MAX} characters, expected a row`);
      continue;
    }
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
  await reading;
}

/** Syncs a folder, so that a new name in it survives a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
