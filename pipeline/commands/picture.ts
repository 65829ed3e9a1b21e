import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Command } from 'commander';
import { type Bbox, parseBbox } from '../../schemas/geo/position.ts';
import { scanTime } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { UsageError } from '../error.ts';
import { drawPicture, type PictureData } from '../picture/picture.ts';
import type { PictureSubject } from '../picture/read-picture.ts';
import { MAX_UNZIPPED_BYTES } from '../read/file.ts';
import { calendarDate } from './arguments.ts';
import { readGridPicture } from './picture-file.ts';
import { readNamedFile } from './read-named-file.ts';

/** Reads the published rows of a subject; throws NotFound when nothing is published for it. */
export type LoadPicture = (dataRoot: string, subject: PictureSubject) => Promise<PictureData>;

interface PictureOptions {
  readonly date?: string;
  readonly scan?: string;
  readonly from?: string;
  readonly out: string;
  readonly bbox?: Bbox;
  readonly data?: string;
}

/** `hail-pipeline picture`: an SVG map of a storm date or of a scan. */
export function pictureCommand(readConfig: () => Config, load: LoadPicture): Command {
  return new Command('picture')
    .description('draw a storm date, a scan, or a file of hail sizes as an SVG map: hail by size, states, legend')
    .option('--date <date>', 'storm date, YYYY-MM-DD', calendarDate)
    .option('--scan <id>', 'scan, for example 20260501T201200Z', parseScan)
    .option('--from <file>', 'MRMS file of MESH or of a maximum of it: GRIB2, also .gz, or GeoTIFF')
    .requiredOption('--out <file>', 'SVG file to write')
    .option('--bbox <w,s,e,n>', 'show this box instead of fitting the map to the hail', boxOption)
    .option('--data <dir>', 'data root (default: HAIL_DATA)')
    .addHelpText(
      'after',
      `
Examples:
  hail-pipeline picture --date 2026-05-01 --out day.svg
  hail-pipeline picture --scan 20260501T201200Z --out scan.svg
  hail-pipeline picture --from MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2.gz --out day.svg
  hail-pipeline picture --date 2026-05-01 --bbox -99,33,-95,37 --out oklahoma.svg`,
    )
    .action(async (options: PictureOptions) => {
      const subject = subjectOf(options);
      const data =
        'file' in subject
          ? await readGridPicture(await readNamedFile(subject.file, MAX_UNZIPPED_BYTES, 'picture'), subject.file)
          : await load(options.data === undefined ? readConfig().data_root : resolve(options.data), subject);
      await mkdir(dirname(resolve(options.out)), { recursive: true });
      await writeFile(options.out, drawPicture(data, options.bbox));
      process.stdout.write(`${options.out}\n`);
    });
}

function subjectOf({ date, scan, from }: PictureOptions): PictureSubject | { readonly file: string } {
  const given = Object.entries({ date, scan, from }).flatMap(([name, value]) =>
    value === undefined ? [] : `--${name}`,
  );
  if (given.length === 1 && date !== undefined) return { date };
  if (given.length === 1 && scan !== undefined) return { scan_id: scan };
  if (given.length === 1 && from !== undefined) return { file: from };
  const found = given.length === 0 ? 'none was given' : `${given.join(' and ')} were given`;
  throw new UsageError(`${found}, expected one of --date, --scan and --from`);
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
