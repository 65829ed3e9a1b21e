import { readFile } from 'node:fs/promises';
import type { ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { drawn, serviceTest } from '../support/browser/browser.ts';

const NICKEL = [244, 191, 69];

/** Size of a PNG, and whether it has a pixel of the colour. */
async function look(page: Page, png: Buffer, color: readonly number[]) {
  return page.evaluate(
    async ([base64, [r, g, b]]) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes]));
      const pen = new OffscreenCanvas(image.width, image.height).getContext('2d') as OffscreenCanvasRenderingContext2D;
      pen.drawImage(image, 0, 0);
      const over_map = pen.getImageData(0, 0, image.width, Math.floor(image.height * 0.6)).data;
      let seen = 0;
      for (let i = 0; i < over_map.length; i += 4)
        if (over_map[i] === r && over_map[i + 1] === g && over_map[i + 2] === b) seen++;
      return { width: image.width, height: image.height, seen };
    },
    [png.toString('base64'), color] as const,
  );
}

async function savedPicture(t: ExecutionContext, page: Page): Promise<Buffer> {
  await page.locator('#open-share').click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#save-picture').click()]);
  t.regex(download.suggestedFilename(), /^hail-of-[a-z0-9-]+-simulated\.png$/);
  return readFile(await download.path());
}

serviceTest(
  'the view is saved as a picture with its hail, title, time and scale',
  { is_shared: true, path: '/viewer#view=scan&date=2026-05-02' },
  async (t, { page, complaints }) => {
    await drawn(page);
    const png = await savedPicture(t, page);
    const { width, height, seen } = await look(page, png, NICKEL);
    t.is(width, 1280);
    t.true(height > 900, 'the map and what is written under it');
    t.true(seen > 20, 'hail of the scan');
    t.deepEqual(complaints, []);
  },
);

serviceTest('on paper there is the picture of the map and nothing else', { is_shared: true }, async (t, { page }) => {
  await drawn(page);
  const shown = await page.evaluate(() => {
    dispatchEvent(new Event('beforeprint'));
    return (document.querySelector('#printed') as HTMLImageElement).src.slice(0, 22);
  });
  t.is(shown, 'data:image/png;base64,');
  await page.emulateMedia({ media: 'print' });
  t.true(await page.locator('#printed').isVisible());
  t.false(await page.locator('#panel').isVisible());
  t.false(await page.locator('#map').isVisible());
});
