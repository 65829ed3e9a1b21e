import type { Map as MapLibre } from 'maplibre-gl';
import type { FreeLayer } from './layer.ts';

/** Sources of the hail of a day and of a scan, whose layers map.ts adds and removes. */
const SOURCES = new Set(['day', 'scan']);

function setVisible(map: MapLibre, visible: boolean): void {
  for (const layer of map.getStyle().layers)
    if ('source' in layer && SOURCES.has(layer.source))
      map.setLayoutProperty(layer.id, 'visibility', visible ? 'visible' : 'none');
}

/** Hail of the day or of the scan, as chosen in the panel. Switched off it stays on the map unseen. */
export const hail: FreeLayer = {
  kind: 'free',
  id: 'hail',
  label: 'Hail',
  key: [],
  unavailable: ({ span }) => (span === null ? 'No scans are published for this date.' : null),
  draw: (map) => setVisible(map, true),
  remove: (map) => setVisible(map, false),
  inWords: (_map, { view }) => (view === 'day' ? 'The whole day' : 'The scan at this time'),
};
