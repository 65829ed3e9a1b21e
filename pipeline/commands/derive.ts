import { Command } from 'commander';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { type BlockageStep, blockage, ground } from '../../schemas/tables/derived.ts';
import type { Config } from '../config.ts';
import { BadInput, NotFound, PipelineError } from '../error.ts';
import { type ClimatologyReport, datesToCount, publishClimatology } from '../forecast/climatology.ts';
import { refreshForecast } from '../forecast/publish-forecast.ts';
import { type Log, openLog } from '../log.ts';
import { publishUndated } from '../publish/undated.ts';
import { examineRadars, groundCells } from '../read/beam-blockage.ts';
import { type Dem, openDem } from '../read/dem.ts';
import { withRoot } from './with-root.ts';

interface Options {
  readonly dem: string;
  readonly metres?: boolean;
  readonly json?: true;
  readonly progress: boolean;
}

/** `hail-pipeline derive`: tables that belong to no date. */
export function deriveCommand(config: () => Config): Command {
  const tableCommand = <Report>(
    name: string,
    make: (config: Config, log: Log, options: Options) => Promise<Report>,
    textOf: (report: Report) => string,
  ) =>
    new Command(name)
      .option('--json', 'print one JSON object')
      .option('--no-progress', 'no bars, also on a terminal')
      .action(async (options: Options) => {
        const settings = config();
        const log = openLog(settings.log_level, options.progress && process.stderr.isTTY === true);
        const report = await make(settings, log, options).finally(log.close);
        process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : textOf(report));
      });
  const blockageCommand = tableCommand('blockage', deriveBlockage, blockageText)
    .description("publish what terrain blocks of the radars' beams, for coverage and confidence")
    .requiredOption('--dem <file>', 'terrain model: GeoTIFF on WGS84 longitudes and latitudes, heights in metres')
    .option('--metres', 'the heights are in metres, although the file does not say so')
    .addHelpText(
      'after',
      `
Every WSR-88D that stands in the model is looked at, along 360 directions to 230 km, and the ground of places comes from it,
as means of cells of 0.1 degrees. Both tables replace those before;
scans that are published stay as they are until they are made again (hail-pipeline rebuild).`,
    );
  const climatologyCommand = tableCommand('climatology', deriveClimatology, climatologyText)
    .description('publish the probability of hail by place and month, from the closed storm dates')
    .addHelpText(
      'after',
      `
Observed storm dates alone are counted where there are any, else the simulated ones. The table replaces the one before.
Every writing command makes it when a date is closed and there is none, and again after a week of closed dates.`,
    );
  return new Command('derive')
    .description('make a table that belongs to no date')
    .addCommand(blockageCommand)
    .addCommand(climatologyCommand);
}

function climatologyText({ changed, path, source, bytes, seconds, ...made }: ClimatologyReport): string {
  const dates = `${counted(made.storm_dates, `${source} storm date`)} from ${made.first_date} to ${made.last_date}`;
  if (!changed) return `Nothing to do: ${path} holds what ${dates} give.\n`;
  return `Climatology of ${counted(made.cells, 'cell')} from ${dates}, ${counted(made.years_of_data, 'year')} with nearly all scans
${counted(made.event_days, 'day')} with hail of 19 mm and more within 10 km of a cell; ${readableBytes(bytes)} in ${path}, ${seconds} s
`;
}

/** Publishes the climatology of all closed storm dates, and the forecast made with it. */
function deriveClimatology(config: Config, log: Log) {
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

/** Publishes the terrain blockage of every radar inside a terrain model. */
async function deriveBlockage(config: Config, log: Log, { dem: dem_path, metres = false }: Options) {
  const dem = await openNamed(dem_path, metres);
  const published = withRoot(
    config,
    'derive',
    async (root) => {
      const radars: { id: string; shadowed_pct: number; unknown_pct: number }[] = [];
      const rows: BlockageStep[] = [];
      const progress = (done: number, total: number) => log.progress('radars', done, total);
      for await (const { id, steps, shadowed_share, unknown_share } of examineRadars(WSR88D, dem, progress)) {
        radars.push({ id, shadowed_pct: percent(shadowed_share), unknown_pct: percent(unknown_share) });
        for (const step of steps) rows.push({ ...step, terrain_file: dem.file, terrain_step_arcsec: dem.step_arcsec });
      }
      const reason = 'covers no WSR-88D radar, expected a model in which at least one stands';
      if (radars.length === 0) throw new BadInput('derive', dem_path, reason);
      const cells = await groundCells(dem);
      const segments = [
        { segment: blockage.name, table: blockage, rows, provenance: 'observed' },
        { segment: ground.name, table: ground, rows: cells, provenance: 'observed' },
      ] as const;
      const [{ files, changed }] = await publishUndated(root, [{ name: 'static', segments }], config.now());
      const { path, bytes } = files[0] as PublishedFile;
      await refreshForecast(root, config.now(), log);
      return {
        terrain: { file: dem.file, step_arcsec: dem.step_arcsec },
        radars: radars.sort((a, b) => (a.id < b.id ? -1 : 1)),
        radars_outside: WSR88D.length - radars.length,
        ...{ rows: rows.length, ground_cells: cells.length, path, bytes, changed },
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

function blockageText(report: Awaited<ReturnType<typeof deriveBlockage>>): string {
  const { terrain, radars, radars_outside, rows, ground_cells, path, bytes, changed } = report;
  if (!changed) return `Nothing to do: ${path} holds what ${terrain.file} gives.\n`;
  const withSome = (share: 'shadowed_pct' | 'unknown_pct') =>
    counted(radars.filter((radar) => radar[share] > 0).length, 'radar');
  return `Blockage of ${counted(radars.length, 'radar')} from ${terrain.file} (${Number(terrain.step_arcsec.toPrecision(4))} arc-seconds): ${counted(rows, 'row')}, ${readableBytes(bytes)} in ${path}
More than half of the lowest beam is blocked in some directions of ${withSome('shadowed_pct')}.
Heights are not known everywhere, and block nothing there, around ${withSome('unknown_pct')}.
${counted(radars_outside, 'radar')} outside the model: nothing counts as blocked.
Ground of ${counted(ground_cells, 'cell')} of 0.1 degrees.
`;
}
