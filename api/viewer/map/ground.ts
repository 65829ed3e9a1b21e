import type { LayerSpecification as Layer } from 'maplibre-gl';
import type { Archives } from '../data/archives.ts';
import { loadJson, meta } from '../page/page.ts';
import type { Ground } from './base-style.ts';
import { scheme } from './scheme.ts';

/** The archives of the base map that the page names, for MapLibre. */
export async function openGround(archives: Archives): Promise<Ground> {
  const address = (name: string) => archives.address(new URL(meta(name), location.href).href);
  const url = address('hail-ground');
  if (meta('hail-streets') === '') return { url, streets: null };
  const layers = await loadJson<Record<ReturnType<typeof scheme>, Layer[]>>('streets.json');
  return { url, streets: { url: address('hail-streets'), layers: layers[scheme()] } };
}
