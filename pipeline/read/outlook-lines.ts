import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { KM_PER_DEG } from '../../schemas/geo/constants.ts';
import { type MultiPolygon, type Ring, signedArea } from '../../schemas/geo/rings.ts';
import { findConflicts } from '../../schemas/geo/validity.ts';
import { OUTLOOK_DOMAIN } from '../../schemas/reference/outlook-domain.ts';
import { closed, withoutRepeats } from './polygon.ts';

/** Longitudes shrink by this at 38 N, the middle of the domain: enough to find the nearest place on its border. */
const LON_SCALE = Math.cos((38 * Math.PI) / 180);
/** Ends farther inside the domain than this belong to no line that means to end at its border. */
const MAX_END_INSIDE_KM = 150;
/** Pieces of a line that leave the domain again within this are the wobble of a line drawn along its border. */
const MIN_PIECE_KM = 20;

/** Longitude and latitude. */
type Position = Ring[number];

/** A place on the border of the domain: position, and distance along it, clockwise from its first position. */
interface BorderPlace {
  readonly position: Position;
  readonly along: number;
}

/** A line from border to border; the area lies to its right. */
interface Crossing {
  readonly start: BorderPlace;
  readonly end: BorderPlace;
  readonly line: Ring;
}

/** Area of the lines of a group. */
export interface AssembledLines {
  readonly polygons: MultiPolygon;
  /** Why lines cannot be used, one reason for each; where their areas lie is unknown. */
  readonly refused: readonly string[];
}

/**
 * Area of the lines of one group of an outlook text. `broken` are the readable positions of lines that have unreadable words.
 *
 * The area lies to the right of each line. A line that closes clockwise is an area, counter-clockwise a hole of the area around
 * it. A line that does not close runs from border to border of the outlook domain: it is cut at the border, and the area is
 * closed along the border, clockwise from the end of one line to the next start of one. A line whose two ends lie well inside
 * the domain and nearer to each other than half their distance to its border was left open by mistake and is closed.
 *
 * An unusable closed line is rejected alone, an unusable hole together with the area around it. One unusable line from border to
 * border rejects all such lines: without it the others would enclose the area beyond it.
 */
export function assembleLines(lines: readonly Ring[], broken: readonly Ring[] = []): AssembledLines {
  const shells: Ring[] = [];
  const holes: Ring[] = [];
  const lost_holes: Ring[] = [];
  const crossings: Crossing[] = [];
  const refused: string[] = [];
  let lost_crossings = 0;
  for (const given of broken) {
    const line = withoutRepeats(given);
    if (line.length < 2 || !(isClosed(line) || isLeftOpen(line))) lost_crossings += 1;
    else if (signedArea(closed(line)) > 0) lost_holes.push(closed(line));
  }
  for (const given of lines) {
    const line = withoutRepeats(given);
    if (line.length < 2) refused.push(`a line of ${line.length} position, expected 2 or more`);
    else if (isClosed(line) || isLeftOpen(line)) {
      const ring = closed(line);
      const reason = faultOfRing(ring);
      const is_hole = signedArea(ring) > 0;
      if (reason === null) (is_hole ? holes : shells).push(ring);
      else {
        refused.push(reason);
        if (is_hole) lost_holes.push(ring);
      }
    } else {
      const cut = cutAtBorder(line);
      if (typeof cut === 'string') {
        refused.push(cut);
        lost_crossings += 1;
      } else crossings.push(...cut);
    }
  }
  if (lost_crossings === 0) shells.push(...closeAlongBorder(crossings));
  else if (crossings.length > 0)
    refused.push('other lines from border to border, which bound an area together with one that cannot be used');
  const nested = nest(shells, holes, lost_holes);
  return { polygons: nested.polygons, refused: [...refused, ...nested.refused] };
}

function faultOfRing(ring: Ring): string | null {
  if (ring.length < 4) return `a ring of ${ring.length - 1} positions, expected 3 or more`;
  return findConflicts([[counterClockwise(ring)]])[0]?.reason ?? null;
}

function isClosed(line: Ring): boolean {
  return String(line[0]) === String(line.at(-1));
}

function isLeftOpen(line: Ring): boolean {
  const [first, last] = [line[0], line[line.length - 1]];
  if (![first, last].every(isInDomain)) return false;
  return planeDistance(first, last) < 0.5 * Math.min(...[first, last].map((end) => toBorder(end).distance));
}

