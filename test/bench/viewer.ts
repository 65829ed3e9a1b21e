import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { ARGUMENTS, CHROMIUM } from '../support/browser/chromium.ts';
import { ownCopy } from '../support/data/world.ts';
import { startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../support/service/whole-service.ts';

const SCREEN = { viewport: { width: 1280, height: 800 } };
/** Goals of a first visit and of the next one. */
const GOALS = { requests: 15, kilobytes: 700, first_numbers_ms: 2000 };

/** A first visit of the map and the next one: requests, bytes over the wire, and the time until the first numbers stand on the page. */
export async function viewer(): Promise<void> {
  const service = await startServe(ownCopy(await wholeRoot()), WHOLE_NOW_MS, 'error');
  const context = await chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), 'hail-bench-')), {
    ...{ executablePath: CHROMIUM, headless: true, args: ARGUMENTS, ...SCREEN },
  });
  try {
    await context.addInitScript((key) => localStorage.setItem('hail.key', key), service.keys?.live ?? '');
    for (const visit of ['cold', 'warm']) {
      const page = await context.newPage();
      const start = performance.now();
      await page.goto(`${service.url}/viewer`);
      await page.waitForSelector('#summary:not(:empty)');
      const first_ms = performance.now() - start;
      await page.waitForSelector('html[data-ready=true]', { state: 'attached' });
      await page.waitForTimeout(3000);
      const sent = await page.evaluate(() =>
        (performance.getEntries() as PerformanceResourceTiming[])
          .filter(({ entryType, transferSize }) => /navigation|resource/.test(entryType) && transferSize > 0)
          .map(({ name, transferSize }) => ({ name, transferSize })),
      );
      const kilobytes = sent.reduce((sum, { transferSize }) => sum + transferSize, 0) / 1000;
      console.log(
        `map page, ${visit}: ${sent.length} requests (goal ${GOALS.requests}), ${kilobytes.toFixed(0)} kB (goal ${GOALS.kilobytes}), first numbers after ${first_ms.toFixed(0)} ms (goal ${GOALS.first_numbers_ms} warm)`,
      );
      await page.close();
    }
  } finally {
    await context.close();
    await service.end('SIGTERM');
  }
}
