import { Command } from 'commander';
import { type Bbox, checkBbox, type Position } from '../../schemas/geo/position.ts';
import { UsageError } from '../error.ts';
import { type InspectOptions, inspectFile } from './inspect-file.ts';
import { inspectText } from './inspect-text.ts';

/** `hail-pipeline inspect FILE`: contents of any file in figures. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description(
      'say what a GRIB2, GeoTIFF or ProbSevere file holds: grid, packing, time, extremes, counts, areas, values',
    )
    .argument('<file>', 'GRIB2 (also .gz), GeoTIFF or ProbSevere JSON')
    .option('--at <lat,lon>', 'value at the nearest grid point; may be repeated', collectPosition)
    .option('--thresholds <list>', 'count points, areas and components at or above these values', parseThresholds)
    .option('--bbox <w,s,e,n>', 'only points whose centre lies in this box', parseBbox)
    .option('--field <n>', 'which field of a file of several, from 1', parseField)
    .option('--json', 'one JSON object instead of text')
    .addHelpText(
      'after',
      `
Examples:
  hail-pipeline inspect MRMS_MESH_00.50_20240228-025239.grib2.gz
  hail-pipeline inspect mesh.grib2 --at 41.565,-87.695 --thresholds 10,19,25 --bbox -91.52,36.97,-87.01,42.51
  hail-pipeline inspect nam.grib2 --field 136 --at 35.47,-97.52 --json`,
    )
    .action(async (path: string, given: Partial<InspectOptions> & { readonly json?: boolean }) => {
      const { thresholds = null, bbox = null, field = null, at = [], json = false } = given;
      const report = await inspectFile(path, { thresholds, bbox, field, at });
      process.stdout.write(json ? `${JSON.stringify(report)}\n` : inspectText(report));
    });
}

const NUMBER = /^-?\d+(\.\d+)?$/;

/** Numbers of a comma-separated list; null when one of them is no plain decimal number. */
function numbers(text: string): number[] | null {
  const parts = text.split(',').map((part) => part.trim());
  return parts.every((part) => NUMBER.test(part)) ? parts.map(Number) : null;
}

function collectPosition(text: string, before: readonly Position[] = []): readonly Position[] {
  const [lat, lon, ...rest] = numbers(text) ?? [];
  if (lat === undefined || lon === undefined || rest.length > 0 || Math.abs(lat) > 90 || Math.abs(lon) > 180)
    throw new UsageError(`--at is '${text}', expected LAT,LON in degrees such as 41.565,-87.695`);
  return [...before, { lat, lon }];
}

function parseThresholds(text: string): readonly number[] {
  const values = numbers(text);
  if (!values || values.length > 50)
    throw new UsageError(`--thresholds is '${text}', expected up to 50 numbers such as 10,19,25.4`);
  return [...new Set(values)].sort((a, b) => a - b);
}

function parseBbox(text: string): Bbox {
  const box = checkBbox(numbers(text) ?? []);
  const form = `--bbox is '${text}', expected W,S,E,N in degrees`;
  if (box === 'form') throw new UsageError(`${form} such as -91.52,36.97,-87.01,42.51`);
  if (box === 'bounds') throw new UsageError(`${form} within -180 to 180 and -90 to 90`);
  if (box === 'order') throw new UsageError(`${form} with west < east and south < north`);
  return box;
}

function parseField(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError(`--field is '${text}', expected a whole number from 1`);
  return Number(text);
}
