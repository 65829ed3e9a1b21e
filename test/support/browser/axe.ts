import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

/** Source of axe-core. */
export const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Violations of the rules of accessibility on a page, as `rule: element`. */
export async function violationsOn(page: Page): Promise<string[]> {
  // Not as a script of the page, which its policy refuses.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  const { result } = await session.send('Runtime.evaluate', {
    expression:
      'axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => [id, html].join(": "))))',
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value;
}
