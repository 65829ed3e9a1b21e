import test, { type ExecutionContext } from 'ava';
import { hasSharedData, sharedData } from './shared-folder.ts';

export { hasSharedData, sharedData };

/** Registers a test on real files; where they are absent it shows as skipped, with the reason in its title. */
export function sharedTest(title: string, body: (t: ExecutionContext) => void | Promise<void>): void {
  if (hasSharedData) test(title, body);
  else test.skip(`${title} (needs ../shared/data, which is absent)`, body);
}
