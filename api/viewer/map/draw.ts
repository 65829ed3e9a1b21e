import type { Map as MapLibre } from 'maplibre-gl';
import { TerraDraw, TerraDrawCircleMode, TerraDrawPolygonMode } from 'terra-draw';
import { TerraDrawMapLibreGLAdapter } from 'terra-draw-maplibre-gl-adapter';

/** Shape that a reader draws. */
export type Shape = 'circle' | 'polygon';

/** A finished shape, degrees. */
export interface Drawn {
  /** Closed ring of longitude and latitude; of a circle, many points of its edge. */
  readonly ring: readonly [lon: number, lat: number][];
  /** Of a circle. */
  readonly radius_km: number | undefined;
}

/** Lets the reader draw one shape, which stays on the map until the returned function is called. */
export function startDrawing(map: MapLibre, shape: Shape, color: string, onFinish: (drawn: Drawn) => void) {
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
    const ring = feature.geometry.coordinates[0] as [number, number][];
    onFinish({ ring, radius_km: feature.properties.radiusKilometers as number | undefined });
  });
  return () => draw.stop();
}
