import { VERDICTS } from '../../schemas/resources/verification.ts';
import {
  countsSentence,
  eventCount,
  headline,
  largestSentences,
  noSignalSentences,
  radarGapSentences,
  reportGapSentences,
} from './overview-sentences.ts';
import type { NotRealMark } from './provenance-words.ts';
import type { ReportEvent } from './report-events.ts';
import type { ReportMaterial } from './report-material.ts';
import {
  artifact,
  ensureSpace,
  PAGE,
  paragraph,
  type Sheet,
  TEXT_WIDTH,
  tagged,
  wrapText,
  writeLine,
  writeLines,
} from './sheet.ts';
import { BODY, FIGURE, LEAD, SMALL, STRONG } from './styles.ts';
import { drawMark, VERDICT_LOOKS } from './verdict-mark.ts';

const GAP = 14;
const COLUMN = (TEXT_WIDTH - 2 * GAP) / 3;
const PANEL_HEIGHT = 68;

/** The answer at a glance: days of each verdict, largest hail, days without data. */
export function drawOverview(
  sheet: Sheet,
  material: ReportMaterial,
  events: readonly ReportEvent[],
  not_real: NotRealMark | null,
): void {
  sheet.y += 4;
  const lead = events.length > 0 ? headline(material, events) : countsSentence(material, events);
  paragraph(sheet, not_real === null ? lead : `${not_real.lead} ${lead}`, LEAD, 6);
  if (events.length > 0) {
    paragraph(sheet, countsSentence(material, events), BODY, 6);
    drawVerdictCounts(sheet, events);
    for (const sentence of largestSentences(material, events)) paragraph(sheet, sentence, BODY, 2);
  } else for (const sentence of noSignalSentences(material)) paragraph(sheet, sentence, BODY, 5);
  for (const sentence of radarGapSentences(material)) paragraph(sheet, sentence, STRONG, 2);
  for (const sentence of reportGapSentences(material)) paragraph(sheet, sentence, STRONG, 2);
}

function drawVerdictCounts(sheet: Sheet, events: readonly ReportEvent[]): void {
  const { doc } = sheet;
  ensureSpace(sheet, PANEL_HEIGHT);
  const top = sheet.y;
  for (const [k, verdict] of VERDICTS.entries()) {
    const { word, color, means } = VERDICT_LOOKS[verdict];
    const x = PAGE.left + k * (COLUMN + GAP);
    artifact(doc, 'Layout', () => doc.rect(x, top, COLUMN, 2).fill(color));
    tagged(sheet, 'P', () => {
      const count = String(eventCount(events, verdict));
      writeLine(sheet, count, x, top + 30, { ...FIGURE, color });
      const beside = x + 19 * count.length;
      drawMark(sheet, verdict, beside + 5, top + 25, 5);
      writeLine(sheet, word, beside + 16, top + 29.5, { ...LEAD, color });
      writeLines(sheet, wrapText(sheet, means, COLUMN, SMALL), x, top + 38, SMALL);
    });
  }
  sheet.y = top + PANEL_HEIGHT;
}
