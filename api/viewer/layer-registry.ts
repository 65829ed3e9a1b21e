import type { MapLayer } from './layer.ts';
import { alerts } from './layer-alerts.ts';
import { areas } from './layer-areas.ts';
import { hail } from './layer-hail.ts';
import { locations } from './layer-locations.ts';
import { outlooks } from './layer-outlooks.ts';
import { reports } from './layer-reports.ts';
import { storms } from './layer-storms.ts';
import { warnings } from './layer-warnings.ts';

/** Layers of the card, in its order. A new layer is a file that exports one, and a line here. */
export const LAYERS: readonly MapLayer[] = [hail, storms, warnings, outlooks, reports, locations, areas, alerts];

/** Layers that are on while the address names none. */
export const DEFAULT_LAYERS: readonly string[] = ['hail'];
