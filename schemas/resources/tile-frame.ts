import { z } from 'zod';
import * as wire from './fields.ts';

/** Media type of tile archives. */
export const PMTILES_TYPE = 'application/vnd.pmtiles' as const;
/** Caching of scan tiles: rebuilt ones have another address. */
export const SCAN_CACHE_CONTROL = 'public, max-age=31536000, immutable' as const;
/** Caching of daily tiles: they are redrawn under one address, with another ETag. */
export const DAILY_CACHE_CONTROL = 'public, max-age=60, must-revalidate' as const;

const contentType = z.literal(PMTILES_TYPE).meta({ description: 'PMTiles version 3 with vector tiles.' });
const date = z.iso.date().meta({ description: 'Storm date.' });
const available = z.boolean().meta({ description: 'False for a date without an archive.' });
const note = z.string().meta({ description: 'Where the data come from and what the pictures are.' });

/** The scan tiles of one scan. */
export const TileFrame = wire.resource('TileFrame', {
  scan_id: z.string().meta({ description: 'Compact scan time.' }),
  scan_time: wire.time('Observation time.'),
  url: z.url().meta({ description: 'Archive, readable by anyone with HTTP range requests.' }),
  reflectivity_url: z.url().nullable().meta({
    description:
      'Archive of its composite reflectivity, same type and caching; null without the product, and once it is too old to be kept.',
  }),
  content_type: contentType,
  cache_control: z.literal(SCAN_CACHE_CONTROL).meta({ description: 'As the archive is served.' }),
  max_prob: wire.probability('Largest ml_probability of the scan; null without a storm cell.').nullable(),
  max_size_mm: wire.mm('Largest MESH of the scan; null without hail.').nullable(),
  storms: z
    .array(z.object({ lat: wire.lat(), lon: wire.lon(), mm: wire.mm('Largest size of the storm.') }))
    .meta({ description: 'Tracked storms, largest first.' }),
});
export type TileFrame = z.infer<typeof TileFrame>;

/** Answer of GET /v1/tiles/scan. */
export const ScanTiles = wire.resource('ScanTiles', {
  layer: z.literal('scan'),
  date: date
    .nullable()
    .meta({ description: 'Storm date as asked, or the latest with scans; null while there is none.' }),
  available,
  data_as_of: wire.dataAsOf(),
  frame_count: wire.count('Frames listed.'),
  frames: z.array(TileFrame).meta({ description: 'Oldest first.' }),
  note,
});
export type ScanTiles = z.infer<typeof ScanTiles>;

/** Answer of GET /v1/tiles/daily. */
export const DailyTiles = wire.resource('DailyTiles', {
  layer: z.literal('daily'),
  date,
  available,
  url: z.url().nullable().meta({ description: 'Archive of the day; null when unavailable.' }),
  content_type: contentType,
  cache_control: z.literal(DAILY_CACHE_CONTROL).meta({ description: 'As the archive is served; respect it.' }),
  size_bytes: z
    .int()
    .positive()
    .nullable()
    .meta({ description: 'Size of the archive; null when unavailable.', unit: 'B' }),
  data_as_of: wire.dataAsOf(),
  note,
});
export type DailyTiles = z.infer<typeof DailyTiles>;

export const SCAN_TILES_EXAMPLE: wire.Example<typeof ScanTiles> = {
  query: { date: '2026-05-01' },
  reply: {
    layer: 'scan',
    date: '2026-05-01',
    available: true,
    data_as_of: '2026-05-01T20:12:00Z',
    frame_count: 1,
    frames: [
      {
        scan_id: '20260501T201200Z',
        scan_time: '2026-05-01T20:12:00Z',
        url: 'https://hail.example/tiles/scan/2026-05-01/20260501T201200Z-77b0e1aa.pmtiles',
        reflectivity_url: 'https://hail.example/tiles/reflectivity/2026-05-01/20260501T201200Z-0c51d9e3.pmtiles',
        content_type: PMTILES_TYPE,
        cache_control: SCAN_CACHE_CONTROL,
        max_prob: 0.62,
        max_size_mm: 41.3,
        storms: [{ lat: 35.18, lon: -97.44, mm: 41.3 }],
      },
    ],
    note: 'Radar estimate, not a ground measurement. Source: NOAA MRMS.',
  },
};

export const DAILY_TILES_EXAMPLE: wire.Example<typeof DailyTiles> = {
  query: { date: '2026-05-01' },
  reply: {
    layer: 'daily',
    date: '2026-05-01',
    available: true,
    url: 'https://hail.example/tiles/daily/2026-05-01.pmtiles',
    content_type: PMTILES_TYPE,
    cache_control: DAILY_CACHE_CONTROL,
    size_bytes: 412_345,
    data_as_of: '2026-05-01T23:58:00Z',
    note: 'Radar estimate, not a ground measurement. Source: NOAA MRMS.',
  },
};
