import { BASEMAP } from '../../schemas/palette.ts';
import type { FontName } from './fonts.ts';

/** How a run of text looks; sizes in points. */
export interface TextStyle {
  readonly font: FontName;
  readonly size: number;
  /** From baseline to baseline. */
  readonly leading: number;
  readonly color: string;
}

export const INK = BASEMAP.ink;
/** Darker than the map's own faint text: small print must read on paper. */
export const FAINT = '#55636e';
export const RULE = BASEMAP.border;
export const WARNING = BASEMAP.warning;

const regular = (size: number, leading: number, color: string = INK): TextStyle => ({
  font: 'Arimo',
  size,
  leading,
  color,
});
const bold = (size: number, leading: number, color: string = INK): TextStyle => ({
  font: 'Arimo-Bold',
  size,
  leading,
  color,
});

export const TITLE = bold(21, 25);
export const PLACE = regular(12, 16);
export const LEAD = bold(13, 17);
export const HEADING = bold(12, 16);
export const SUBHEADING = bold(9, 12.5);
export const BODY = regular(9, 12.5);
/** Method, limits and the like, which few read and all may. */
export const BACK = regular(8.5, 10.8);
export const STRONG = bold(9, 12.5);
export const CELL = regular(8, 10.5);
export const CELL_STRONG = bold(8, 10.5);
export const CELL_FAINT = regular(7, 9.5, FAINT);
export const COLUMN_HEAD = bold(7, 9, FAINT);
export const LABEL = regular(7.5, 10, FAINT);
export const FIGURE = bold(26, 28);
export const SMALL = regular(7.5, 10.2, FAINT);
export const MAP_LABEL = bold(6.5, 8);
export const MAP_SMALL = regular(6.2, 8);
export const CODE: TextStyle = { font: 'Cousine', size: 8.4, leading: 11.5, color: INK };
export const CODE_SMALL: TextStyle = { font: 'Cousine', size: 7.5, leading: 9.6, color: INK };
