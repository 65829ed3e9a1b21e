import { alerts } from './alerts.ts';
import { areas } from './areas.ts';
import { hail } from './hail.ts';
import type { MapLayer } from './layer.ts';
import { locations } from './locations.ts';
import { outlooks } from './outlooks.ts';
import { reports } from './reports.ts';
import { storms } from './storms.ts';
import { warnings } from './warnings.ts';

/** Layers of the card, in its order. A new layer is a file that exports one, and a line here. */
export const LAYERS: readonly MapLayer[] = [hail, storms, warnings, outlooks, reports, locations, areas, alerts];
