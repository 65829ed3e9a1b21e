import { deflateSync } from 'node:zlib';

/** A terrain model as somebody would deliver it: a GeoTIFF with strips of a few rows, written without any library. */
export interface DemFile {
  readonly rows: number;
  readonly cols: number;
  /** North-western corner, degrees. */
  readonly west: number;
  readonly north: number;
  readonly step_deg: number;
  /** Height at the centre of a pixel, m. */
  readonly height: (lat: number, lon: number) => number;
  readonly type?: 'int16' | 'float32';
  readonly rows_per_strip?: number;
  readonly deflate?: boolean;
  /** Text of the nodata value. */
  readonly nodata?: string;
  /** GeoKeys beside or instead of those of WGS84 longitudes and latitudes with heights in metres; null leaves one out. */
  readonly keys?: Readonly<Record<number, number | null>>;
}

/** Numbers of the GeoKeys that tests change. */
export const KEY = { model: 1024, raster: 1025, geographic: 2048, angle: 2054, projected: 3072, unit: 4099 } as const;
const WGS84_METRES = { [KEY.model]: 2, [KEY.raster]: 1, [KEY.geographic]: 4326, [KEY.angle]: 9102, [KEY.unit]: 9001 };

const [ASCII, SHORT, LONG, DOUBLE] = [2, 3, 4, 12] as const;
const FIELD_BYTES = { [ASCII]: 1, [SHORT]: 2, [LONG]: 4, [DOUBLE]: 8 } as const;
type Entry = readonly [tag: number, type: keyof typeof FIELD_BYTES, values: readonly number[]];

/** Bytes of the file, little-endian. */
export function demFile(dem: DemFile): Uint8Array {
  const { rows, cols, step_deg, type = 'int16', rows_per_strip = 16, nodata } = dem;
  const strips: Buffer[] = [];
  for (let top = 0; top < rows; top += rows_per_strip)
    strips.push(strip(dem, top, Math.min(rows, top + rows_per_strip)));
  const keys = Object.entries({ ...WGS84_METRES, ...dem.keys }).flatMap(([key, value]) =>
    value === null ? [] : [Number(key), 0, 1, value],
  );
  let at = 8;
  const offsets = strips.map(({ length }) => {
    at += length;
    return at - length;
  });
  const entries: Entry[] = [
    [256, LONG, [cols]],
    [257, LONG, [rows]],
    [258, SHORT, [type === 'int16' ? 16 : 32]],
    [259, SHORT, [dem.deflate ? 8 : 1]],
    [262, SHORT, [1]],
    [273, LONG, offsets],
    [277, SHORT, [1]],
    [278, LONG, [rows_per_strip]],
    [279, LONG, strips.map(({ length }) => length)],
    [339, SHORT, [type === 'int16' ? 2 : 3]],
    [33550, DOUBLE, [step_deg, step_deg, 0]],
    [33922, DOUBLE, [0, 0, 0, dem.west, dem.north, 0]],
    [34735, SHORT, [1, 1, 0, keys.length / 4, ...keys]],
    ...(nodata === undefined ? [] : [[42113, ASCII, [...Buffer.from(`${nodata}\0`)]] as const]),
  ];
  const head = Buffer.alloc(8);
  head.write('II');
  head.writeUInt16LE(42, 2);
  head.writeUInt32LE(at, 4);
  return Buffer.concat([head, ...strips, directory(entries, at)]);
}

function strip(
  { cols, west, north, step_deg, height, type = 'int16', deflate }: DemFile,
  top: number,
  end: number,
): Buffer {
  const bytes = type === 'int16' ? 2 : 4;
  const values = Buffer.alloc((end - top) * cols * bytes);
  for (let row = top; row < end; row++)
    for (let col = 0; col < cols; col++) {
      const height_m = height(north - (row + 0.5) * step_deg, west + (col + 0.5) * step_deg);
      const at = ((row - top) * cols + col) * bytes;
      if (type === 'int16') values.writeInt16LE(Math.round(height_m), at);
      else values.writeFloatLE(height_m, at);
    }
  return deflate ? deflateSync(values) : values;
}

/** The directory at a byte of the file, with what does not fit into its entries behind it. */
function directory(entries: readonly Entry[], at: number): Buffer {
  const fields = Buffer.alloc(2 + 12 * entries.length + 4);
  fields.writeUInt16LE(entries.length, 0);
  const behind: Buffer[] = [];
  let next = at + fields.length;
  for (const [index, [tag, type, values]] of entries.entries()) {
    const from = 2 + 12 * index;
    const content = fieldBytes(type, values);
    fields.writeUInt16LE(tag, from);
    fields.writeUInt16LE(type, from + 2);
    fields.writeUInt32LE(values.length, from + 4);
    if (content.length <= 4) content.copy(fields, from + 8);
    else {
      fields.writeUInt32LE(next, from + 8);
      behind.push(content);
      next += content.length;
    }
  }
  return Buffer.concat([fields, ...behind]);
}

function fieldBytes(type: keyof typeof FIELD_BYTES, values: readonly number[]): Buffer {
  const size = FIELD_BYTES[type];
  const content = Buffer.alloc(values.length * size);
  for (const [index, value] of values.entries())
    if (type === DOUBLE) content.writeDoubleLE(value, index * size);
    else content.writeUIntLE(value, index * size, size);
  return content;
}

/** A TIFF in which one number of its first directory is written as a float instead: such as a height of strips of 1e-300. */
export function withFloat(tiff: Uint8Array, tag: number, value: number): Uint8Array {
  const bytes = Buffer.concat([tiff, Buffer.alloc(8)]);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const little = bytes.toString('latin1', 0, 2) === 'II';
  const start = view.getUint32(4, little);
  for (let k = 0; k < view.getUint16(start, little); k++) {
    const at = start + 2 + 12 * k;
    if (view.getUint16(at, little) !== tag) continue;
    view.setUint16(at + 2, DOUBLE, little);
    view.setUint32(at + 8, tiff.length, little);
    view.setFloat64(tiff.length, value, little);
    return bytes;
  }
  throw new RangeError(`tiff has no entry ${tag}`);
}
