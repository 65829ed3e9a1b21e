import type { Feature } from 'geojson';
import type { Bbox } from '../../schemas/geo/position.ts';
import type { MixedProvenance } from '../../schemas/provenance.ts';
import { CELL_GROW_MM, DETECTION_MIN_MM, SIZE_BANDS, sizeCategory } from '../../schemas/size.ts';
import type { Cell, TrackPoint } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import { eachPixel, type HailField, type UncoveredBlocks } from '../grid.ts';
import { isPublished, MOTION_LEAD_MIN, positionAhead } from '../storm-paths.ts';
import { boundsOf, vectorLayer, writeArchive } from './metadata.ts';
import { lineFeature, type PixelArea, pointFeature, pyramid } from './pyramid.ts';

interface ScanTilesContent {
  readonly scan_time: number;
  readonly mesh: HailField;
  readonly cells: readonly Cell[];
  readonly tracks: readonly TrackPoint[];
  readonly provenance: MixedProvenance;
  readonly bounds: Bbox;
  /** Areas without radar coverage; null where unknown. */
  readonly uncovered: UncoveredBlocks | null;
}

/** Lower bounds of the hail bands, mm: the cell threshold, the detection threshold, then the six size bands. */
const BANDS_MM: readonly number[] = [CELL_GROW_MM, DETECTION_MIN_MM, ...SIZE_BANDS.map((band) => band.threshold_mm)];

const LAYERS = [
  vectorLayer('hail', 'MESH of the scan; each band holds everything at or above mm_min.', {
    mm_min: 'Number',
    category: 'String',
  }),
  vectorLayer('motion', `From a storm to where it will be in ${MOTION_LEAD_MIN} minutes at its present motion.`, {
    track_id: 'String',
    mm: 'Number',
    speed_kmh: 'Number',
    direction_deg: 'Number',
    lead_min: 'Number',
  }),
  vectorLayer('storms', 'Storm cells of the scan; track and motion from the second scan on.', {
    track_id: 'String',
    mm: 'Number',
    category: 'String',
    speed_kmh: 'Number',
    direction_deg: 'Number',
    trend: 'String',
    prob: 'Number',
    confidence: 'Number',
  }),
];

/**
 * The vector archive of one scan, zooms 0 to 10: layers `hail`, `motion`, `storms` (attributes in the metadata; unknown attributes
 * are absent). A scan without hail gives an archive with empty layers. Same rows, same bytes.
 */
export function drawScanTiles(content: ScanTilesContent): Uint8Array {
  const time = timestamp(content.scan_time);
  const tracks = new Map(content.tracks.filter(isPublished).map((track) => [track.track_id, track]));
  const storms = content.cells.map((cell) => ({ cell, track: tracks.get(cell.track_id ?? '') ?? null }));
  const bands = hailBands(content.mesh);
  const tiles = pyramid({
    hail: { areas: bands },
    motion: { shapes: storms.flatMap(({ cell, track }) => motionLine(cell, track)) },
    storms: { shapes: storms.map(({ cell, track }) => stormPoint(cell, track)) },
  });
  const note = {
    name: `Hail ${time}`,
    description: `Radar-estimated hail size (MESH) and storms at ${time}; an estimate, not a ground measurement.`,
    provenance: content.provenance,
    layers: LAYERS,
    hail_bounds: boundsOf(bands.map(({ pixels }) => pixels)),
    uncovered: content.uncovered,
  };
  return writeArchive(note, content.bounds, tiles);
}

/** Cumulative bands of MESH, smallest bound first, so that the largest band is drawn on top. */
function hailBands(mesh: HailField): PixelArea[] {
  return BANDS_MM.flatMap((mm_min): PixelArea[] => {
    const pixels = pixelsFrom(mesh, mm_min);
    if (pixels.rows.length === 0) return [];
    const category = sizeCategory(mm_min);
    return [{ pixels, properties: category === null ? { mm_min } : { mm_min, category } }];
  });
}

function pixelsFrom(mesh: HailField, mm_min: number) {
  const rows: number[] = [];
  const cols: number[] = [];
  eachPixel(mesh, (row, i) => {
    if (mesh.tenths[i] < 10 * mm_min) return;
    rows.push(row);
    cols.push(mesh.col[i]);
  });
  return { rows, cols };
}

function stormPoint(cell: Cell, track: TrackPoint | null): Feature {
  return pointFeature(cell, {
    track_id: track?.track_id ?? null,
    mm: cell.estimated_size_mm,
    category: sizeCategory(cell.estimated_size_mm),
    speed_kmh: track?.speed_kmh ?? null,
    direction_deg: track?.direction_deg ?? null,
    trend: track?.trend ?? null,
    prob: cell.ml_probability,
    confidence: cell.confidence,
  });
}

function motionLine(cell: Cell, track: TrackPoint | null): Feature[] {
  const end = track ? positionAhead(cell, track) : null;
  if (!track || !end) return [];
  return [
    lineFeature([cell, end], {
      track_id: track.track_id,
      mm: cell.estimated_size_mm,
      speed_kmh: track.speed_kmh,
      direction_deg: track.direction_deg,
      lead_min: MOTION_LEAD_MIN,
    }),
  ];
}
