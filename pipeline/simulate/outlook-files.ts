import { MS_PER_DAY, MS_PER_HOUR, timestamp } from '../../schemas/time.ts';
import { type HailArea, hailArea, ringAround } from './hail-area.ts';
import type { TextFile } from './report-files.ts';
import type { Scenario } from './scenario.ts';

/** Hail of an inch is severe, of two inches significant. */
const SEVERE_MM = 25.4;
const SIGNIFICANT_MM = 50.8;
/** Growth of the areas per day of lead. */
const WIDENS_BY_DAY = 0.25;
/** Last day with an area. */
const LAST_WITH_AREAS = 5;

interface Area {
  readonly label: string;
  /** Extent of the area in standard deviations of the places of hail. */
  readonly deviations: number;
}

const CATEGORIES: readonly Area[] = [
  { label: 'TSTM', deviations: 3.5 },
  { label: 'MRGL', deviations: 2.6 },
  { label: 'SLGT', deviations: 2 },
  { label: 'ENH', deviations: 1.3 },
];
const PROBABILITIES: readonly Area[] = [
  { label: '0.05', deviations: 2.6 },
  { label: '0.15', deviations: 2 },
  { label: '0.30', deviations: 1.3 },
];

/** Layers of the outlooks of days 1 to 8 in force at `to_ms`, around the hail of the scenario. */
export function outlookFiles(scenario: Scenario, to_ms: number): TextFile[] {
  const today_ms = Math.floor((to_ms - 12 * MS_PER_HOUR) / MS_PER_DAY) * MS_PER_DAY + 12 * MS_PER_HOUR;
  const issued_ms = to_ms >= today_ms + 8 * MS_PER_HOUR ? today_ms + 8 * MS_PER_HOUR : today_ms;
  return [1, 2, 3, 4, 5, 6, 7, 8].flatMap((day) => {
    const begins_ms = today_ms + (day - 1) * MS_PER_DAY;
    // The last days have no area, as is usual.
    const area = day > LAST_WITH_AREAS ? null : hailArea(scenario, begins_ms, begins_ms + MS_PER_DAY, SEVERE_MM);
    const times = {
      issued_ms: day === 1 ? issued_ms : today_ms,
      valid_ms: day === 1 ? issued_ms : begins_ms,
      expires_ms: begins_ms + MS_PER_DAY,
    };
    const layer = (name: string, areas: readonly Area[], of = area): TextFile => ({
      path: `outlooks/${name}.nolyr.geojson`,
      text: layerText(of, widened(areas, day), times),
    });
    if (day > 3) return layer(`day${day}prob`, [{ label: '0.15', deviations: 2 }]);
    const categories = layer(`day${day}otlk_cat`, lowered(CATEGORIES, day));
    if (day === 3) return [categories, layer('day3otlk_prob', lowered(PROBABILITIES, day))];
    return [
      categories,
      layer(`day${day}otlk_hail`, lowered(PROBABILITIES, day)),
      layer(`day${day}otlk_torn`, [{ label: '0.02', deviations: 1.5 }]),
      layer(`day${day}otlk_wind`, lowered(PROBABILITIES.slice(0, 2), day)),
      layer(
        `day${day}otlk_cighail`,
        [{ label: 'CIG1', deviations: 1.2 }],
        hailArea(scenario, begins_ms, begins_ms + MS_PER_DAY, SIGNIFICANT_MM),
      ),
    ];
  });
}

/** Areas without the highest label on day 2, and without the two highest on day 3. */
function lowered(areas: readonly Area[], day: number): readonly Area[] {
  return areas.slice(0, areas.length - (day - 1));
}

function widened(areas: readonly Area[], day: number): Area[] {
  return areas.map(({ label, deviations }) => ({ label, deviations: deviations * (1 + WIDENS_BY_DAY * (day - 1)) }));
}

function layerText(
  area: HailArea | null,
  areas: readonly Area[],
  { issued_ms, valid_ms, expires_ms }: { issued_ms: number; valid_ms: number; expires_ms: number },
): string {
  const properties = { VALID: compact(valid_ms), EXPIRE: compact(expires_ms), ISSUE: compact(issued_ms) };
  const feature = (label: string, coordinates: readonly unknown[]) => ({
    type: 'Feature',
    geometry: { type: 'MultiPolygon', coordinates },
    properties: { ...properties, LABEL: label, LABEL2: 'Simulated', SOURCE: 'simulated' },
  });
  const features =
    area === null || areas.length === 0
      ? [feature('', [])]
      : areas.map(({ label, deviations }) =>
          feature(label, [[ringAround(area, deviations).map(({ lon, lat }) => [lon, lat])]]),
        );
  return `${JSON.stringify({ type: 'FeatureCollection', features })}\n`;
}

/** `202605012012`. */
function compact(time_ms: number): string {
  return timestamp(time_ms).slice(0, 16).replaceAll(/[-T:]/g, '');
}
