import type { UncoveredRuns } from '../../../api/queries/scan-coverage.ts';
import { writeArchive } from '../../../pipeline/tiles/metadata.ts';

/** The archive of a scan without tiles, which says where nothing was covered; null: it says nothing of it. */
export function archiveOf(uncovered: UncoveredRuns | null): Uint8Array {
  const note = { name: 'scan', description: '', provenance: 'simulated', layers: [], hail_bounds: null } as const;
  return writeArchive({ ...note, uncovered }, [-98, 35.5, -97.4, 36], []);
}
