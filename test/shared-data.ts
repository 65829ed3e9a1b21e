import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';

const folder = fileURLToPath(new URL('../../shared/data/', import.meta.url));

/** True when the folder of real files lies beside the project. */
export const hasSharedData = existsSync(`${folder}expected.json`);

/** Absolute path of a real file beside the project. */
export function sharedData(...parts: string[]): string {
  return folder + parts.join('/');
}

/** Registers a test on real files; where they are absent it shows as skipped, with the reason in its title. */
export function sharedTest(title: string, body: (t: ExecutionContext) => void | Promise<void>): void {
  if (hasSharedData) test(title, body);
  else test.skip(`${title} (needs ../shared/data, which is absent)`, body);
}
