import { Command } from 'commander';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { type BlockageStep, blockage } from '../../schemas/tables/derived.ts';
import type { Config } from '../config.ts';
import { BadInput, NotFound, PipelineError } from '../error.ts';
import { type ClimatologyReport, publishClimatology } from '../forecast/derive-climatology.ts';
import { datesToCount } from '../forecast/hail-dates.ts';
import { refreshForecast } from '../forecast/refresh.ts';
import { type Log, openLog } from '../log.ts';
import { publishUndated } from '../publish/undated.ts';
import { examineRadars } from '../read/beam-blockage.ts';
import { type Dem, openDem } from '../read/dem.ts';
import { withRoot } from './with-root.ts';

interface Options {
  readonly dem: string;
  readonly metres?: true;
  readonly json?: true;
  readonly progress: boolean;
}

/** `hail-pipeline derive`: tables that belong to no date. */
export function deriveCommand(config: () => Config): Command {
  return new Command('derive')
    .description('make a table that belongs to no date')
    .addCommand(blockageCommand(config))
    .addCommand(climatologyCommand(config));
}

/** `hail-pipeline derive blockage`: terrain blockage of the radars' beams, from a terrain model. */
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
      const settings = config();
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const report = await deriveBlockage(settings, options.dem, options.metres === true, log).finally(log.close);
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : blockageText(report));
    });
}

/** `hail-pipeline derive climatology`: probabilities of hail by place and month, from all closed storm dates. */
function climatologyCommand(config: () => Config): Command {
  return new Command('climatology')
    .description('publish the probability of hail by place and month, from the closed storm dates')
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText(
      'after',
      `
Observed storm dates alone are counted where there are any, else the simulated ones. The table replaces the one before.
Every writing command makes it when a date is closed and there is none, and again after a week of closed dates.

Examples:
  hail-pipeline derive climatology
  hail-pipeline derive climatology --json`,
    )
    .action(async (options: Pick<Options, 'json' | 'progress'>) => {
      const settings = config();
      const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
      const report = await deriveClimatology(settings, log).finally(log.close);
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : climatologyText(report));
    });
}

function climatologyText({ changed, path, source, bytes, seconds, ...made }: ClimatologyReport): string {
  const dates = `${counted(made.storm_dates, `${source} storm date`)} from ${made.first_date} to ${made.last_date}`;
  if (!changed) return `Nothing to do: ${path} holds what ${dates} give.\n`;
  const years = made.years_of_data === 0 ? 'less than a year' : counted(made.years_of_data, 'year');
  return [
    `Climatology of ${counted(made.cells, 'cell')} from ${dates}, ${years} with nearly all scans${source === 'simulated' ? '  (SIMULATED, not observed)' : ''}`,
    `${counted(made.event_days, 'day')} with hail of 19 mm and more within 10 km of a cell; ${readableBytes(bytes)} in ${path}, ${seconds} s`,
    '',
  ].join('\n');
}

/** A radar inside the terrain model. */
interface RadarSummary {
  readonly id: string;
  /** Share of the directions in which more than half of the lowest beam is blocked. */
  readonly shadowed_pct: number;
  /** Share of the terrain with unknown height. */
  readonly unknown_pct: number;
}

/** Output of `derive blockage --json`. */
interface BlockageReport {
  readonly terrain: { readonly file: string; readonly step_arcsec: number };
  /** Radars inside the terrain model, in the order of their ids. */
  readonly radars: readonly RadarSummary[];
  readonly radars_outside: number;
  readonly rows: number;
  readonly path: string;
  readonly bytes: number;
  /** False when the same table was already published. */
  readonly changed: boolean;
}

/** Publishes the climatology of all closed storm dates, and the forecast made with it. */
function deriveClimatology(config: Config, log: Log): Promise<ClimatologyReport> {
  return withRoot(
    config,
    'derive',
    async (root) => {
      const dates = datesToCount(root);
      if (dates === null)
        throw new NotFound('derive', root.path, 'holds no closed storm date, expected some to make a climatology of');
      const report = await publishClimatology(root, dates, config.now(), log);
      await refreshForecast(root, config.now(), log);
      return report;
    },
    log,
  );
}

/**
 * Publishes the terrain blockage of every radar inside a terrain model. `in_metres`: its heights are in metres, although the
 * file does not say so.
 */
async function deriveBlockage(config: Config, dem_path: string, in_metres: boolean, log: Log): Promise<BlockageReport> {
  const dem = await openNamed(dem_path, in_metres);
  const published = withRoot(
    config,
    'derive',
    async (root) => {
      const radars: RadarSummary[] = [];
      const rows: BlockageStep[] = [];
      const progress = (done: number, total: number) => log.progress('radars', done, total);
      for await (const { id, steps, shadowed_share, unknown_share } of examineRadars(WSR88D, dem, progress)) {
        radars.push({ id, shadowed_pct: percent(shadowed_share), unknown_pct: percent(unknown_share) });
        for (const step of steps) rows.push({ ...step, terrain_file: dem.file, terrain_step_arcsec: dem.step_arcsec });
      }
      if (radars.length === 0)
        throw new BadInput(
          'derive',
          dem_path,
          'covers no WSR-88D radar, expected a model in which at least one stands',
        );
      const segment = { segment: blockage.name, table: blockage, rows, provenance: 'observed' } as const;
      const [{ files, changed }] = await publishUndated(root, [{ name: 'static', segments: [segment] }], config.now());
      const { path, bytes } = files[0] as PublishedFile;
      await refreshForecast(root, config.now(), log);
      return {
        terrain: { file: dem.file, step_arcsec: dem.step_arcsec },
        radars: radars.sort((a, b) => (a.id < b.id ? -1 : 1)),
        radars_outside: WSR88D.length - radars.length,
        ...{ rows: rows.length, path, bytes, changed },
      };
    },
    log,
  );
  return published.finally(dem.close);
}

/** The opened terrain model. Throws PipelineError for errors of the file system. */
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

function percent(share: number): number {
  return Math.round(1000 * share) / 10;
}

/** Most radars that the summary names. */
const NAMED = 8;

function blockageText({ terrain, radars, radars_outside, rows, path, bytes, changed }: BlockageReport): string {
  if (!changed) return `Nothing to do: ${path} holds what ${terrain.file} gives.\n`;
  const radarsBy = (share: 'shadowed_pct' | 'unknown_pct') => {
    const found = radars.filter((radar) => radar[share] > 0).sort((a, b) => b[share] - a[share]);
    const names = found.slice(0, NAMED).map((radar) => `${radar.id} ${radar[share]} %`);
    if (found.length > NAMED) names.push('…');
    return `${counted(found.length, 'radar')}${names.length > 0 ? `: ${names.join(', ')}` : ''}`;
  };
  return `Blockage of ${counted(radars.length, 'radar')} from ${terrain.file} (${Number(terrain.step_arcsec.toPrecision(4))} arc-seconds): ${counted(rows, 'row')}, ${readableBytes(bytes)} in ${path}
More than half of the lowest beam is blocked in some directions of ${radarsBy('shadowed_pct')}.
Heights are not known everywhere, and block nothing there, around ${radarsBy('unknown_pct')}.
${counted(radars_outside, 'radar')} outside the model: nothing counts as blocked.
`;
}
