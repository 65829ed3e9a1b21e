import pino from 'pino';
import type { createWatch } from '../../../api/alerts/watch.ts';
import type { Records } from '../../../api/billing/records.ts';
import { NO_METER } from '../../../api/http/metrics.ts';
import type { Edition } from '../../../api/published/catalog.ts';
import type { Engine } from '../../../api/published/duckdb.ts';
import type { Live, LiveSnapshot } from '../../../api/published/live.ts';
import { openQueue, type Queue } from '../../../api/records/tasks.ts';
import type { Manifest } from '../../../schemas/manifest.ts';
import type { Provenance } from '../../../schemas/provenance.ts';
import { scanId, stormDate } from '../../../schemas/time.ts';

export const MINUTE_MS = 60_000;
/** Minute 0 of made-up scans. */
export const START_MS = Date.parse('2026-05-01T20:00:00Z');
const WINDOW_MS = 30 * MINUTE_MS;

/** A detection as `[lat, lon, mm]`. */
export type Hail = readonly [lat: number, lon: number, mm: number];

/** A made-up scan: its minute, its hail, and whether radars covered it (by default all of it), as far as its archive tells. */
export interface MadeScan {
  readonly minute: number;
  readonly hail?: readonly Hail[];
  /** Its detections cannot be read from the tables. */
  readonly is_damaged?: boolean;
  readonly covered?: boolean | 'unknown' | 'broken';
}

const timeOf = ({ minute }: Pick<MadeScan, 'minute'>): number => START_MS + minute * MINUTE_MS;

/** Where made-up episodes fall. */
export const HAIL_AT = { lat: 35.005, lon: -97.005 } as const;
/** Hail in one scan, and the clear scan that ends it. */
export const EPISODE: readonly MadeScan[] = [
  { minute: 0 },
  { minute: 2, hail: [[HAIL_AT.lat, HAIL_AT.lon, 40]] },
  { minute: 32 },
];

/** Columns of detections as the tables name them. */
function rowsOf(scans: readonly MadeScan[]) {
  return scans.flatMap((scan) =>
    (scan.hail ?? []).map(([lat, lon, mm]) => ({
      scan_time: timeOf(scan),
      lat,
      lon,
      estimated_size_mm: mm,
      confidence: 0.8,
      track_id: '20260501-t1',
    })),
  );
}

/** What is published of made-up scans, in whatever order they are given. */
export function editionOf(given: readonly MadeScan[], provenance: Provenance = 'observed'): Edition {
  const scans = [...given].sort((a, b) => a.minute - b.minute);
  const newest_ms = scans.length === 0 ? null : timeOf(scans.at(-1) as MadeScan);
  const dateOf = (scan: MadeScan) => stormDate(timeOf(scan), 0);
  const dates = [...new Set(scans.map(dateOf))];
  const manifest = (date: string) => {
    const own = scans.filter((scan) => dateOf(scan) === date).map((scan) => scanId(timeOf(scan)));
    return {
      partition: date,
      source: provenance,
      scans: own.map((scan_id) => ({ scan_id, segment: scan_id, inputs: '' })),
      files: own.map((id) => ({ kind: 'scan-tiles', first_scan: id, path: `${id}.pmtiles` })),
    } as unknown as Manifest;
  };
  const inWindow = scans.filter((scan) => newest_ms !== null && timeOf(scan) >= newest_ms - WINDOW_MS);
  return {
    newest_scan_ms: newest_ms,
    live: newest_ms === null ? null : { first_scan: scanId(timeOf(inWindow[0] as MadeScan)) },
    datesBetween: (first: string, last: string) => dates.filter((date) => date >= first && date <= last),
    manifest,
    paths: () => ['detections.parquet'],
    version: (_: unknown, asked: readonly string[]) =>
      scans
        .filter((scan) => asked.includes(dateOf(scan)))
        .map(({ minute }) => minute)
        .join(' '),
    made: { all: scans, inWindow },
  } as unknown as Edition;
}

function madeOf(edition: Edition): { readonly all: readonly MadeScan[]; readonly inWindow: readonly MadeScan[] } {
  return (edition as unknown as { made: ReturnType<typeof madeOf> }).made;
}

const live: Live = {
  snapshot: (edition) => {
    if (edition === undefined) throw new TypeError('which edition was not said');
    const rows = rowsOf(madeOf(edition).inWindow);
    const column = (name: keyof (typeof rows)[number]) => {
      const values = rows.map((row) => row[name]);
      return typeof values[0] === 'number' ? Float64Array.from(values as number[]) : values;
    };
    return { detections: { length: rows.length, column } } as unknown as LiveSnapshot;
  },
};

/** What a watch is given over made-up scans; `published` is what the tables hold for scans that have left the window. */
export function watchPartsOf(
  records: Records,
  { now, published = () => [] }: { readonly now: () => number; readonly published?: () => readonly MadeScan[] },
): Parameters<typeof createWatch>[0] & { readonly queue: Queue } {
  const engine = {
    columns: async (_: string, [, scan_ms]: readonly unknown[]) => {
      const found = published().filter((scan) => timeOf(scan) === scan_ms);
      if (found.some((scan) => scan.is_damaged)) throw new Error('the file is damaged');
      const rows = rowsOf(found);
      const column = (name: keyof (typeof rows)[number]) => rows.map((row) => row[name]);
      return {
        ...{ lat: column('lat'), lon: column('lon'), size_mm: column('estimated_size_mm') },
        ...{ confidence: column('confidence'), track_id: column('track_id') },
      };
    },
  } as unknown as Engine;
  return {
    live,
    engine,
    records,
    queue: openQueue(records.store, { failed: () => {}, troubled: () => {} }),
    storm_day_start_hour: 0,
    coverage: async (edition, archive) => {
      const scan = madeOf(edition).all.find((one) => `${scanId(timeOf(one))}.pmtiles` === archive);
      if (scan?.covered === 'broken') throw new Error(`${archive} is no archive`);
      if (scan?.covered === 'unknown') return null;
      return { blocksOver: () => (scan?.covered === false ? 0 : 9) };
    },
    now,
    meter: NO_METER,
    log: pino({ level: 'silent' }),
  };
}
