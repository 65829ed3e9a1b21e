import { Command } from 'commander';
import { counted, readableBytes } from '../../schemas/command-line.ts';
import type { Config } from '../config.ts';
import type { ClimatologyReport } from '../forecast/derive-climatology.ts';
import { openLog } from '../log.ts';
import { type BlockageReport, deriveBlockage, deriveClimatology, type RadarSummary } from '../run/derive-tables.ts';

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

/** `hail-pipeline derive climatology`: probabilities of hail by place and month, from all published storm dates. */
function climatologyCommand(config: () => Config): Command {
  return new Command('climatology')
    .description('publish the probability of hail by place and month, from the published storm dates')
    .option('--json', 'print one JSON object')
    .option('--no-progress', 'no bars, also on a terminal')
    .addHelpText(
      'after',
      `
Observed storm dates alone are counted where there are any, else the simulated ones. The table replaces the one before.
hail-pipeline ingest makes it by itself when there is none, and again after a week of new storm dates.

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

/** Most radars that the summary names. */
const NAMED = 8;

function blockageText({ terrain, radars, radars_outside, rows, path, bytes, changed }: BlockageReport): string {
  if (!changed) return `Nothing to do: ${path} holds what ${terrain.file} gives.\n`;
  const shadowed = radars
    .filter(({ shadowed_pct }) => shadowed_pct > 0)
    .sort((a, b) => b.shadowed_pct - a.shadowed_pct);
  const patchy = radars.filter(({ unknown_pct }) => unknown_pct > 0);
  const list = (some: readonly RadarSummary[], share: 'shadowed_pct' | 'unknown_pct') =>
    some
      .slice(0, NAMED)
      .map((radar) => `${radar.id} ${radar[share]} %`)
      .join(', ') + (some.length > NAMED ? `, and ${some.length - NAMED} more` : '');
  return [
    `Blockage of ${counted(radars.length, 'radar')} from ${terrain.file} (${Number(terrain.step_arcsec.toPrecision(4))} arc-seconds): ${counted(rows, 'row')}, ${readableBytes(bytes)} in ${path}`,
    `More than half of the lowest beam is blocked in some directions of ${counted(shadowed.length, 'radar')}${shadowed.length > 0 ? `: ${list(shadowed, 'shadowed_pct')}` : ''}.`,
    ...(patchy.length > 0
      ? [
          `Heights are not known everywhere around ${counted(patchy.length, 'radar')}, and block nothing there: ${list(patchy, 'unknown_pct')}.`,
        ]
      : []),
    ...(radars_outside > 0
      ? [`${counted(radars_outside, 'radar')} outside the model: nothing counts as blocked.`]
      : []),
    '',
  ].join('\n');
}
