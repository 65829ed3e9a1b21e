import type { Page } from 'playwright-core';
import { PHONE, ready, serviceTest } from '../support/browser/browser.ts';

interface Drawn {
  readonly layer: string;
  readonly name: string;
}

/** Names that the map draws now, by layer. MapLibre's own query, called on the map of the page. */
async function namesOn(page: Page): Promise<Drawn[]> {
  return page.evaluate(async () => {
    const library: { Map: { prototype: { getZoom(): number } } } = await import('maplibre-gl' as string);
    interface Found {
      readonly layer: { readonly id: string };
      readonly properties: { readonly name?: string };
    }
    interface Queried {
      queryRenderedFeatures(): Found[];
      loaded(): boolean;
    }
    const { prototype } = library.Map;
    const plain = prototype.getZoom;
    const map = await new Promise<Queried>((found) => {
      prototype.getZoom = function (this: Queried) {
        found(this);
        return plain.call(this);
      };
      dispatchEvent(new Event('resize'));
    });
    prototype.getZoom = plain;
    while (!map.loaded()) await new Promise((later) => setTimeout(later, 100));
    await new Promise((later) => setTimeout(later, 500));
    return map.queryRenderedFeatures().flatMap(({ layer, properties: { name } }) => (name ? [{ layer: layer.id, name }] : []));
  });
}

/** Goes to a place by the address. */
async function goTo(page: Page, place: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
    location.reload();
  }, `#map=${place}`);
  await ready(page);
  await page.waitForTimeout(1200);
}

const PLACES = ['4.20/38.5000/-97.0000', '7.00/35.4000/-97.5000', '9.20/35.4000/-97.5000', '11.00/35.2500/-97.4500', '5.50/44.5000/-84.0000'];

for (const [screen, size] of [['desktop', {}], ['phone', PHONE]] as const)
  for (const colorScheme of ['light', 'dark'] as const)
    serviceTest(`pictures ${screen} ${colorScheme}`, { ...size, colorScheme }, async (t, { page, complaints, picture }) => {
      for (const place of PLACES) {
        await goTo(page, place);
        await picture(`${screen}-${colorScheme}-${place.split('/')[0]}`);
      }
      t.log(await namesOn(page));
      t.deepEqual(complaints, []);
    });
