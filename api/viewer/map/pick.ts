import type { View } from '../data/day.ts';
import { SIZES, stepOf } from '../page/palette.ts';
import { bandInWords, motionInWords, sizeInWords, timeInWords } from '../page/words.ts';

/** A feature that MapLibre drew. */
// biome-ignore lint/suspicious/noExplicitAny: tiles carry attributes of any type; storms are points, bands are polygons
type Drawn = Readonly<Partial<Record<'properties' | 'geometry', any>>>;

/** Drawn content at a place: the largest of the `bands` there, and of the `storms` that with the least `distance`, pixels. */
export function pickAmong(
  bands: readonly Drawn[],
  storms: readonly Drawn[],
  distance: (lng: number, lat: number) => number,
) {
  const sizes = bands.map(({ properties }) => Number(properties.mm_min));
  const away = ({ geometry: { coordinates } }: Drawn) => distance(coordinates[0], coordinates[1]);
  const nearest = storms.toSorted((a, b) => away(a) - away(b)).at(0);
  return { mm_min: sizes.length ? Math.max(...sizes) : null, storm: nearest?.properties ?? null };
}

export type Finding = ReturnType<typeof pickAmong>;

/**
 * Text of the card of a finding: headline with its colour, and further lines. `coarse`: the zoom simplifies outlines;
 * `covered`: radar covers the place in the scan, or in the newest scan of the day; null: not known.
 */
export function findingInWords(
  { mm_min, storm }: Finding,
  { view, coarse, covered }: { view: View; coarse: boolean; covered: boolean | null },
) {
  if (storm) return stormInWords(storm, mm_min);
  const zoomHint = coarse ? ['Zoom in for exact edges.'] : [];
  if (mm_min === null) {
    const [headline, line] = emptinessInWords(view, covered);
    return { headline, second: null, color: null, lines: [line, ...zoomHint] };
  }
  const { mm, inches, step, category } = bandInWords(mm_min);
  const what = view === 'day' ? 'Largest of the day here' : 'In this scan';
  const size = category ?? 'below the size of a nickel, perhaps no hail at all';
  return { headline: mm, second: inches, color: step.color, lines: [`${what}: ${size}`, ...zoomHint] };
}

/** Why nothing is drawn at a place: no hail, or no radar coverage. */
function emptinessInWords(view: View, covered: boolean | null): [headline: string, line: string] {
  const least_mm = SIZES.find(({ category }) => view === 'scan' || category !== null)?.mm_min;
  const when = view === 'scan' ? 'in this scan' : 'in the newest scan of the day';
  if (covered === null) return ['No hail drawn here', `Less than ${least_mm} mm, or no radar coverage.`];
  if (!covered) return ['No radar coverage here', `No radar looked here ${when}: hail or none is not known.`];
  if (view === 'scan') return ['No hail here', `Radar looked and saw less than ${least_mm} mm.`];
  return [`Less than ${least_mm} mm by the map’s steps`, 'Smaller hail is not drawn for a whole day.'];
}

/** `storm`: attributes of a storm of a scan, or of a peak of a day. */
function stormInWords(storm: Drawn['properties'], mm_min: number | null) {
  const { peak_mm, speed_kmh, direction_deg, time, duration_min, trend, prob } = storm;
  const mm = Number(storm.mm ?? peak_mm);
  const { name, color } = stepOf(mm);
  const lines = [
    name && `At least the size of a ${name}`,
    time && `On ${timeInWords(time)}`,
    duration_min !== undefined && `Seen for ${Math.round(duration_min)} min`,
    speed_kmh !== undefined && direction_deg !== undefined && `Moves at ${motionInWords(speed_kmh, direction_deg)}`,
    trend && `Trend: ${trend.replaceAll('_', ' ')}`,
    prob !== undefined && `Probability of severe hail ${Math.round(100 * prob)} %`,
    mm_min !== null && `At this very place: ${bandInWords(mm_min).mm}`,
  ];
  return {
    headline: sizeInWords(mm),
    second: peak_mm === undefined ? 'largest of this storm, in this scan' : 'largest of this storm',
    color,
    lines: lines.filter((line): line is string => Boolean(line)),
  };
}
