import type { GeoJSONSource, MapMouseEvent } from 'maplibre-gl';
import { EMPTY } from '../map/base-style.ts';
import type { LngLat } from '../map/coverage.ts';
import { geodesicLine } from '../map/geodesy.ts';
import type { HailMap } from '../map/map.ts';
import { element, onClick } from '../page/page.ts';
import { beginTool, endTool, type State } from '../state.ts';
import { measuredInWords, RING_MIN } from './measured-words.ts';

const SOURCE = 'measure';

/** Measures distances and areas between clicked places, until it is ended. */
export function openMeasure(state: State, { map }: HailMap, color: string) {
  let places: LngLat[] = [];
  let isOn = false;
  const tool = { end: () => set(false) };

  map.addSource(SOURCE, { type: 'geojson', data: EMPTY });
  map.addLayer({
    id: 'measure-area',
    type: 'fill',
    source: SOURCE,
    filter: ['==', ['geometry-type'], 'Polygon'],
    paint: { 'fill-color': color, 'fill-opacity': 0.1 },
  });
  map.addLayer({
    id: 'measure-line',
    type: 'line',
    source: SOURCE,
    filter: ['==', ['geometry-type'], 'LineString'],
    paint: { 'line-color': color, 'line-width': 2.5, 'line-dasharray': [2, 1.2] },
  });
  map.addLayer({
    id: 'measure-corners',
    type: 'circle',
    source: SOURCE,
    filter: ['==', ['geometry-type'], 'Point'],
    paint: { 'circle-radius': 5, 'circle-color': '#fff', 'circle-stroke-color': color, 'circle-stroke-width': 2.5 },
  });

  function draw(): void {
    const geometries = [
      ...(places.length >= RING_MIN
        ? [{ type: 'Polygon' as const, coordinates: [geodesicLine([...places, places[0]])] }]
        : []),
      ...(places.length > 1 ? [{ type: 'LineString' as const, coordinates: geodesicLine(places) }] : []),
      ...places.map(({ lng, lat }) => ({ type: 'Point' as const, coordinates: [lng, lat] })),
    ];
    void (map.getSource(SOURCE) as GeoJSONSource).setData({
      type: 'FeatureCollection',
      features: geometries.map((geometry) => ({ type: 'Feature', properties: {}, geometry })),
    });
    element('measured').textContent = measuredInWords(places);
    element<HTMLButtonElement>('measure-undo').disabled = places.length === 0;
  }

  function add({ lng, lat }: LngLat): void {
    places = [...places, { lng, lat }];
    draw();
  }

  function set(measuring: boolean): void {
    isOn = measuring;
    if (measuring) beginTool(state, tool);
    else endTool(state, tool);
    places = [];
    draw();
    element('measuring').hidden = !measuring;
    element('measure').setAttribute('aria-pressed', String(measuring));
    map.getCanvas().classList.toggle('measuring', measuring);
  }

  map.on('click', ({ lngLat }: MapMouseEvent) => {
    if (isOn) add(lngLat);
  });
  map.getCanvas().addEventListener('keydown', ({ key }) => {
    if (key === 'Enter' && isOn) add(map.getCenter());
  });
  onClick('measure', () => set(!isOn));
  onClick('measure-end', () => set(false));
  onClick('measure-undo', () => {
    places = places.slice(0, -1);
    draw();
  });
  return {
    toggle: () => set(!isOn),
    /** Ends measuring; false where nothing is measured. */
    end(): boolean {
      const wasOn = isOn;
      if (wasOn) set(false);
      return wasOn;
    },
  };
}
