import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent } from '../../pipeline/log.ts';
import { openRoot } from '../../pipeline/publish/open-root.ts';
import type { Root } from '../../pipeline/publish/root.ts';
import { startReadPool } from '../../pipeline/scans/read.ts';
import { openSession } from '../../pipeline/scans/session.ts';
import { listFolder } from '../../pipeline/sources/folder.ts';
import { hasSharedData, sharedData } from '../support/data/shared-folder.ts';
import { timeEccodes } from './decode.ts';
import { compare, SESSION, timeOurs } from './peers.ts';

const SCAN = 'MRMS_MESH_00.50_20240228-025239.grib2';
const NOW = Date.parse('2024-02-28T03:00:00Z');

/** The real full-CONUS scan, file to published tables, tiles and snapshot with fsync, against ecCodes' bare decode. */
export async function scan(): Promise<void> {
  if (!hasSharedData) return console.log('scan: needs ../shared/data, which is absent');
  const { files } = await listFolder(sharedData('mrms'));
  const file = files.filter((one) => one.name === SCAN);
  const readers = startReadPool(1);
  const roots: Root[] = [];
  const folders: string[] = [];
  try {
    const prepare = async () => {
      folders.push(await mkdtemp(join(tmpdir(), 'hail-bench-')));
      roots.push(await openRoot(folders.at(-1) as string, 'bench', 0, NOW));
    };
    const ours = await timeOurs(async () => {
      const settings = { ...SESSION, now: () => NOW, log: silent, each_scan: true };
      const run = await openSession(roots.at(-1) as Root, readers, settings).ingest(file);
      if (run.scans !== 1 || run.detections !== 153)
        throw new Error(`published ${JSON.stringify(run)}, expected 1 scan with 153 detections`);
    }, prepare);
    console.log(
      compare(
        'scan, file to published and synced',
        ours,
        'ecCodes decode alone',
        timeEccodes(sharedData('mrms', SCAN)),
        2,
      ),
    );
  } finally {
    await readers.close();
    for (const root of roots) await root.close();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
}
