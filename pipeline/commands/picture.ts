import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Command } from 'commander';
import { type Bbox, parseBbox } from '../../schemas/geo/position.ts';
import { scanTime } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { drawPicture, type PictureData } from '../picture/picture.ts';
import type { PictureSubject } from '../picture/read-picture.ts';
import { calendarDate } from './arguments.ts';

/** Reads the published rows of a subject; throws NotFound when nothing is published for it. */
export type LoadPicture = (dataRoot: string, subject: PictureSubject) => Promise<PictureData>;

interface PictureOptions {
  readonly date?: string;
  readonly scan?: string;
  readonly out: string;
  readonly bbox?: Bbox;
  readonly data?: string;
}

/** `hail-pipeline picture`: an SVG map of a storm date or of a scan. */
export function pictureCommand(readConfig: () => Config, load: LoadPicture): Command {
  return new Command('picture')
    .description('draw a storm date or a scan as an SVG map: hail by size, storms, tracks, states, legend')
    .option('--date <date>', 'storm date, YYYY-MM-DD', calendarDate)
    .option('--scan <id>', 'scan, for example 20260501T201200Z', parseScan)
    .requiredOption('--out <file>', 'SVG file to write')
    .option('--bbox <w,s,e,n>', 'show this box instead of fitting the map to the hail', boxOption)
    .option('--data <dir>', 'data root (default: HAIL_DATA)')
    .addHelpText(
      'after',
      `
Examples:
  hail-pipeline picture --date 2026-05-01 --out day.svg
  hail-pipeline picture --scan 20260501T201200Z --out scan.svg
  hail-pipeline picture --date 2026-05-01 --bbox -99,33,-95,37 --out oklahoma.svg`,
    )
    .action(async (options: PictureOptions) => {
      const subject = subjectOf(options);
      const data = await load(options.data === undefined ? readConfig().data_root : resolve(options.data), subject);
      await mkdir(dirname(resolve(options.out)), { recursive: true });
      await writeFile(options.out, drawPicture(data, options.bbox));
      process.stdout.write(`${options.out}\n`);
    });
}

function subjectOf({ date, scan }: PictureOptions): PictureSubject {
  if (date !== undefined && scan === undefined) return { date };
  if (scan !== undefined && date === undefined) return { scan_id: scan };
  throw new UsageError(
    `${date === undefined ? 'neither --date nor --scan was given' : 'both --date and --scan were given'}, expected one of them`,
  );
}

function parseScan(text: string): string {
  try {
    scanTime(text);
  } catch {
    throw new UsageError(`--scan is '${text}', expected a scan time as 20260501T201200Z`);
  }
  return text;
}

function boxOption(text: string): Bbox {
  const box = parseBbox(text.trim().replaceAll(/\s*,\s*/g, ','));
  if (typeof box === 'string')
    throw new UsageError(`--bbox is '${text}', expected W,S,E,N in degrees with W < E and S < N`);
  return box;
}
