import type { Uncovered } from '../../../api/queries/scan-coverage.ts';
import { describeArchive } from '../../../pipeline/tiles/metadata.ts';
import { writePmtiles } from '../../../pipeline/tiles/pmtiles.ts';

/** The archive of a scan without tiles, which says where nothing was covered; null: it says nothing of it. */
export function archiveOf(uncovered: Uncovered | null): Uint8Array {
  const note = { name: 'scan', description: '', provenance: 'simulated', layers: [], hail_bounds: null } as const;
  return writePmtiles({ ...describeArchive({ ...note, uncovered }, [-98, 35.5, -97.4, 36]), tiles: [] });
}