/**
 * Shells, and the holes in the shell around them, wound as RFC 7946 has it; a hole without a shell is an area drawn the other way
 * round. Polygons that conflict, or that lost a hole, are rejected.
 */
function nest(shells: readonly Ring[], holes: readonly Ring[], lost_holes: readonly Ring[]): AssembledLines {
  const polygons: MultiPolygon = shells.map((ring) => [counterClockwise(ring)]);
  const around = (hole: Ring) => polygons.find(([shell]) => booleanPointInPolygon(hole[0], ringPolygon(shell)));
  for (const hole of holes) {
    const polygon = around(hole);
    if (polygon === undefined) polygons.push([counterClockwise(hole)]);
    else polygon.push(counterClockwise(hole).toReversed());
  }
  const holed = new Set(lost_holes.map(around));
  const refused: string[] = [];
  const sound = polygons.filter((polygon) => {
    const reason = holed.has(polygon)
      ? 'an area in which a hole cannot be used'
      : (findConflicts([polygon])[0]?.reason ?? null);
    if (reason !== null) refused.push(reason);
    return reason === null;
  });
  return { polygons: sound, refused };
}

function ringPolygon(ring: Ring): { type: 'Polygon'; coordinates: Ring[] } {
  return { type: 'Polygon', coordinates: [ring] };
}

function counterClockwise(ring: Ring): Ring {
  return signedArea(ring) < 0 ? ring.toReversed() : ring;
}

/** Pieces of an open line inside the domain, each from border to border; ends inside are led to the nearest place on it. */
function cutAtBorder(line: Ring): Crossing[] | string {
  for (const end of [line[0], line[line.length - 1]])
    if (isInDomain(end)) {
      const inside_km = toBorder(end).distance * KM_PER_DEG;
      if (inside_km > MAX_END_INSIDE_KM)
        return `line ends at ${end.join(' ')}, ${Math.round(inside_km)} km inside the outlook domain`;
    }
  const pieces: Step[][] = [];
  let is_open = false;
  for (const step of stepsOf(line)) {
    if (!isInDomain(middle(step.from.position, step.to.position))) is_open = false;
    else if (is_open) pieces.at(-1)?.push(step);
    else {
      pieces.push([step]);
      is_open = true;
    }
  }
  return pieces.map(crossingOf).filter(({ line: piece }) => lengthOf(piece) * KM_PER_DEG >= MIN_PIECE_KM);
}

/** End of a step; `along` is known where it lies on the border. */
interface StepEnd {
  readonly position: Position;
  readonly along: number | null;
}

/** A part of a line that does not cross the border. */
interface Step {
  readonly from: StepEnd;
  readonly to: StepEnd;
}

function stepsOf(line: Ring): Step[] {
  return line.slice(1).flatMap((to, i) => {
    const from = line[i];
    const places = [{ position: from, along: null }, ...borderMeetings(from, to), { position: to, along: null }];
    return places.slice(1).map((place, k) => ({ from: places[k], to: place }));
  });
}

function middle(a: Position, b: Position): Position {
  return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
}

function crossingOf(steps: readonly Step[]): Crossing {
  const ends = [steps[0].from, ...steps.map(({ to }) => to)];
  const start = borderPlaceOf(ends[0]);
  const end = borderPlaceOf(ends[ends.length - 1]);
  const line = [start, ...ends, end].map(({ position }) => position);
  return { start, end, line: withoutRepeats(line) };
}

function borderPlaceOf({ position, along }: StepEnd): BorderPlace {
  return along === null ? toBorder(position).place : { position, along };
}

/**
 * Rings, clockwise: from the end of each crossing along the border to the next start of one. Where two ends meet the same
 * start, areas of the group lie in each other, and each crossing is closed by itself.
 */
function closeAlongBorder(crossings: readonly Crossing[]): Ring[] {
  const by_start = crossings.toSorted((a, b) => a.start.along - b.start.along);
  const next = new Map(by_start.map((crossing) => [crossing, nextStart(by_start, crossing.end.along)]));
  if (new Set(next.values()).size < by_start.length)
    return by_start.map((crossing) => closed(withoutRepeats([...crossing.line, ...wayAlong(crossing, crossing)])));
  const used = new Set<Crossing>();
  return by_start.flatMap((first) => {
    const ring: Ring = [];
    for (let crossing = first; !used.has(crossing); ) {
      used.add(crossing);
      const after = next.get(crossing) as Crossing;
      ring.push(...crossing.line, ...wayAlong(crossing, after));
      crossing = after;
    }
    return ring.length === 0 ? [] : [closed(withoutRepeats(ring))];
  });
}

