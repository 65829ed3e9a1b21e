import type { LayerSpecification, Map as MapLibre } from 'maplibre-gl';
import type { FreeLayer } from './layer.ts';

/** A paint property of a layer. */
type Property = Parameters<MapLibre['setPaintProperty']>[1];

/** Sources of the hail of a day and of a scan, whose layers map.ts adds and removes. */
const SOURCES = new Set(['day', 'scan']);
/** What makes a layer unseen; it stays on the map, so that a click still finds the size at a place, and storms their motion. */
const OPACITIES: Readonly<Partial<Record<LayerSpecification['type'], readonly Property[]>>> = {
  fill: ['fill-opacity'],
  line: ['line-opacity'],
  circle: ['circle-opacity', 'circle-stroke-opacity'],
  symbol: ['icon-opacity', 'text-opacity'],
};

/** Opacities of layers that are unseen at present, as they were. */
const kept = new Map<string, Parameters<MapLibre['setPaintProperty']>[2]>();
let hide: (() => void) | null = null;

/** Hides the layers of hail that are seen: those of another day or scan are added while hail is off. */
function hideLayers(map: MapLibre): void {
  for (const { id, property } of opacities(map)) {
    const value = map.getPaintProperty(id, property);
    if (value === 0) continue;
    kept.set(`${id} ${property}`, value);
    map.setPaintProperty(id, property, 0);
  }
}

function opacities(map: MapLibre): { readonly id: string; readonly property: Property }[] {
  return map
    .getStyle()
    .layers.filter((layer) => 'source' in layer && SOURCES.has(layer.source))
    .flatMap(({ id, type }) => (OPACITIES[type] ?? []).map((property) => ({ id, property })));
}

/** Hail of the day or of the scan, as chosen in the panel. Switched off it stays on the map unseen. */
export const hail: FreeLayer = {
  kind: 'free',
  id: 'hail',
  label: 'Hail',
  key: [],
  unavailable: ({ span }) => (span === null ? 'No scans are published for this date.' : null),
  draw(map) {
    if (hide === null) return;
    map.off('styledata', hide);
    hide = null;
    for (const { id, property } of opacities(map))
      if (map.getPaintProperty(id, property) === 0) map.setPaintProperty(id, property, kept.get(`${id} ${property}`));
    kept.clear();
  },
  remove(map) {
    if (hide !== null) return;
    hide = () => hideLayers(map);
    hideLayers(map);
    map.on('styledata', hide);
  },
  inWords: (_map, { view }) => (view === 'day' ? 'The whole day' : 'The scan at this time'),
};
