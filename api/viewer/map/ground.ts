import type { Archives } from '../data/archives.ts';
import { meta } from '../page/page.ts';
import { SCHEME } from '../page/palette.ts';
import type { Ground } from './base-style.ts';

/** The archives of the base map that the page names, for MapLibre. The style of streets is loaded where there is a street map. */
export async function openGround(archives: Archives): Promise<Ground> {
  const address = (name: string) => archives.address(new URL(meta(name), location.href).href);
  const url = address('hail-ground');
  if (meta('hail-streets') === '') return { url, streets: null };
  const { streetLayers } = await import('./streets.ts');
  return { url, streets: { url: address('hail-streets'), layers: streetLayers(SCHEME) } };
}
