import { columns, grouped } from '../../schemas/command-line.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { FieldHead, GridNumbers, PackingNumbers } from '../read/layers.ts';
import type { Exceedance, FieldReport, ObjectSummary, Report } from './inspect-file.ts';

/** A report as aligned text for people. */
export function inspectText(report: Report): string {
  const title = `${report.file}\n${report.format}, ${grouped(report.bytes)} bytes`;
  if (report.format === 'ProbSevere') return `${title}\n\n${printObjects(report.objects, report.bbox)}`;
  const { fields, detail } = report;
  const count = `${fields.length} field${fields.length === 1 ? '' : 's'}`;
  if (detail === null)
    return `${title}, ${count}\n\n${printList(fields)}\n\nLook closer at one of them with --field N.\n`;
  const which = fields.length > 1 ? `, this is number ${detail.field}` : '';
  return `${title}, ${count}${which}\n\n${printDetail(detail)}\n`;
}

function printList(fields: readonly FieldHead[]): string {
  const rows = fields.map(({ field, name, unit, level, time, valid_time, packing, grid }) => [
    String(field),
    name,
    unit ?? '-',
    level,
    time,
    valid_time ?? '-',
    packingWords(packing).split(',', 1)[0] as string,
    gridWords(grid).split(', step', 1)[0] as string,
  ]);
  return columns([['field', 'name', 'unit', 'level', 'reference time', 'valid time', 'packing', 'grid'], ...rows], 'r');
}

function printDetail(detail: FieldReport): string {
  const { summary, unit, samples, thresholds } = detail;
  const facts = [
    ['product', `${detail.name} (${detail.parameter})${unit ? `, ${unit}` : ''}, ${detail.level}`],
    ['time', timeWords(detail)],
    ['grid', gridWords(detail.grid)],
    ...(detail.first.lat === null ? [] : [['', `from ${place(detail.first)} to ${place(detail.last)}`]]),
    ['packing', packingWords(detail.packing)],
    ...(detail.bbox ? [['box', `${detail.bbox.join(',')} (west, south, east, north)`]] : []),
  ];
  const parts = [columns(facts), printCounts(summary), printExtremes(summary, unit)];
  if (thresholds.length > 0) parts.push(printThresholds(thresholds, unit));
  if (samples.length > 0) parts.push(printSamples(samples, unit));
  return parts.join('\n\n');
}

function timeWords({ time, valid_time, simulated }: FieldHead): string {
  const forecast = valid_time === null || valid_time === time ? '' : `, for ${valid_time}`;
  return `${time}${forecast}${simulated ? ', simulated' : ''}`;
}

function printCounts(summary: FieldReport['summary']): string {
  const line = (name: string, points: number) => [name, grouped(points), share(points, summary.points)];
  return columns(
    [
      line('points', summary.points),
      ...(summary.no_coverage ? [line(`no coverage (${summary.no_coverage.value})`, summary.no_coverage.points)] : []),
      ...(summary.nothing ? [line(`nothing there (${summary.nothing.value})`, summary.nothing.points)] : []),
      ...(summary.missing > 0 ? [line('missing', summary.missing)] : []),
      line('values', summary.values),
      line('  of these zero', summary.zeros),
      ...(summary.negative > 0 ? [line('  of these negative', summary.negative)] : []),
    ],
    'lrr',
  );
}

function printExtremes({ min, max, mean }: FieldReport['summary'], unit: string | null): string {
  if (!min || !max || mean === null) return 'no values';
  const suffix = unit ? ` ${unit}` : '';
  const where = (extreme: NonNullable<typeof min>) =>
    `${place(extreme)}${extreme.points > 1 ? `, the first of ${grouped(extreme.points)} points` : ''}`;
  return columns([
    ['minimum', `${short(min.value)}${suffix}`, where(min)],
    ['maximum', `${short(max.value)}${suffix}`, where(max)],
    ['mean', `${short(mean)}${suffix}`, ''],
  ]);
}

function printThresholds(thresholds: readonly Exceedance[], unit: string | null): string {
  const head = [`>= ${unit ?? ''}`.trim(), 'points', 'area km2', 'components (8)', '(4)'];
  const rows = thresholds.map(({ threshold, pixels, area_km2, components_8, components_4 }) => [
    String(threshold),
    grouped(pixels),
    area_km2 === null ? '-' : area_km2.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    components_8 === null ? '-' : grouped(components_8),
    components_4 === null ? '-' : grouped(components_4),
  ]);
  return columns([head, ...rows], 'rrrrr');
}

