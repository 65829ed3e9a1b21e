import { Command, InvalidArgumentError } from 'commander';
import { counted, EXIT, STOP_SIGNALS } from '../../schemas/command-line.ts';
import type { Bbox } from '../../schemas/geo/position.ts';
import {
  DATASETS,
  type Dataset,
  EXPORT_DAYS_MAX,
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportParams,
} from '../../schemas/resources/export-job.ts';
import { daysBetween, isCalendarDate, timestamp } from '../../schemas/time.ts';
import { openCatalog } from '../catalog.ts';
import type { Config } from '../config.ts';
import { DataUnavailable } from '../data-root.ts';
import { bboxQuery, type Parameter, stateQuery } from '../decode.ts';
import { QueryTimeout } from '../duckdb.ts';
import { servedParams, type WrittenExport, writeExport } from '../jobs/export.ts';
import { rangeFault } from '../rules/date-range.ts';
import { CommandError, oneWordOf, print, requireDataRoot } from './cli.ts';
import { refuseToReplace, writeWhole } from './whole-file.ts';

/** What the command needs of the settings. */
export type ExportConfig = Pick<Config, 'data_root' | 'storm_day_start_hour' | 'now'>;

interface Options {
  readonly format: ExportFormat;
  readonly out: string;
  readonly bbox?: Bbox;
  readonly state?: string;
  readonly force?: true;
  readonly json?: true;
}

/** `hail-api export`: the files of POST /v1/exports without HTTP, free. */
export function exportCommand(config: () => ExportConfig): Command {
  return new Command('export')
    .description(
      `write detections, swaths or ground reports of up to ${EXPORT_DAYS_MAX} storm dates to a file, as POST /v1/exports does, free`,
    )
    .argument('<dataset>', DATASETS.join(', '), oneWordOf(DATASETS))
    .argument('<from>', 'first storm date, YYYY-MM-DD', calendarDate)
    .argument('<to>', 'last storm date, included; today when it lies ahead', calendarDate)
    .requiredOption('--format <format>', EXPORT_FORMATS.join(', '), oneWordOf(EXPORT_FORMATS))
    .requiredOption('--out <file>', 'where it goes; a file that exists is left alone')
    .option('--bbox <box>', 'minLon,minLat,maxLon,maxLat', argumentOf(bboxQuery()))
    .option('--state <code>', 'USPS code instead of a box', argumentOf(stateQuery()))
    .option('--force', 'replace a file that exists')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExample:\n  hail-api export detections 2026-05-01 2026-05-02 --state OK --format parquet --out detections.parquet',
    )
    .action(async (dataset: Dataset, date_start: string, date_end: string, options: Options) => {
      const { format, out, bbox = null, state = null, json } = options;
      const asked = { dataset, date_start, date_end, bbox, state, format };
      const settings = config();
      refuseContradictions(asked, settings.now());
      const params = servedParams(asked, settings.now());
      refuseToReplace('export', out, options);
      requireDataRoot(settings);
      const { summary, data_as_of_ms, data_source, dates_without_data, note } = await exportTo(settings, params, out);
      const data_as_of = data_as_of_ms === null ? null : timestamp(data_as_of_ms);
      print(json, { file: out, ...summary, data_as_of, data_source, dates_without_data, note }, [
        `Wrote ${counted(summary.row_count, 'row')} to ${out}${data_source === null ? '' : `, ${data_source}`}.`,
        ...(data_as_of === null ? [] : [`Up to ${data_as_of}.`]),
        ...(summary.truncated ? ['There are more: the latest were left out.'] : []),
        ...(note === null && dates_without_data.length > 0 ? [`Without data: ${dates_without_data.join(', ')}.`] : []),
        ...(note === null ? [] : [`Note: ${note}.`]),
      ]);
    });
}

function refuseContradictions({ date_start, date_end, bbox, state }: ExportParams, now_ms: number): void {
  if (date_end < date_start)
    throw new CommandError(EXIT.usage, `export: the last date ${date_end} is before the first, ${date_start}`);
  if (daysBetween(date_start, date_end) > EXPORT_DAYS_MAX)
    throw new CommandError(EXIT.usage, `export: ${date_start} to ${date_end} are over ${EXPORT_DAYS_MAX} dates`);
  if (bbox !== null && state !== null)
    throw new CommandError(EXIT.usage, 'export: --bbox and --state are given, expected one of them');
  const fault = rangeFault({ date_start }, now_ms);
  if (fault !== null) throw new CommandError(EXIT.usage, `export: ${fault.name} ${fault.reason}`);
}

/** Writes the export; an interruption leaves no file behind. */
async function exportTo(settings: ExportConfig, params: ExportParams, out: string): Promise<WrittenExport> {
  await using opened = new AsyncDisposableStack();
  const catalog = await openCatalog(settings.data_root, settings.storm_day_start_hour);
  opened.defer(catalog.close);
  const stop = new AbortController();
  const interrupted = () => stop.abort(new CommandError(EXIT.failure, 'export: interrupted'));
  for (const signal of STOP_SIGNALS) process.once(signal, interrupted);
  try {
    return await writeWhole(out, (path) => writeExport(catalog, params, path, { signal: stop.signal }));
  } catch (error) {
    if (error instanceof DataUnavailable || error instanceof QueryTimeout)
      throw new CommandError(EXIT.failure, error.message);
    throw error;
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, interrupted);
  }
}

function calendarDate(text: string): string {
  if (!isCalendarDate(text)) throw new InvalidArgumentError(`Found '${text}', expected a date YYYY-MM-DD.`);
  return text;
}

/** Argument parser: the values that a parameter of the interface accepts. */
function argumentOf<Value>(parameter: Parameter<Value>): (text: string) => Value {
  return (text) => {
    const read = parameter.safeParse(text);
    if (read.success) return read.data;
    throw new InvalidArgumentError(`It ${read.error.issues[0]?.message}.`);
  };
}
