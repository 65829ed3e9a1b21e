import type {
  GeoJSONSource,
  LayerSpecification,
  Map as MapLibre,
  SourceSpecification,
  StyleSpecification,
  VectorTileSource,
} from 'maplibre-gl';

/** Where layers go, from bottom to top. */
const SLOTS = ['land', 'areas', 'hail', 'lines', 'marks', 'top'] as const;
type Slot = (typeof SLOTS)[number];
const endOf = (slot: string) => `end-of-${slot}`;

/** A style with the slots alone: an unseen layer marks the end of each. */
export const emptyStyle = (): StyleSpecification => ({
  version: 8,
  sources: {},
  layers: SLOTS.map((slot) => ({ id: endOf(slot), type: 'background', layout: { visibility: 'none' } })),
});

/** Something that is drawn: its sources by name, and its layers from bottom to top in each slot. */
export interface Picture {
  readonly sources: Readonly<Record<string, SourceSpecification>>;
  readonly layers: Readonly<Partial<Record<Slot, readonly LayerSpecification[]>>>;
}

/** Pictures on a map by name. */
export function openPictures(map: MapLibre) {
  const shown = new Map<string, Picture>();

  const layersOf = (name: string) =>
    Object.values(shown.get(name)?.layers ?? {}).flatMap((layers) => layers.map(({ id }) => id));
  const remove = (name: string): void => {
    for (const id of layersOf(name)) map.removeLayer(id);
    for (const source of Object.keys(shown.get(name)?.sources ?? {})) map.removeSource(source);
    shown.delete(name);
  };
  const update = (id: string, source: SourceSpecification): void => {
    const found = map.getSource(id);
    if (source.type === 'geojson') void (found as GeoJSONSource).setData(source.data);
    else if ('url' in source && source.url) (found as VectorTileSource).setUrl(source.url);
  };

  return {
    layersOf,
    /** Draws a picture in place of that of the same name; one with the same layers changes without a blank between them. False where nothing changes. */
    put(name: string, picture: Picture | null): boolean {
      const before = shown.get(name);
      if (before && picture && isSame(before.layers, picture.layers)) {
        const changed = Object.entries(picture.sources).filter(([id, source]) => !isSame(source, before.sources[id]));
        for (const [id, source] of changed) update(id, source);
        shown.set(name, picture);
        return changed.length > 0;
      }
      remove(name);
      if (picture === null) return before !== undefined;
      for (const [id, source] of Object.entries(picture.sources)) map.addSource(id, source);
      for (const [slot, layers] of Object.entries(picture.layers))
        for (const layer of layers) map.addLayer(layer, endOf(slot));
      shown.set(name, picture);
      return true;
    },
  };
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