function printSamples(samples: FieldReport['samples'], unit: string | null): string {
  const rows = samples.map(({ asked, nearest, value, meaning }) => [
    `at ${degreesWords({ ...asked })}`,
    meaning === 'value' && value !== null ? `${short(value)}${unit ? ` ${unit}` : ''}` : meaning,
    nearest ? place(nearest) : '',
  ]);
  return columns(rows);
}

function printObjects(objects: ObjectSummary, bbox: Bbox | null): string {
  const size = (mm: number | null) => (mm === null ? '-' : `${short(mm)} mm`);
  const parts = [
    columns([
      ['model', objects.model],
      ['valid time', `${objects.time}${objects.simulated ? ', simulated' : ''}`],
      ...(bbox ? [['box', `${bbox.join(',')} (west, south, east, north)`]] : []),
      ['objects', grouped(objects.objects)],
      ['MESH distrusted by the model', grouped(objects.distrusted)],
      [
        'largest MESH',
        `${size(objects.max_mesh_mm)}${objects.max_mesh_id === null ? '' : ` (object ${objects.max_mesh_id})`}`,
      ],
      ['MESH of at least one inch', grouped(objects.mesh_at_least_one_inch)],
      ['largest hail probability', objects.max_prob_hail === null ? '-' : `${short(100 * objects.max_prob_hail)} %`],
      ['hail probability of at least 50 %', grouped(objects.prob_hail_at_least_half)],
    ]),
    columns(
      [['>= mm', 'objects'], ...objects.thresholds.map((row) => [String(row.threshold), grouped(row.objects)])],
      'rr',
    ),
  ];
  if (objects.nearest.length > 0)
    parts.push(
      columns(
        objects.nearest.map(({ asked, distance_km, object }) => [
          `at ${degreesWords(asked)}`,
          `object ${object.probsevere_id}`,
          `${distance_km.toFixed(1)} km away`,
          `MESH ${size(object.mesh_mm)}`,
          `hail ${short(100 * object.prob_hail)} %`,
        ]),
      ),
    );
  return `${parts.join('\n\n')}\n`;
}

function share(part: number, all: number): string {
  return all === 0 ? '' : `${((100 * part) / all).toFixed(1)} %`;
}

/** Seven significant digits: what single precision carries. */
function short(value: number): string {
  return String(Number(value.toPrecision(7)));
}

function place(point: FieldReport['first']): string {
  const at = `row ${point.row}, column ${point.col}`;
  return point.lat === null || point.lon === null ? at : `${at} (${degreesWords({ lat: point.lat, lon: point.lon })})`;
}

function degreesWords({ lat, lon }: Position): string {
  return `${short(Math.abs(lat))} ${lat < 0 ? 'S' : 'N'} ${short(Math.abs(lon))} ${lon < 0 ? 'W' : 'E'}`;
}

/** A grid in words: `3.0 latitude-longitude, 7000 x 3500, step 0.01 x 0.01 deg`. */
function gridWords(grid: GridNumbers): string {
  const template = grid.template === null ? '' : `3.${grid.template} `;
  const size = `${grid.columns} x ${grid.rows}`;
  switch (grid.projection) {
    case 'latitude-longitude':
      return `${template}latitude-longitude, ${size}, step ${grid.step_lon_deg} x ${grid.step_lat_deg} deg`;
    case 'Lambert':
      return `${template}Lambert, ${size}, step ${grid.step_x_m} x ${grid.step_y_m} m`;
    case null:
      return `${template.trim()}, ${size}, positions not supported`;
  }
}

/** A packing in words: `5.41 PNG, 16 bits, value = (-30 + x) / 10`. */
function packingWords({ template, name, bits, reference, binary_scale, decimal_scale }: PackingNumbers): string {
  const title = template === null ? name : `5.${template} ${name}`;
  if (bits === null) return title;
  if (reference === null || binary_scale === null || decimal_scale === null) return `${title}, ${bits} bits`;
  const scaled = binary_scale === 0 ? 'x' : `x * 2^${binary_scale}`;
  const sum = reference === 0 ? scaled : `(${Number(reference.toPrecision(9))} + ${scaled})`;
  const power = decimal_scale === 0 ? '' : ` ${decimal_scale > 0 ? '/' : '*'} ${10 ** Math.abs(decimal_scale)}`;
  return `${title}, ${bits} bits, value = ${sum}${power}`;
}
