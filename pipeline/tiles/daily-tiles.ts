import { fillPolygons, type PixelRuns } from '../../schemas/geo/fill.ts';
import { WHOLE_LATTICE } from '../../schemas/geo/lattice.ts';
import type { Bbox } from '../../schemas/geo/position.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { sizeCategory } from '../../schemas/size.ts';
import type { Swath } from '../../schemas/tables/derived.ts';
import type { TrackPoint } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import { type StormPath, stormPaths } from '../storm-paths.ts';
import { boundsOf, vectorLayer, writeArchive } from './metadata.ts';
import { lineFeature, type PixelArea, pointFeature, pyramid } from './pyramid.ts';

interface DailyTilesContent {
  readonly storm_date: string;
  readonly swaths: readonly Swath[];
  readonly tracks: readonly TrackPoint[];
  /** Time of the newest scan included; null on a date without scans. */
  readonly data_time: number | null;
  readonly provenance: MixedProvenance;
  readonly bounds: Bbox;
}

const TRACK_FIELDS = {
  track_id: 'String',
  peak_mm: 'Number',
  category: 'String',
  prob: 'Number',
  first_detected: 'String',
  last_detected: 'String',
  duration_min: 'Number',
} as const;

const LAYERS = [
  vectorLayer('swaths', 'Hail footprint of the storm date; each tier holds everything at or above mm_min.', {
    mm_min: 'Number',
    category: 'String',
    area_km2: 'Number',
    n_detections: 'Number',
    max_size_mm: 'Number',
  }),
  vectorLayer('tracks', 'Paths of tracked storms.', TRACK_FIELDS),
  vectorLayer('peaks', 'Where each tracked storm had its largest hail.', { ...TRACK_FIELDS, time: 'String' }),
];

/**
 * The vector archive of a storm date, zooms 0 to 10: layers `swaths`, `tracks`, `peaks` (attributes in the metadata).
 * A date without hail gives an archive with empty layers. Same rows, same bytes.
 */
export function drawDailyTiles(content: DailyTilesContent): Uint8Array {
  const paths = stormPaths(content.tracks);
  const tiers = content.swaths.map((swath) => tierArea(swath));
  const tiles = pyramid({
    swaths: { areas: tiers },
    tracks: {
      shapes: paths.filter(({ line }) => line.length > 1).map((path) => lineFeature(path.line, pathProperties(path))),
    },
    peaks: {
      shapes: paths.map((path) =>
        pointFeature(path.peak, { ...pathProperties(path), time: timestamp(path.peak_time) }),
      ),
    },
  });
  const until = content.data_time === null ? 'no scans' : `scans until ${timestamp(content.data_time)}`;
  const note = {
    name: `Hail ${content.storm_date}`,
    description: `Radar-estimated hail swaths and storm tracks of ${content.storm_date}, ${until}; an estimate, not a ground measurement.`,
    provenance: content.provenance,
    layers: LAYERS,
    hail_bounds: boundsOf(
      tiers.map(({ pixels }) => pixels),
      paths.map(({ peak }) => peak),
    ),
  };
  return writeArchive(note, content.bounds, tiles);
}

/** Pixels and attributes of a tier; filling its polygon recovers the pixels it outlines. */
function tierArea(swath: Swath): PixelArea {
  return {
    pixels: { ...pixelsIn(fillPolygons(multiPolygonFromWkt(swath.geometry), WHOLE_LATTICE)) },
    properties: {
      mm_min: swath.threshold_mm,
      category: swath.category,
      area_km2: Math.round(swath.area_km2 * 10) / 10,
      n_detections: swath.n_detections,
      max_size_mm: swath.max_size_mm,
    },
  };
}

function pixelsIn({ row, start, end }: PixelRuns): { rows: number[]; cols: number[] } {
  const rows: number[] = [];
  const cols: number[] = [];
  row.forEach((line, run) => {
    for (let col = start[run]; col < end[run]; col++) {
      rows.push(line);
      cols.push(col);
    }
  });
  return { rows, cols };
}

function pathProperties({ track_id, peak_mm, prob, first_detected, last_detected }: StormPath) {
  return {
    track_id,
    peak_mm,
    category: sizeCategory(peak_mm),
    prob,
    first_detected: timestamp(first_detected),
    last_detected: timestamp(last_detected),
    duration_min: Math.round((last_detected - first_detected) / 6000) / 10,
  };
}
