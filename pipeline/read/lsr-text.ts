import type { FileReport } from '../../schemas/tables/feeds.ts';
import { timestamp } from '../../schemas/time.ts';
import { isHailEvent, measuredOf } from './lsr-geojson.ts';
import { badFile, MAX_FUTURE_MS, quoted, type ReadItems, readItems } from './rejected-item.ts';
import {
  correctedPlace,
  inchesToMm,
  isOnGlobe,
  MAX_SIZE_INCH,
  productId,
  reportId,
  SIMULATED_OFFICE,
} from './report-fields.ts';
import {
  clockMinutes,
  type IssueLine,
  issueLine,
  localTime,
  nearestDayTime,
  productLines,
  wmoHeading,
} from './text-product.ts';

/** Columns of the two lines of a report, from 0. */
const COLUMNS = { event: 12, place: 29, position: 53, county: 29, state: 48, observer: 53 } as const;

/**
 * Hail in the text of a local storm report of the National Weather Service. Times are local, in the zone of the issue line,
 * and leave in UTC; sizes leave in mm. Other events are counted by their words. Reports that cannot be used are rejected;
 * a text that is no local storm report throws BadInput.
 */
export function readLsrText(bytes: Uint8Array, subject: string, now_ms: number): ReadItems<FileReport> {
  const product = parseLsrText(bytes, subject);
  const { rows, set_aside, others } = readItems(product.entries, {
    name: ({ line }) => `line ${line}`,
    otherKind: ({ event }) => (isHailEvent(event) ? null : event),
    read: (entry) => reportOf(entry, product, now_ms),
  });
  return { rows, set_aside: [...product.set_aside, ...set_aside], others };
}

/** A local storm report with its entries of every kind. Throws BadInput for a text that is none. */
export function parseLsrText(bytes: Uint8Array, subject: string) {
  const lines = productLines(bytes, subject);
  const title = lines.find((line) => /^\s*preliminary local storm report/i.test(line));
  if (title === undefined) throw badFile(subject, "no line 'Preliminary Local Storm Report'");
  const heading = wmoHeading(lines);
  const awips = lines
    .slice(0, 10)
    .find((line) => /^LSR[A-Z]{3}$/.test(line.trim()))
    ?.trim();
  if (heading === null || awips === undefined) throw badFile(subject, 'no heading, expected that of LSRxxx');
  const issue = issueLine(lines);
  if (issue === null) throw badFile(subject, 'no issue line with a known time zone');
  const issued_ms = nearestDayTime(heading.ddhhmm, issue.issued_ms);
  if (issued_ms === null) throw badFile(subject, `heading has the time ${heading.ddhhmm}, expected ddhhmm`);
  const blocks = blocksOf(lines);
  if (blocks.length === 0)
    throw badFile(subject, "no report, expected lines such as '0915 AM …' below '..TIME... ...EVENT...'");
  const { rows: entries, set_aside } = readItems(blocks, {
    name: ({ line }) => `line ${line}`,
    read: ({ line, block }) => parseEntry(block, line, issue),
  });
  return {
    product_id: productId(issued_ms, heading.wmo, heading.office, awips),
    issued_ms,
    office: awips.slice(3),
    zone: issue.zone,
    is_correction: /corrected/i.test(title),
    entries,
    set_aside,
  };
}

/** `..TIME...   ...EVENT...      ...CITY LOCATION...`: known by its words, because offices differ in their dots. */
const HEAD_OF_COLUMNS = /^[.\s]*TIME[.\s]+EVENT\b/i;
const STARTS_WITH_TIME = /^\d{3,4} (AM|PM)\b/i;

