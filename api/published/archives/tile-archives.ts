import { basename } from 'node:path';
import type { Manifest, PublishedFile } from '../../../schemas/manifest.ts';
import { DAILY_CACHE_CONTROL, SCAN_CACHE_CONTROL } from '../../../schemas/resources/tile-frame.ts';
import { scanTime } from '../../../schemas/time.ts';
import type { Edition } from '../catalog.ts';

/** Public addresses of a service: its own, ending in `/v1`, and that of its store where map viewers load archives from there. */
export type PublicAddresses = Readonly<{ base_url: string; tiles_url: string | null }>;

type Layer = 'scan' | 'reflectivity' | 'daily';

/** Address of a date's archive, `file` in the data root: the name of one of a scan changes with its content, that of a day never. */
export function archiveUrl({ base_url, tiles_url }: PublicAddresses, layer: Layer, date: string, file: string): string {
  if (tiles_url !== null) return `${tiles_url}/${file}`;
  const name = layer === 'daily' ? `${date}.pmtiles` : `${date}/${basename(file)}`;
  return `${base_url.replace(/\/v1\/?$/, '/tiles')}/${layer}/${name}`;
}

/** The archive of a day in a manifest; null where none was drawn. */
export function dailyArchive(manifest: Manifest | null): PublishedFile | null {
  return manifest?.files.find((file) => file.kind === 'daily-tiles') ?? null;
}

/** Archives of reflectivity of a date, by the id of their scan. */
export async function reflectivityArchives(edition: Edition, date: string) {
  const manifest = edition.hasReflectivity(date) ? await edition.manifest(date) : null;
  const files = manifest?.files.filter(({ kind }) => kind === 'reflectivity-tiles') ?? [];
  return new Map(files.flatMap((file) => (file.first_scan === null ? [] : [[file.first_scan, file]])));
}

/** The newest archive of reflectivity that is published, its date, and the time of its scan, epoch milliseconds; null without any. */
export async function newestReflectivity(edition: Edition) {
  for (const date of edition.dates.toReversed()) {
    const [newest] = [...(await reflectivityArchives(edition, date))].sort(([a], [b]) => (a < b ? 1 : -1));
    if (newest !== undefined) return { date, scan_time: scanTime(newest[0]), file: newest[1] };
  }
  return null;
}

const SCAN_PATH = /^\/tiles\/(scan|reflectivity)\/(\d{4}-\d{2}-\d{2})\/(\d{8}T\d{6}Z-[0-9a-f]+\.pmtiles)$/;
const DAILY_PATH = /^\/tiles\/daily\/(\d{4}-\d{2}-\d{2})\.pmtiles$/;

/** The listed archive of a path under `/tiles/`, and the headers of its answers; null for none. An encoded path does not match. */
export async function archiveAt(path: string, edition: Edition) {
  const [, layer, scanDate, name] = SCAN_PATH.exec(path) ?? [];
  const [, date = scanDate] = DAILY_PATH.exec(path) ?? [];
  const manifest = date === undefined ? null : await edition.manifest(date);
  const isAsked = (file: PublishedFile) => file.kind === `${layer}-tiles` && basename(file.path) === name;
  const file = layer === undefined ? dailyArchive(manifest) : manifest?.files.find(isAsked);
  if (manifest === null || file === undefined || file === null) return null;
  const headers = {
    'Cache-Control': layer === undefined ? DAILY_CACHE_CONTROL : SCAN_CACHE_CONTROL,
    'X-Data-Source': manifest.source,
    // Public: shared caches may keep one copy for all clients.
    Vary: 'Accept-Encoding',
  };
  return { file, headers };
}
