import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../../../shared/data/', import.meta.url));

/** True when the folder of real files lies beside the project. */
export const hasSharedData = existsSync(`${folder}expected.json`);

/** Absolute path of a real file beside the project. */
export function sharedData(...parts: string[]): string {
  return folder + parts.join('/');
}
