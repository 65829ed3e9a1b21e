import type { Page } from 'playwright-core';

/** A name on the map, and the layer that draws it. */
export interface DrawnName {
  readonly layer: string;
  readonly name: string;
}

interface MapOfPage {
  queryRenderedFeatures(): {
    readonly layer: { readonly id: string };
    readonly properties: { readonly name?: string };
  }[];
}

declare global {
  /** Set by `namesOn`: the page keeps its map to itself. */
  var mapOfPage: MapOfPage | undefined;
}

/** Names that the map draws. The map is taken from a method that the page calls on it after every move, so this moves it a little. */
export async function namesOn(page: Page): Promise<DrawnName[]> {
  await page.evaluate(async () => {
    const { prototype } = (await import('maplibre-gl')).Map;
    const plain = prototype.getZoom;
    prototype.getZoom = function () {
      globalThis.mapOfPage = this;
      return plain.call(this);
    };
  });
  await page.locator('#map').focus();
  await page.keyboard.press('Shift+ArrowRight');
  await page.waitForFunction(() => globalThis.mapOfPage !== undefined);
  await page.waitForTimeout(1500);
  return page.evaluate(() =>
    (globalThis.mapOfPage?.queryRenderedFeatures() ?? []).flatMap(({ layer, properties: { name } }) =>
      name === undefined ? [] : [{ layer: layer.id, name }],
    ),
  );
}
