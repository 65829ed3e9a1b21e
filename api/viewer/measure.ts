import type { GeoJSONSource, MapMouseEvent } from 'maplibre-gl';
import { EMPTY } from './base-style.ts';
import type { LngLat } from './coverage.ts';
import { areaKm2, geodesicLine, lengthKm } from './geodesy.ts';
import type { HailMap } from './map.ts';
import { element, onClick } from './page.ts';
import { KM_PER_MILE } from './pin-calls.ts';
import type { State } from './state.ts';

const SOURCE = 'measure';
/** A ring has an area. */
const RING_MIN = 3;

/** Measures distances and areas between clicked places, until it is ended. */
export function openMeasure(state: State, { map }: HailMap, color: string) {
  let places: LngLat[] = [];

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
    state.measuring = measuring;
    places = [];
    draw();
    element('measuring').hidden = !measuring;
    element('measure').setAttribute('aria-pressed', String(measuring));
    map.getCanvas().classList.toggle('measuring', measuring);
  }

  map.on('click', ({ lngLat }: MapMouseEvent) => {
    if (state.measuring) add(lngLat);
  });
  map.getCanvas().addEventListener('keydown', ({ key }) => {
    if (key === 'Enter' && state.measuring) add(map.getCenter());
  });
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape' && state.measuring && !document.querySelector('dialog[open]')) set(false);
  });
  onClick('measure', () => set(!state.measuring));
  onClick('measure-end', () => set(false));
  onClick('measure-undo', () => {
    places = places.slice(0, -1);
    draw();
  });
  return { toggle: () => set(!state.measuring) };
}

/** `12.3 mi (19.8 km)`, and the area from three places on. */
export function measuredInWords(places: readonly LngLat[]): string {
  if (places.length === 0) return 'Click the map to set the first place; enter sets its middle.';
  if (places.length === 1) return 'Click the next place.';
  const length = lengthKm(places);
  const distance = `${numberInWords(length / KM_PER_MILE)} mi (${numberInWords(length)} km)`;
  if (places.length < RING_MIN) return distance;
  const area = areaKm2(places);
  return `${distance} · area ${numberInWords(area / KM_PER_MILE ** 2)} sq mi (${numberInWords(area)} km²)`;
}

/** Three digits that count, and whole numbers from 100 on. */
function numberInWords(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
