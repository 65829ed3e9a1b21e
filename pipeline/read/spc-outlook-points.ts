import type { MultiPolygon, Ring } from '../../schemas/geo/rings.ts';
import { multiPolygonToWkt } from '../../schemas/geo/wkt.ts';
import type { FileOutlook, OutlookHazard } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, MS_PER_HOUR, timestamp, utcDate } from '../../schemas/time.ts';
import { type AssembledLines, assembleLines } from './outlook-lines.ts';
import { badFile, MAX_FUTURE_MS, quoted, type RejectedItem } from './rejected-item.ts';
import { eightDigitPosition, issueLine, productLines, type Validity, validity, wmoHeading } from './text-product.ts';

/** Real groups have up to 100 positions; the search for crossings and the way along the border grow with them. */
const MAX_POSITIONS = 2000;
/** Ends one line of a group and starts another. */
const NEW_LINE = '99999999';

const HAZARDS: Readonly<Record<string, OutlookHazard>> = {
  CATEGORICAL: 'categorical',
  TORNADO: 'tornado',
  HAIL: 'hail',
  WIND: 'wind',
  'ANY SEVERE': 'any_severe',
};

const DAY = /\bOUTLOOK POINTS DAY\s+(\d(?:-\d)?)\s*$/i;
const SECTION = /^\.{2,}\s*([A-Z ]{1,40}?)\s*\.{2,}$/i;
const LABEL = /^(?:0\.\d{2}|SIGN|CIG\d|TSTM|MRGL|SLGT|ENH|MDT|HIGH|D\d)$/;

/** Rows and rejected parts of an outlook. */
export interface ReadOutlook {
  readonly rows: readonly FileOutlook[];
  readonly set_aside: readonly RejectedItem[];
}

/**
 * Areas of a convective outlook in points text (PTSDY1 to PTSDY3, PTSD48), in file order; groups of one label are one area. A
 * section that is there but empty gives a row without label and geometry. A line of a group that cannot be used is rejected, and
 * the rows of its layer are marked as not complete. Throws BadInput when times, days or sections cannot be read, and for times
 * that no outlook of the day has.
 */
export function readOutlookPoints(bytes: Uint8Array, subject: string, now_ms: number): ReadOutlook {
  const lines = productLines(bytes, subject);
  const bad = (reason: string) => badFile(subject, reason);
  const issue = issueLine(lines);
  if (issue === null) throw bad('no issue line with a known time zone');
  if (issue.issued_ms > now_ms + MAX_FUTURE_MS) throw bad('issued in the future');
  const valid = lines.map((line) => /^\s*VALID TIME (\d{6})Z - (\d{6})Z/i.exec(line)).find((found) => found !== null);
  const times = valid ? validity(valid[1], valid[2], issue.issued_ms) : null;
  if (times === null) throw bad(`validity is ${quoted(valid?.[0] ?? null)}, expected VALID TIME ddhhmmZ - ddhhmmZ`);
  const sections = parseSections(lines);
  if (sections.length === 0) throw bad("no section, expected such as '... CATEGORICAL ...'");
  const source = { issue_time: issue.issued_ms, times, is_simulated: wmoHeading(lines)?.is_simulated ?? false };
  const layers = sections.map((section) => layerOf(section, source));
  for (const { day, issue_time, valid_time, expire_time } of layers.flatMap(({ rows }) => rows)) {
    const reason = faultOfTimes(day, issue_time, valid_time, expire_time);
    if (reason !== null) throw bad(reason);
  }
  return { rows: layers.flatMap(({ rows }) => rows), set_aside: layers.flatMap(({ set_aside }) => set_aside) };
}

/**
 * Sections of an outlook text, not interpreted: day such as `1` or `4-8`, name, and all groups of one hazard, none when
 * nothing is forecast.
 */
