import { publishUndated } from '../../../pipeline/publish/undated.ts';
import type { radarBlockage } from '../../../pipeline/read/beam-blockage.ts';
import type { PublishedFile } from '../../../schemas/manifest.ts';
import { blockage, type GroundCell, ground } from '../../../schemas/tables/derived.ts';
import type { DemFile } from './dem.ts';
import { NOW_MS, onRoot } from './world.ts';

/** The radar of Oklahoma City, the only one in the model of the wall. */
export const KTLX = { id: 'KTLX', lat: 35.333361, lon: -97.277761, antenna_m: 389.5 } as const;
/** Longitude of the wall's eastern face: 20 km due west of KTLX, where one degree of longitude has 90.93 km. */
const FACE_LON = KTLX.lon - 20 / 90.93;

/** A plain at sea level around KTLX with a wall 2 km above its antenna, 20 km to the west, 3 km deep and 6 km long. */
export const WALL: DemFile = {
  rows: 220,
  cols: 300,
  west: -98,
  north: 35.9,
  step_deg: 0.005,
  height: (lat, lon) =>
    lon <= FACE_LON && lon > FACE_LON - 0.033 && Math.abs(lat - KTLX.lat) < 0.027 ? KTLX.antenna_m + 2000 : 0,
};
export const PLAIN: DemFile = { ...WALL, height: () => 0 };

/** Rays of KTLX: free, but for a share of one tilt between two azimuths from a distance on. */
export function raysOfKtlx(
  blocked: readonly Readonly<Record<'tilt_deg' | 'distance_km' | 'blocked', number>>[],
  from_deg: number,
  to_deg: number,
): ReturnType<typeof radarBlockage>['steps'] {
  return Array.from({ length: 360 }, (_, azimuth_deg) => {
    const ray = { radar_id: KTLX.id, azimuth_deg };
    const steps = azimuth_deg >= from_deg && azimuth_deg <= to_deg ? blocked : [];
    return [{ ...ray, tilt_deg: 0.5, distance_km: 0, blocked: 0 }, ...steps.map((step) => ({ ...ray, ...step }))];
  }).flat();
}

/** All around the radar 0.4 of its lowest beam is blocked. */
export const RING_OF_KTLX = raysOfKtlx([{ tilt_deg: 0.5, distance_km: 1, blocked: 0.4 }], 0, 359);

/** Publishes a table of blockage on a data root, and one of the ground when it has cells. */
export function publishBlockage(
  path: string,
  steps: ReturnType<typeof radarBlockage>['steps'],
  terrain = { terrain_file: 'wall.tif', terrain_step_arcsec: 18 },
  cells: readonly GroundCell[] = [],
): Promise<{ readonly file: PublishedFile }> {
  const rows = steps.map((step) => ({ ...step, ...terrain }));
  const segments = [
    { segment: blockage.name, table: blockage, rows, provenance: 'observed' } as const,
    ...(cells.length > 0
      ? [{ segment: ground.name, table: ground, rows: cells, provenance: 'observed' } as const]
      : []),
  ];
  return onRoot(path, {}, async ({ root }) => {
    const [{ files }] = await publishUndated(root, [{ name: 'static', segments }], NOW_MS);
    return { file: files[0] as PublishedFile };
  });
}
