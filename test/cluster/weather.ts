import { copyFile, mkdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeScans } from '../../pipeline/simulate/evening.ts';
import { listFolder } from '../../pipeline/sources/folder.ts';
import { SCAN_PRODUCT, type SourceFile } from '../../pipeline/sources/names.ts';
import { planScans } from '../../pipeline/sources/plan.ts';
import type { Window } from '../../schemas/geo/lattice.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY, MS_PER_MIN } from '../../schemas/time.ts';

/** A few storms over three by three degrees of Kansas and Oklahoma. */
const WINDOW: Window = { row0: 1800, col0: 3000, rows: 300, cols: 300 };
/** Storms of the window lie here: longitude and latitude from, to. */
export const BOX = { west: -100, south: 34, east: -97, north: 37 } as const;
const PRODUCTS = ['MESH', 'MergedReflectivityQCComposite'] as const;

async function simulate(seed: number, span: { from_ms: number; to_ms: number; interval_ms: number }, out: string) {
  const scenario = { seed, window: WINDOW, day_type: 'outbreak', steady: true, sites: WSR88D } as const;
  for await (const _ of writeScans(scenario, { ...span, out, products: PRODUCTS }));
}

/** A scan that has not arrived yet. */
export interface ComingScan {
  readonly scan_id: string;
  readonly files: readonly SourceFile[];
}

/** Scans of the last minutes, oldest first, so young that hail in them raises alerts. */
export async function recentScans(folder: string, minutes: number, interval_s: number): Promise<ComingScan[]> {
  const now_ms = Date.now();
  await simulate(5, { from_ms: now_ms - minutes * MS_PER_MIN, to_ms: now_ms, interval_ms: interval_s * 1000 }, folder);
  const { files } = await listFolder(folder);
  const byTime = Map.groupBy(files, ({ time_ms }) => time_ms);
  return planScans(files).scans.map(({ scan_id, scan_time, mesh }) => ({
    scan_id,
    // The scan itself arrives last, when its companions are there.
    files: [...(byTime.get(scan_time) ?? []).filter(({ product }) => product !== SCAN_PRODUCT), mesh],
  }));
}

/** Writes storm dates whose storms live across each midnight between them; returns the ids of their scans. */
export async function pastDates(folder: string, first: string, count: number): Promise<readonly string[]> {
  for (let k = 0; k < count - 1; k++) {
    const midnight_ms = Date.parse(`${first}T00:00:00Z`) + (k + 1) * MS_PER_DAY;
    const span = { from_ms: midnight_ms - 20 * MS_PER_MIN, to_ms: midnight_ms + 20 * MS_PER_MIN, interval_ms: 60_000 };
    await simulate(7, span, folder);
  }
  return planScans((await listFolder(folder)).files).scans.map(({ scan_id }) => scan_id);
}

/** Puts the files of a scan into a folder, each whole at once. */
export async function arrive({ files }: ComingScan, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { location, name } of files) {
    const draft = join(folder, `.${basename(name)}.part`);
    await copyFile(location, draft);
    await rename(draft, join(folder, name));
  }
}

/** Scans that arrive at a steady pace. */
export interface Feed {
  /** Id of the scan that arrives next. Throws when none is left. */
  readonly next: () => string;
  /** No other scan arrives; ids of those that did, oldest first. */
  readonly end: () => Promise<readonly string[]>;
}

/** Has scans arrive in a folder, one every so many milliseconds. */
export function startFeed(scans: readonly ComingScan[], folder: string, every_ms: number): Feed {
  let arrived = 0;
  let isOver = false;
  const deliver = async () => {
    for (const scan of scans) {
      await sleep(every_ms);
      if (isOver) return;
      await arrive(scan, folder);
      arrived += 1;
    }
  };
  const delivered = deliver();
  return {
    next: () => {
      const scan = scans[arrived];
      if (scan === undefined) throw new Error(`all ${scans.length} scans have arrived, expected one that is to come`);
      return scan.scan_id;
    },
    end: async () => {
      isOver = true;
      await delivered;
      return scans.slice(0, arrived).map(({ scan_id }) => scan_id);
    },
  };
}
