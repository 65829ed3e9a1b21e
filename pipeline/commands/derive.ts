import { Command } from 'commander';
import { readableBytes } from '../../schemas/readable-bytes.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { type BlockageStep, blockage } from '../../schemas/tables/blockage.ts';
import type { Config } from '../config.ts';
import { examineRadars } from '../derive/all-blockage.ts';
import { BadInput, NotFound, PipelineError } from '../error.ts';
import { type Log, openLog } from '../log.ts';
import { openRoot } from '../publish/root.ts';
import { type Dem, openDem } from '../read/dem.ts';
import { counted } from './cli.ts';

interface Options {
  readonly dem: string;
  readonly metres?: true;
  readonly json?: true;
  readonly progress: boolean;
}

/** Directions of a radar in which more than half of the lowest beam is blocked, and how much of the terrain is not known. */
interface RadarSummary {
  readonly id: string;
  readonly shadowed_pct: number;
  readonly unknown_pct: number;
}

/** What `derive blockage --json` prints. */
interface Summary {
  readonly terrain: { readonly file: string; readonly step_arcsec: number };
  /** Radars that were looked at, in the order of their ids; the others do not stand in the terrain model. */
  readonly radars: readonly RadarSummary[];
  readonly radars_outside: number;
  readonly rows: number;
  readonly path: string;
  readonly bytes: number;
  /** False when the same table was published before. */
  readonly changed: boolean;
}

/** `hail-pipeline derive`: tables that follow from something else than scans. */
export function deriveCommand(config: () => Config): Command {
  return new Command('derive')
    .description('make a table that follows from something else than scans')
    .addCommand(blockageCommand(config));
}

/** `hail-pipeline derive blockage`: what terrain blocks of the radars' beams, from a terrain model. */
function blockageCommand(config: () => Config): Command {
  return new Command('blockage')
    .description("publish what terrain blocks of the radars' beams, for coverage and confidence")
    .requiredOption('--dem <file>', 'terrain model: GeoTIFF on WGS84 longitudes and latitudes, heights in metres')
    .option('--metres', 'the heights are in metres, although the file does not say so')
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText(
      'after',
      `
Every WSR-88D that stands in the model is looked at, along 360 directions to 230 km. The table replaces the one before;
scans that are published stay as they are until they are made again (hail-pipeline rebuild).

Examples:
  hail-pipeline derive blockage --dem conus-3-arc-seconds.tif
  hail-pipeline derive blockage --dem conus-3-arc-seconds.tif --metres --json`,
    )
    .action(async (options: Options) => {
      const { data_root, log_level, storm_day_start_hour, now } = config();
      const log = openLog(log_level, options.progress && process.stderr.isTTY === true);
      const dem = await openNamed(options.dem, options.metres === true);
      try {
        const root = await openRoot(data_root, 'hail-pipeline derive', storm_day_start_hour, now());
        try {
          const { radars, rows } = await examine(dem, options.dem, log);
          const { file, changed } = await root.publishStatic(blockage, rows, now());
          const summary: Summary = {
            terrain: { file: dem.file, step_arcsec: dem.step_arcsec },
            radars,
            radars_outside: WSR88D.length - radars.length,
            rows: file.rows,
            path: file.path,
            bytes: file.bytes,
            changed,
          };
          log.close();
          process.stdout.write(options.json ? `${JSON.stringify(summary)}\n` : tell(summary));
        } finally {
          await root.close();
        }
      } finally {
        log.close();
        await dem.close();
      }
    });
}

/** The file named on the command line; what the file system says about it is explained to people. */
async function openNamed(path: string, in_metres: boolean): Promise<Dem> {
  try {
    return await openDem(path, in_metres);
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') throw new NotFound('derive', path, 'no such file', { cause });
    throw new PipelineError('derive', path, `cannot be read (${code})`, { cause });
  }
}

async function examine(
  dem: Dem,
  path: string,
  log: Log,
): Promise<{ readonly radars: readonly RadarSummary[]; readonly rows: readonly BlockageStep[] }> {
  const terrain = { terrain_file: dem.file, terrain_step_arcsec: dem.step_arcsec };
  const radars: RadarSummary[] = [];
  const rows: BlockageStep[] = [];
  const progress = (done: number, total: number) => log.progress('radars', done, total);
  for await (const { id, steps, shadowed_share, unknown_share } of examineRadars(WSR88D, dem, progress)) {
    radars.push({ id, shadowed_pct: percent(shadowed_share), unknown_pct: percent(unknown_share) });
    for (const step of steps) rows.push({ ...step, ...terrain });
  }
  if (radars.length === 0)
    throw new BadInput('derive', path, 'covers no WSR-88D radar, expected a model in which at least one stands');
  return { radars: radars.sort((a, b) => (a.id < b.id ? -1 : 1)), rows };
}

/** Percent with one decimal. */
function percent(share: number): number {
  return Math.round(1000 * share) / 10;
}

/** Radars named in the summary for people. */
const NAMED = 8;

function tell({ terrain, radars, radars_outside, rows, path, bytes, changed }: Summary): string {
  if (!changed) return `Nothing to do: ${path} holds what ${terrain.file} gives.\n`;
  const shadowed = radars
    .filter(({ shadowed_pct }) => shadowed_pct > 0)
    .sort((a, b) => b.shadowed_pct - a.shadowed_pct);
  const patchy = radars.filter(({ unknown_pct }) => unknown_pct > 0);
  const list = (some: readonly RadarSummary[], of: (one: RadarSummary) => number) =>
    some
      .slice(0, NAMED)
      .map((one) => `${one.id} ${of(one)} %`)
      .join(', ') + (some.length > NAMED ? `, and ${some.length - NAMED} more` : '');
  return [
    `Blockage of ${counted(radars.length, 'radar')} from ${terrain.file} (${Number(terrain.step_arcsec.toPrecision(4))} arc-seconds): ${counted(rows, 'row')}, ${readableBytes(bytes)} in ${path}`,
    `More than half of the lowest beam is blocked in some directions of ${counted(shadowed.length, 'radar')}${shadowed.length > 0 ? `: ${list(shadowed, (one) => one.shadowed_pct)}` : ''}.`,
    ...(patchy.length > 0
      ? [
          `Heights are not known everywhere around ${counted(patchy.length, 'radar')}, and block nothing there: ${list(patchy, (one) => one.unknown_pct)}.`,
        ]
      : []),
    ...(radars_outside > 0
      ? [`${counted(radars_outside, 'radar')} outside the model: nothing counts as blocked.`]
      : []),
    '',
  ].join('\n');
}
