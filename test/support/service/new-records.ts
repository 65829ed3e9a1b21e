import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openRecords } from '../../../api/metering/records.ts';
import { SCRATCH } from '../data/world.ts';

let made: Promise<Buffer> | undefined;

/** Where the SQLite file of the records lies below their root. */
const fileIn = (records_root: string) => join(records_root, 'records', 'hail.sqlite');

/** Puts records as a first start leaves them, before their first business: their tables are made once for all tests of a process. */
export async function placeNewRecords(records_root: string): Promise<void> {
  made ??= makeRecords();
  const content = await made;
  mkdirSync(dirname(fileIn(records_root)), { recursive: true, mode: 0o700 });
  writeFileSync(fileIn(records_root), content, { mode: 0o600, flag: 'wx' });
}

async function makeRecords(): Promise<Buffer> {
  const folder = mkdtempSync(join(SCRATCH, 'hail-new-records-'));
  try {
    const records = await openRecords({ data_root: folder, database_url: null, now: Date.now });
    await records.close();
    return readFileSync(fileIn(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
