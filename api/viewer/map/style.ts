import type {
  CircleLayerSpecification,
  ExpressionSpecification,
  FillLayerSpecification,
  LayerSpecification,
  LineLayerSpecification,
  SymbolLayerSpecification,
} from 'maplibre-gl';

/** How a layer draws: all of it but its name and its source. */
type PartOf<Layer> = Omit<Layer, 'id' | 'source'>;
type Fill = PartOf<FillLayerSpecification>;
type Line = PartOf<LineLayerSpecification>;
type Circle = PartOf<CircleLayerSpecification>;
type Text = PartOf<SymbolLayerSpecification>;
export type Part = Fill | Line | Circle | Text;
type More<Layer extends Part> = Partial<Layer>;
type Expression = ExpressionSpecification;
type Value = string | number | Expression;

/** Fonts of the reader's device: no glyphs are fetched. */
export const FONT = ['Helvetica Neue', 'Arial', 'sans-serif'];
export const BOLD_FONT = ['Helvetica Neue Bold', 'Arial', 'sans-serif'];

/** An expression of MapLibre, whose types are too narrow for one that is put together. */
export const expression = (...parts: unknown[]) => parts as unknown as Expression;

/** Linear between pairs of zoom and value. */
export const byZoom = (...stops: Value[]) => expression('interpolate', ['linear'], ['zoom'], ...stops);

/** Linear between pairs of number and value, by an attribute. */
export const byNumber = (attribute: string, ...stops: Value[]) =>
  expression('interpolate', ['linear'], ['get', attribute], ...stops);

/** Value of the step that an attribute reaches: the first one below all pairs of number and value. */
export const bySteps = (attribute: string, ...stops: Value[]) => expression('step', ['get', attribute], ...stops);

/** An area of one colour. */
export const fill = (color: Value, opacity: number | Expression = 1, more: More<Fill> = {}): Fill => ({
  type: 'fill',
  ...more,
  paint: { 'fill-color': color as string, 'fill-opacity': opacity, ...more.paint },
});

/** A line with round joins. */
export const line = (color: Value, width: number | Expression, more: More<Line> = {}): Line => ({
  type: 'line',
  ...more,
  layout: { 'line-join': 'round', ...more.layout },
  paint: { 'line-color': color as string, 'line-width': width, ...more.paint },
});

/** A dot with an edge. */
export const dot = (color: Value, radius: number | Expression, edge: string, more: More<Circle> = {}): Circle => ({
  type: 'circle',
  ...more,
  paint: {
    'circle-color': color as string,
    'circle-radius': radius,
    'circle-stroke-color': edge,
    'circle-stroke-width': 1.6,
    ...more.paint,
  },
});

/** Words with a halo. */
export const text = (field: Value, color: Value, halo: string, more: More<Text> = {}): Text => ({
  type: 'symbol',
  ...more,
  layout: { 'text-field': field as string, 'text-font': FONT, ...more.layout },
  paint: { 'text-color': color as string, 'text-halo-color': halo, 'text-halo-width': 1.6, ...more.paint },
});

/** A layer of a source; of a vector archive it names the layer of its tiles. */
export const layer = (id: string, source: string, part: Part, of?: string) =>
  ({ id, source, ...(of === undefined ? {} : { 'source-layer': of }), ...part }) as LayerSpecification;
