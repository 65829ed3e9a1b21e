import { join } from 'node:path';
import { z } from 'zod';
import { layout } from '../../schemas/layout.ts';
import { readIfPresent, replaceFile, sha256 } from '../files.ts';
import { Stored } from './stored.ts';

/**
 * What a store held when a root was last in step with it. A store that still holds it is one that the root's own commits were made
 * from; otherwise another writer was there meanwhile.
 */
const StoreMemory = z.object({
  url: z.string(),
  current: Stored.nullable(),
  heads: z.record(z.string(), Stored),
});
export type StoreMemory = z.infer<typeof StoreMemory>;

/** Memory of a store; null where none can be read: nothing is then known of the store. */
export async function readMemory(dataRoot: string, url: string): Promise<StoreMemory | null> {
  const text = await readIfPresent(memoryPath(dataRoot, url));
  if (text === null) return null;
  try {
    const memory = StoreMemory.parse(JSON.parse(text));
    return memory.url === url ? memory : null;
  } catch {
    return null;
  }
}

export async function writeMemory(dataRoot: string, memory: StoreMemory): Promise<void> {
  await replaceFile(memoryPath(dataRoot, memory.url), `${JSON.stringify(memory)}\n`);
}

function memoryPath(dataRoot: string, url: string): string {
  return join(dataRoot, layout.storeMemory(sha256(url).slice(0, 16)));
}
