import { basename } from 'node:path';
import type { Manifest, PublishedFile } from '../../../schemas/manifest.ts';
import { DAILY_CACHE_CONTROL, SCAN_CACHE_CONTROL } from '../../../schemas/resources/tile-frame.ts';
import { scanTime } from '../../../schemas/time.ts';
import type { Headers } from '../../http/reply.ts';
import type { Edition } from '../catalog.ts';

/** Path of a date's archive of one scan, below the tiles' address; the file name changes with the content. */
export function scanTilesPath(date: string, tile_path: string): string {
  return `/scan/${date}/${basename(tile_path)}`;
}

/** Path of a date's archive of the reflectivity of one scan, below the tiles' address; the file name changes with the content. */
export function reflectivityTilesPath(date: string, tile_path: string): string {
  return `/reflectivity/${date}/${basename(tile_path)}`;
}

/** Path of the archive of a day, below the tiles' address; always the same. */
export function dailyTilesPath(date: string): string {
  return `/daily/${date}.pmtiles`;
}

/** Public addresses of a service: its own, ending in `/v1`, and that of its store where map viewers load archives from there. */
export interface PublicAddresses {
  readonly base_url: string;
  readonly tiles_url: string | null;
}

/** Address of an archive: `path` is that below the tiles' address, `file` that in the data root. */
export function archiveUrl({ base_url, tiles_url }: PublicAddresses, path: string, file: string): string {
  return tiles_url === null ? `${base_url.replace(/\/v1\/?$/, '/tiles')}${path}` : `${tiles_url}/${file}`;
}

/** The archive of a day in a manifest; null where none was drawn. */
export function dailyArchive(manifest: Manifest | null): PublishedFile | null {
  return manifest?.files.find((file) => file.kind === 'daily-tiles') ?? null;
}

/** Archives of reflectivity that a manifest lists, by the id of their scan. */
export function reflectivityArchives(manifest: Manifest | null): ReadonlyMap<string, PublishedFile> {
  const files = manifest?.files.filter(({ kind }) => kind === 'reflectivity-tiles') ?? [];
  return new Map(files.flatMap((file) => (file.first_scan === null ? [] : [[file.first_scan, file]])));
}

/** An archive of reflectivity, its path below the tiles' address, and the time of its scan. */
interface ReflectivityArchive {
  readonly path: string;
  /** Epoch milliseconds. */
  readonly scan_time: number;
  readonly file: PublishedFile;
}

/** The newest archive of reflectivity that is published; null without any. */
export async function newestReflectivity(edition: Edition): Promise<ReflectivityArchive | null> {
  for (const date of edition.dates.toReversed()) {
    if (!edition.hasReflectivity(date)) continue;
    const newest = [...reflectivityArchives(await edition.manifest(date))].sort(([a], [b]) => (a < b ? 1 : -1))[0];
    if (newest === undefined) continue;
    const [scan_id, file] = newest;
    return { path: reflectivityTilesPath(date, file.path), scan_time: scanTime(scan_id), file };
  }
  return null;
}

const SCAN_PATH = /^\/tiles\/(scan|reflectivity)\/(\d{4}-\d{2}-\d{2})\/(\d{8}T\d{6}Z-[0-9a-f]+\.pmtiles)$/;
const DAILY_PATH = /^\/tiles\/daily\/(\d{4}-\d{2}-\d{2})\.pmtiles$/;

/** A listed archive, and the headers of its answers. */
interface Archive {
  readonly file: PublishedFile;
  readonly headers: Headers;
}

/** The listed archive of a path under `/tiles/`; null for none. An encoded path does not match. */
export async function archiveAt(path: string, edition: Edition): Promise<Archive | null> {
  const [, layer, scanDate, name] = SCAN_PATH.exec(path) ?? [];
  const [, date = scanDate] = DAILY_PATH.exec(path) ?? [];
  const manifest = date === undefined ? null : await edition.manifest(date);
  if (manifest === null) return null;
  const isAsked = (file: PublishedFile) => file.kind === `${layer}-tiles` && basename(file.path) === name;
  const file = layer === undefined ? dailyArchive(manifest) : manifest.files.find(isAsked);
  if (file === undefined || file === null) return null;
  const headers = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'ETag, Content-Range, Content-Length, Accept-Ranges, X-Data-Source, X-Request-Id',
    'Cache-Control': layer === undefined ? DAILY_CACHE_CONTROL : SCAN_CACHE_CONTROL,
    'X-Data-Source': manifest.source,
    // Public: shared caches may keep one copy for all clients.
    Vary: 'Accept-Encoding',
  };
  return { file, headers };
}
