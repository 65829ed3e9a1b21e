import { z } from 'zod';
import { DAILY, type PublishedFile, REFLECTIVITY } from '../../schemas/manifest.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import {
  DAILY_CACHE_CONTROL,
  DAILY_TILES_EXAMPLE,
  DailyTiles,
  PMTILES_TYPE,
  SCAN_CACHE_CONTROL,
  SCAN_TILES_EXAMPLE,
  ScanTiles,
} from '../../schemas/resources/tile-frame.ts';
import type { Frame } from '../../schemas/tables/radar.ts';
import { scanTime, stormDate, timestamp } from '../../schemas/time.ts';
import { dateQuery } from '../http/decode.ts';
import {
  archiveUrl,
  dailyArchive,
  dailyTilesPath,
  type PublicAddresses,
  reflectivityArchives,
  reflectivityTilesPath,
  scanTilesPath,
} from '../published/archives/tile-archives.ts';
import type { Edition } from '../published/catalog.ts';
import { FILES } from '../queries/sql.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

const ESTIMATE = 'Radar estimate, not a ground measurement.';
const OBSERVED_NOTE = `${ESTIMATE} Source: NOAA MRMS.`;

const FRAMES_SQL = `
  SELECT scan_id, scan_time, max_size_mm, max_prob, storms, tile_path FROM ${FILES} ORDER BY scan_time`;
type FrameRow = Pick<Frame, 'scan_id' | 'scan_time' | 'max_size_mm' | 'max_prob' | 'storms' | 'tile_path'>;
/** Tracked storms of a scan, largest first. */
const Storms = z.array(z.object({ lat: z.number(), lon: z.number(), mm: z.number() }));

export const getScanTiles = readEndpoint({
  method: 'GET',
  path: '/v1/tiles/scan',
  group: 'Radar tiles',
  summary: 'Pictures of the scans of a day',
  description:
    'The archives themselves are public and never change: this call only tells where they are. A frame comes about every 2 to 4 minutes.',
  scope: 'tiles:read',
  query: z.object({ date: dateQuery({ description: 'Storm date; default the latest with scans.' }) }),
  reply: ScanTiles,
  example: SCAN_TILES_EXAMPLE,
  price: flatPrice('tiles.scan', 3),
  clocked: ['date'],
  plan: ({ query, edition }) => {
    const date = query.date ?? scanDate(edition);
    const dates = date === null ? [] : [date];
    const as_of_ms = edition.dataAsOf(dates);
    const version = edition.version(['frames', REFLECTIVITY], dates);
    return { dates, date, as_of_ms, version: `${dates} ${version} ${as_of_ms}` };
  },
  answer: async ({ services, edition, plan: { dates, date, as_of_ms } }) => {
    const painted = date === null || !edition.hasReflectivity(date) ? null : await edition.manifest(date);
    const reflectivity = reflectivityArchives(painted);
    const paths = edition.paths('frames', dates);
    const frames = paths.length === 0 ? [] : await services.engine.rows<FrameRow>(FRAMES_SQL, [paths]);
    return {
      body: {
        layer: 'scan' as const,
        date,
        available: frames.length > 0,
        data_as_of: timestamp(as_of_ms),
        frame_count: frames.length,
        frames: frames.map(({ scan_id, scan_time, max_prob, max_size_mm, storms, tile_path }) => ({
          scan_id,
          scan_time: timestamp(scan_time),
          url: archiveUrl(services, scanTilesPath(date ?? '', tile_path), tile_path),
          reflectivity_url: reflectivityUrl(services, date ?? '', reflectivity.get(scan_id)),
          content_type: PMTILES_TYPE,
          cache_control: SCAN_CACHE_CONTROL,
          max_prob: rounded(max_prob, 3),
          max_size_mm: rounded(max_size_mm, 1),
          storms: Storms.parse(JSON.parse(storms)).map(({ mm, ...at }) => ({
            ...roundedPosition(at),
            mm: rounded(mm, 1),
          })),
        })),
        note: noteOf(edition.provenanceOf(dates)),
      },
    };
  },
});

export const getDailyTiles = readEndpoint({
  method: 'GET',
  path: '/v1/tiles/daily',
  group: 'Radar tiles',
  summary: 'Picture of a whole day',
  description:
    'Swath tiers and storm tracks of a storm date in one archive, which may be redrawn during the day under the same address: respect its cache_control.',
  scope: 'tiles:read',
  query: z.object({ date: dateQuery({ description: 'Storm date; default today UTC.' }) }),
  reply: DailyTiles,
  example: DAILY_TILES_EXAMPLE,
  price: flatPrice('tiles.daily', 2),
  clocked: ['date'],
  plan: ({ query, services, edition, now_ms }) => {
    const date = query.date ?? stormDate(now_ms, services.storm_day_start_hour);
    const dates = [date];
    const as_of_ms = edition.dataAsOf(dates);
    return { dates, date, as_of_ms, version: `${date} ${edition.version([DAILY], dates)} ${as_of_ms}` };
  },
  answer: async ({ services, edition, plan: { dates, date, as_of_ms } }) => {
    const archive = dailyArchive(await edition.manifest(date));
    return {
      body: {
        layer: 'daily' as const,
        date,
        available: archive !== null,
        url: archive === null ? null : archiveUrl(services, dailyTilesPath(date), archive.path),
        content_type: PMTILES_TYPE,
        cache_control: DAILY_CACHE_CONTROL,
        size_bytes: archive?.bytes ?? null,
        data_as_of: timestamp(archiveTime(archive) ?? as_of_ms),
        note: noteOf(edition.provenanceOf(dates)),
      },
    };
  },
});

function reflectivityUrl(addresses: PublicAddresses, date: string, archive: PublishedFile | undefined): string | null {
  if (archive === undefined) return null;
  return archiveUrl(addresses, reflectivityTilesPath(date, archive.path), archive.path);
}

/** The latest date with scans. */
function scanDate(edition: Edition): string | null {
  return edition.dates.findLast((date) => edition.paths('frames', [date]).length > 0) ?? null;
}

/** Observation time of the newest scan in an archive; null without an archive, and for one that was not made from scans. */
function archiveTime(archive: PublishedFile | null): number | null {
  const last = archive?.last_scan ?? null;
  return last === null ? null : scanTime(last);
}

const NOTES = {
  observed: OBSERVED_NOTE,
  simulated: 'SIMULATED, not observed. Estimates in the form radar would give them.',
} as const;

/** Note on the source of the data; a date without data has no provenance. */
function noteOf(provenance: MixedProvenance | null): string {
  return provenance === null || provenance === 'mixed' ? ESTIMATE : NOTES[provenance];
}