export function parseSections(lines: readonly string[]) {
  const sections: { day: string; name: string; groups: OpenGroup[] }[] = [];
  let day: string | null = null;
  let is_open = false;
  for (const line of lines) {
    const text = line.trim();
    const name = SECTION.exec(text)?.[1];
    const starts_day = DAY.exec(text)?.[1];
    if (starts_day !== undefined) {
      day = starts_day;
      is_open = false;
    } else if (name !== undefined && day !== null) {
      sections.push({ day, name: name.trim().toUpperCase(), groups: [] });
      is_open = true;
    } else if (text === '&&') is_open = false;
    else if (is_open && text !== '') addWords(sections.at(-1)?.groups ?? [], line);
  }
  return sections.map((section) => ({ ...section, groups: section.groups.map(groupOf) }));
}

interface OpenGroup {
  readonly label: string;
  readonly words: string[];
}

/** A line that starts with a word starts a group with it; blanks continue the group before. */
function addWords(groups: OpenGroup[], line: string): void {
  const words = line.trim().split(/\s+/);
  if (/^\s/.test(line) && groups.length > 0) groups.at(-1)?.words.push(...words);
  else groups.push({ label: words[0], words: words.slice(1) });
}

/**
 * A label with its lines. `broken` are those with words that are no positions: the readable positions of each, and the first
 * such word.
 */
function groupOf({ label, words }: OpenGroup) {
  const lines: { readonly positions: Ring; unreadable: string | null }[] = [{ positions: [], unreadable: null }];
  for (const word of words) {
    const line = lines[lines.length - 1];
    const position = eightDigitPosition(word);
    if (word === NEW_LINE) lines.push({ positions: [], unreadable: null });
    else if (position === null) line.unreadable ??= word;
    else line.positions.push(position);
  }
  return {
    label,
    lines: lines
      .filter((line) => line.unreadable === null && line.positions.length > 0)
      .map(({ positions }) => positions),
    broken: lines.flatMap(({ positions, unreadable: word }) => (word === null ? [] : [{ line: positions, word }])),
  };
}

interface Source {
  readonly issue_time: number;
  readonly times: Validity;
  readonly is_simulated: boolean;
}

function layerOf(
  section: ReturnType<typeof parseSections>[number],
  { issue_time, times, is_simulated }: Source,
): ReadOutlook {
  const hazard = HAZARDS[section.name];
  const set_aside: RejectedItem[] = [];
  const item = (label: string) => `day ${section.day} ${section.name.toLowerCase()} ${quoted(label)}`;
  if (hazard === undefined) return { rows: [], set_aside: [{ item: item(''), reason: 'section is not known' }] };
  const areas = new Map<string, { day: number; label: string; polygons: MultiPolygon }>();
  for (const group of section.groups) {
    const { polygons, refused } = areaOf(group);
    set_aside.push(...refused.map((reason) => ({ item: item(group.label), reason })));
    if (polygons.length === 0) continue;
    const day = dayOf(section.day, group.label);
    const known = areas.get(`${day} ${group.label}`)?.polygons ?? [];
    areas.set(`${day} ${group.label}`, { day, label: group.label, polygons: [...known, ...polygons] });
  }
  const common = {
    hazard,
    part: 'all',
    issue_time,
    format: 'points',
    is_complete: set_aside.length === 0,
    data_source: is_simulated ? 'simulated' : 'observed',
  } as const;
  const rowOf = (day: number, label: string | null, geometry: string | null) => ({
    ...common,
    ...dayTimes(day, section.day, times),
    label,
    probability_pct: label === null ? null : probabilityOf(label),
    geometry,
  });
  const rows = [...areas.values()].map(({ day, label, polygons }) => rowOf(day, label, multiPolygonToWkt(polygons)));
  const empty_days = daysOf(section.day).filter((day) => rows.every((row) => row.day !== day));
  return { rows: [...rows, ...empty_days.map((day) => rowOf(day, null, null))], set_aside };
}

