import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));
/** Beside what other tools keep: it goes with the installed packages. */
const CACHE = join(PROJECT, 'node_modules/.cache/prepared');
/** What a prepared folder is made by: when any of it changes, all are made again. */
const MADE_BY = ['pipeline', 'schemas', 'test/support/data', 'package-lock.json'];
/** States of the sources whose folders stay, so that going back to the state before is quick, too. */
const STATES_KEPT = 3;

const made = new Map<string, Promise<string>>();
let state: string | undefined;

/**
 * A folder that is made once for a state of the sources and is there for every test process after that. Its name must
 * say all that it depends on beside the sources. To be read or copied, never to be written to.
 */
export function prepared(name: string, make: (folder: string) => Promise<unknown>): Promise<string> {
  const found = made.get(name) ?? find(name, make);
  made.set(name, found);
  return found;
}

async function find(name: string, make: (folder: string) => Promise<unknown>): Promise<string> {
  state ??= openState();
  const folder = join(state, name);
  if (existsSync(folder)) return folder;
  const draft = mkdtempSync(`${folder}-draft-`);
  try {
    await make(draft);
    moveInto(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

/** Copies a folder with the times of its files. */
export function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
}

/** Gives a finished folder its name; where another process was first, its folder is as good. */
function moveInto(draft: string, folder: string): void {
  try {
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

/** The folder of the present state of the sources. */
function openState(): string {
  const hash = createHash('sha256').update(process.version);
  for (const path of MADE_BY.flatMap(filesOf)) hash.update(path).update(readFileSync(join(PROJECT, path)));
  const folder = join(CACHE, hash.digest('hex').slice(0, 16));
  if (!existsSync(folder)) {
    mkdirSync(folder, { recursive: true });
    dropOldStates();
  }
  return folder;
}

/** Files at or below a path of the project, in an order of their own. */
function filesOf(path: string): string[] {
  if (!statSync(join(PROJECT, path)).isDirectory()) return [path];
  const entries = readdirSync(join(PROJECT, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(PROJECT.length))
    .sort();
}

function dropOldStates(): void {
  const states = readdirSync(CACHE).map((name) => join(CACHE, name));
  const newest = states.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const old of newest.slice(STATES_KEPT)) rmSync(old, { recursive: true, force: true });
}
