import { MM_PER_INCH, stepOf } from './palette.ts';

/** A bar of this size fills the height. */
const FULL_MM = 3 * MM_PER_INCH;

export const percent = (share: number) => `${(100 * share).toFixed(3)}%`;

interface BarProps {
  readonly mm: number | null;
  /** Place on the axis, and width, as shares of it. */
  readonly left: number;
  readonly width?: number;
  readonly class?: string;
}

/** A size as a bar in the colour of its step. */
export function Bar({ mm, left, width = 0, ...rest }: BarProps) {
  const height = percent(Math.min(1, (mm ?? 0) / FULL_MM));
  const style = { left: percent(left), width: percent(width), height, background: stepOf(mm ?? 0).color };
  return mm === null ? null : <i style={style} {...rest} />;
}
