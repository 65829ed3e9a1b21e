import type { Map as MapLibre } from 'maplibre-gl';

/** Shape that a reader draws. */
export type Shape = 'circle' | 'polygon';

/** A finished shape, degrees. */
export interface Drawn {
  readonly shape: Shape;
  /** Closed ring of longitude and latitude; of a circle, many points of its edge. */
  readonly ring: readonly (readonly [lon: number, lat: number])[];
  /** Of a circle; else null. */
  readonly radius_km: number | null;
}

/** A shape in the making or finished, which stays on the map until it is removed. */
export interface Drawing {
  readonly remove: () => void;
}

/** Lets the reader draw one shape. The library is loaded with the first one. */
export async function startDrawing(
  map: MapLibre,
  shape: Shape,
  color: string,
  onFinish: (drawn: Drawn) => void,
): Promise<Drawing> {
  const [{ TerraDraw, TerraDrawCircleMode, TerraDrawPolygonMode }, { TerraDrawMapLibreGLAdapter }] = await Promise.all([
    import('terra-draw'),
    import('terra-draw-maplibre-gl-adapter'),
  ]);
  const styles = { fillColor: color, fillOpacity: 0.12, outlineColor: color, outlineWidth: 2 } as const;
  const mode = shape === 'circle' ? new TerraDrawCircleMode({ styles }) : new TerraDrawPolygonMode({ styles });
  const draw = new TerraDraw({
    adapter: new TerraDrawMapLibreGLAdapter({ map, coordinatePrecision: 6 }),
    modes: [mode],
  });
  draw.start();
  draw.setMode(shape);
  draw.on('finish', (id) => {
    const feature = draw.getSnapshotFeature(id);
    if (feature?.geometry.type !== 'Polygon') return;
    draw.setMode('static');
    const radius_km = feature.properties.radiusKilometers;
    onFinish({
      shape,
      ring: feature.geometry.coordinates[0] as [number, number][],
      radius_km: typeof radius_km === 'number' ? radius_km : null,
    });
  });
  return { remove: () => draw.stop() };
}

/** Middle of the box around a ring. */
export function middleOf(ring: Drawn['ring']): { lat: number; lon: number } {
  const lons = ring.map(([lon]) => lon);
  const lats = ring.map(([, lat]) => lat);
  const middle = (values: readonly number[]) => (Math.min(...values) + Math.max(...values)) / 2;
  return { lat: middle(lats), lon: middle(lons) };
}