function areaOf({ label, lines, broken }: ReturnType<typeof groupOf>): AssembledLines {
  const none = (reason: string) => ({ polygons: [], refused: [reason] });
  if (!LABEL.test(label)) return none('label is not known');
  const unusable = broken.map(({ line }) => line);
  const positions = [...lines, ...unusable].reduce((sum, line) => sum + line.length, 0);
  if (positions === 0 && broken.length === 0) return none('no positions');
  if (positions > MAX_POSITIONS) return none(`${positions} positions, expected at most ${MAX_POSITIONS}`);
  const assembled = assembleLines(lines, unusable);
  const unreadable = broken.map(({ word }) => `position ${quoted(word)}, expected eight digits`);
  const refused = [...unreadable, ...assembled.refused];
  if (assembled.polygons.length + refused.length === 0) return none('lies outside of the outlook domain');
  return { polygons: assembled.polygons, refused };
}

/** Margin of the issue time, hours: outlooks are issued before the 12 UTC at which their day starts, on day 1 after it as well. */
const ISSUE_SPREAD_H = 12;
const DAY_1_AFTER_H = 24;
const NOON_MS = MS_PER_DAY / 2;

/**
 * Why times are not those of an outlook of a day, 1 to 8; null when they are. A day ends at 12 UTC. Day 1 is issued from 06 UTC before it
 * to 01 UTC within it and may begin at its issue; day 2 at about 07 and 17:30 UTC of the day before, day 3 at 08 and 19:30 UTC two
 * days before, days 4 to 8 at about 09 UTC, three to seven days before; each of them is whole.
 */
export function faultOfTimes(day: number, issue_time: number, valid_time: number, expire_time: number): string | null {
  const start_ms = expire_time - MS_PER_DAY;
  const span = `valid from ${timestamp(valid_time)} to ${timestamp(expire_time)}`;
  if (expire_time % MS_PER_DAY !== NOON_MS) return `${span}, expected an end at 12 UTC`;
  const is_within = day === 1 ? valid_time >= start_ms && valid_time < expire_time : valid_time === start_ms;
  if (!is_within) return `${span}, expected ${day === 1 ? 'at most' : 'just'} a day`;
  const lead_h = (start_ms - issue_time) / MS_PER_HOUR - 24 * (day - 1);
  const is_timely = lead_h > (day === 1 ? -DAY_1_AFTER_H : -ISSUE_SPREAD_H) && lead_h < ISSUE_SPREAD_H;
  return is_timely ? null : `issued ${timestamp(issue_time)} and ${span}, which is not day ${day} then`;
}

/** Percent of a label such as 0.15; null for words. */
export function probabilityOf(label: string): number | null {
  return /^0\.\d{2}$/.test(label) ? Number(label.slice(2)) : null;
}

/** Days of a header: `3` or `4-8`. */
function daysOf(header: string): number[] {
  const [first = 0, last = first] = header.split('-').map(Number);
  return Array.from({ length: Math.max(0, last - first) + 1 }, (_, i) => first + i);
}

/** Day of a group: that of the header, or under `4-8` that of a label such as D6. */
function dayOf(header: string, label: string): number {
  const day = /^D(\d)$/.exec(label)?.[1];
  return day !== undefined && daysOf(header).includes(Number(day)) ? Number(day) : daysOf(header)[0];
}

/** Validity of a day: that of the text, or of a text of several days its share, from 12 to 12 UTC. */
function dayTimes(day: number, header: string, { begins_ms, ends_ms }: Validity) {
  const is_shared = day >= FIRST_LONG_DAY && (header.includes('-') || ends_ms - begins_ms > MS_PER_DAY);
  const valid_time = is_shared ? begins_ms + (day - FIRST_LONG_DAY) * MS_PER_DAY : begins_ms;
  const expire_time = is_shared ? valid_time + MS_PER_DAY : ends_ms;
  return { forecast_date: utcDate(expire_time - MS_PER_DAY), day, valid_time, expire_time };
}

/** Days 4 to 8 share one text, whose validity covers all of them. */
const FIRST_LONG_DAY = 4;