/** Reports start with a line of their time, counted from 1, and end before the next, at `&&` or at `$$`. */
function blocksOf(lines: readonly string[]): { line: number; block: string[] }[] {
  const blocks: { line: number; block: string[] }[] = [];
  const from = lines.findIndex((line) => HEAD_OF_COLUMNS.test(line));
  for (let i = from === -1 ? lines.length : from; i < lines.length; i++) {
    const text = lines[i];
    if (text.startsWith('&&') || text.startsWith('$$')) break;
    if (STARTS_WITH_TIME.test(text)) blocks.push({ line: i + 1, block: [text] });
    else blocks.at(-1)?.block.push(text);
  }
  return blocks;
}

/** A report of any event as the text has it, before hail is picked out: `magnitude` such as `M1.25 Inch`, or empty. */
function parseEntry([first = '', second = '', ...remarks]: readonly string[], line: number, issue: IssueLine) {
  const [, hour, minute, half] = /^(\d{1,2})(\d{2}) (AM|PM)/i.exec(first) ?? [];
  const [, month, day, year] = /^(\d{2})\/(\d{2})\/(\d{4})\b/.exec(second) ?? [];
  const minutes = clockMinutes(Number(hour), Number(minute), half ?? '');
  const local_ms = localTime(Number(year), Number(month) - 1, Number(day), minutes);
  if (local_ms === null)
    return `time is ${quoted(`${first.slice(0, 9)} ${second.slice(0, 11)}`)}, expected HHMM AM or PM over MM/DD/YYYY`;
  const position = /^(\d{1,2}\.\d{1,4})([NS])\s+(\d{1,3}\.\d{1,4})([EW])/.exec(first.slice(COLUMNS.position).trim());
  const [, lat_text, north, lon_text, east] = position ?? [];
  const lat = (north === 'S' ? -1 : 1) * Number(lat_text);
  const lon = (east === 'W' ? -1 : 1) * Number(lon_text);
  if (!position || !isOnGlobe(lat, lon))
    return `position is ${quoted(first.slice(COLUMNS.position))}, expected such as 38.89N 98.85W`;
  return {
    line,
    time_ms: local_ms + issue.to_utc_ms,
    event: first.slice(COLUMNS.event, COLUMNS.place).trim(),
    place: first.slice(COLUMNS.place, COLUMNS.position).trim(),
    lat,
    lon,
    magnitude: second.slice(COLUMNS.event, COLUMNS.county).trim(),
    county: second.slice(COLUMNS.county, COLUMNS.state).trim(),
    state: second.slice(COLUMNS.state, COLUMNS.observer).trim(),
    observer: second.slice(COLUMNS.observer).trim(),
    remark: remarks
      .map((words) => words.trim())
      .filter((words) => words !== '')
      .join(' '),
  };
}

type LsrProduct = ReturnType<typeof parseLsrText>;

function reportOf(entry: LsrProduct['entries'][number], product: LsrProduct, now_ms: number): FileReport | string {
  if (entry.time_ms > now_ms + MAX_FUTURE_MS) return `time ${timestamp(entry.time_ms)} lies in the future`;
  const [, qualifier, size] = /^([ME]?)(\d{1,2}(?:\.\d{1,3})?) INCH(?:ES)?$/i.exec(entry.magnitude) ?? [];
  const inches = Number(size);
  if (!(inches > 0 && inches <= MAX_SIZE_INCH))
    return `size is ${quoted(entry.magnitude)}, expected such as E1.00 INCH, up to ${MAX_SIZE_INCH}`;
  const { lat, lon } = entry;
  const corrects_place = correctedPlace(entry.remark);
  return {
    report_id: reportId('lsr', product.office, entry.time_ms, { lat, lon }),
    source: 'lsr',
    time: entry.time_ms,
    lat,
    lon,
    size_mm: inchesToMm(inches),
    is_measured: measuredOf(qualifier ?? ''),
    place: entry.place,
    county: entry.county,
    state: entry.state,
    office: product.office,
    remark: entry.remark || null,
    product_id: product.product_id,
    issued_at: product.issued_ms,
    data_source: product.office === SIMULATED_OFFICE ? 'simulated' : 'observed',
    is_correction: product.is_correction || corrects_place !== null,
    corrects_place,
  };
}
