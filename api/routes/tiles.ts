import { z } from 'zod';
import { DAILY, REFLECTIVITY } from '../../schemas/manifest.ts';
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
import { archiveUrl, dailyArchive, reflectivityArchives } from '../published/archives/tile-archives.ts';
import { FILES } from '../queries/sql.ts';
import { rounded, roundedPosition } from '../rules/rounded.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';

const FRAMES_SQL = `
  SELECT scan_id, scan_time, max_size_mm, max_prob, storms, tile_path FROM ${FILES} ORDER BY scan_time`;
type FrameRow = Pick<Frame, 'scan_id' | 'scan_time' | 'max_size_mm' | 'max_prob' | 'storms' | 'tile_path'>;
/** Tracked storms of a scan, largest first. */
const Storms = z.array(z.object({ lat: z.number(), lon: z.number(), mm: z.number() }));

export const getScanTiles = readEndpoint({
  route: 'GET /v1/tiles/scan',
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
    const date = query.date ?? edition.dates.findLast((one) => edition.paths('frames', [one]).length > 0) ?? null;
    const dates = date === null ? [] : [date];
    const as_of_ms = edition.dataAsOf(dates);
    const version = edition.version(['frames', REFLECTIVITY], dates);
    return { dates, date, as_of_ms, version: `${dates} ${version} ${as_of_ms}` };
  },
  answer: async ({ services, edition, plan: { dates, date, as_of_ms } }) => {
    const day = date ?? '';
    const reflectivity = await reflectivityArchives(edition, day);
    const urlOf = (file: string | undefined) =>
      file === undefined ? null : archiveUrl(services, 'reflectivity', day, file);
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
          url: archiveUrl(services, 'scan', day, tile_path),
          reflectivity_url: urlOf(reflectivity.get(scan_id)?.path),
          content_type: PMTILES_TYPE,
          cache_control: SCAN_CACHE_CONTROL,
          max_prob: rounded(max_prob, 3),
          max_size_mm: rounded(max_size_mm, 1),
          storms: Storms.parse(JSON.parse(storms)).map((at) => ({ ...roundedPosition(at), mm: rounded(at.mm, 1) })),
        })),
        note: NOTES[edition.provenanceOf(dates) ?? 'mixed'],
      },
    };
  },
});

export const getDailyTiles = readEndpoint({
  route: 'GET /v1/tiles/daily',
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
    const manifest = await edition.manifest(date);
    const archive = dailyArchive(manifest);
    const missing = manifest === null ? 'no radar data of this date are published' : 'it is not drawn yet';
    const last_scan = archive?.last_scan ?? null; // an archive that was not made from scans has none
    return {
      body: {
        layer: 'daily' as const,
        date,
        available: archive !== null,
        url: archive === null ? null : archiveUrl(services, 'daily', date, archive.path),
        content_type: PMTILES_TYPE,
        cache_control: DAILY_CACHE_CONTROL,
        size_bytes: archive?.bytes ?? null,
        data_as_of: timestamp(last_scan === null ? as_of_ms : scanTime(last_scan)),
        note: archive === null ? `There is no picture: ${missing}.` : NOTES[edition.provenanceOf(dates) ?? 'mixed'],
      },
    };
  },
});

const ESTIMATE = 'Radar estimate, not a ground measurement.';
/** By the provenance of the date; one without data has none. */
const NOTES = {
  mixed: ESTIMATE,
  observed: `${ESTIMATE} Source: NOAA MRMS.`,
  simulated: 'SIMULATED, not observed. Estimates in the form radar would give them.',
} as const;