/** First crossing that starts at or after a place, clockwise. */
function nextStart(by_start: readonly Crossing[], along: number): Crossing {
  return by_start.find(({ start }) => start.along >= along) ?? by_start[0];
}

const BORDER = OUTLOOK_DOMAIN;
const BORDER_POLYGON = ringPolygon(OUTLOOK_DOMAIN);
/** Distance of each position of the border from the first, along it. */
const ALONG = lengthsOf(BORDER);
const WHOLE_BORDER = lengthOf(BORDER);

function lengthOf(line: Ring): number {
  return lengthsOf(line)[line.length - 1];
}

function lengthsOf(ring: Ring): number[] {
  const along = [0];
  for (let i = 1; i < ring.length; i++) along.push(along[i - 1] + planeDistance(ring[i - 1], ring[i]));
  return along;
}

/** Positions of the border strictly between the end of a crossing and the start of one, clockwise. */
function wayAlong({ end: { along: from } }: Crossing, { start: { along: to } }: Crossing): Ring {
  const end = to >= from ? to : to + WHOLE_BORDER;
  return [0, WHOLE_BORDER].flatMap((lap) =>
    BORDER.slice(0, -1).filter((_, i) => ALONG[i] + lap > from && ALONG[i] + lap < end),
  );
}

function isInDomain(position: Position): boolean {
  return booleanPointInPolygon(position, BORDER_POLYGON);
}

function planeDistance(a: Position, b: Position): number {
  return Math.hypot((b[0] - a[0]) * LON_SCALE, b[1] - a[1]);
}

/** Nearest place on the border, and how far it is, degrees of latitude. */
function toBorder(position: Position): { place: BorderPlace; distance: number } {
  let nearest = { place: { position: BORDER[0], along: 0 }, distance: Number.POSITIVE_INFINITY };
  for (let i = 1; i < BORDER.length; i++) {
    const [a, b] = [BORDER[i - 1], BORDER[i]];
    const place = placeOnEdge(i, shareOf(position, a, b));
    const distance = planeDistance(position, place.position);
    if (distance < nearest.distance) nearest = { place, distance };
  }
  return nearest;
}

/** Share of the way from a to b at which the foot of a position lies, 0 to 1. */
function shareOf(position: Position, a: Position, b: Position): number {
  const [dx, dy] = [(b[0] - a[0]) * LON_SCALE, b[1] - a[1]];
  const [px, py] = [(position[0] - a[0]) * LON_SCALE, position[1] - a[1]];
  return Math.min(1, Math.max(0, (px * dx + py * dy) / (dx * dx + dy * dy)));
}

function placeOnEdge(i: number, share: number): BorderPlace {
  const [a, b] = [BORDER[i - 1], BORDER[i]];
  const [from, to] = [ALONG[i - 1], ALONG[i]];
  return {
    position: [sixDecimals(a[0] + share * (b[0] - a[0])), sixDecimals(a[1] + share * (b[1] - a[1]))],
    along: from + share * (to - from),
  };
}

function sixDecimals(deg: number): number {
  return Math.round(deg * 1e6) / 1e6;
}

/** Places at which a line between two positions meets the border, in its order. */
function borderMeetings(from: Position, to: Position): BorderPlace[] {
  const found: { share: number; place: BorderPlace }[] = [];
  for (let i = 1; i < BORDER.length; i++) {
    const [a, b] = [BORDER[i - 1], BORDER[i]];
    const [dx, dy, ex, ey] = [to[0] - from[0], to[1] - from[1], b[0] - a[0], b[1] - a[1]];
    const cross = dx * ey - dy * ex;
    if (cross === 0) continue;
    const share = ((a[0] - from[0]) * ey - (a[1] - from[1]) * ex) / cross;
    const edge_share = ((a[0] - from[0]) * dy - (a[1] - from[1]) * dx) / cross;
    if (share > 0 && share <= 1 && edge_share >= 0 && edge_share < 1)
      found.push({ share, place: placeOnEdge(i, edge_share) });
  }
  return found.sort((one, other) => one.share - other.share).map(({ place }) => place);
}
