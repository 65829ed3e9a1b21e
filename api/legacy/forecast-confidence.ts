import { rounded } from '../rules/rounded.ts';

const LAST_HOUR = 48;
const FIRST_CONFIDENCE = 0.9;
const LAST_CONFIDENCE = 0.4;

/** Confidence of an hour of the forecast: 0.9 for the first, falling linearly to 0.4 for the 48th. */
export function forecastConfidence(hour: number): number {
  const share = (hour - 1) / (LAST_HOUR - 1);
  return rounded(FIRST_CONFIDENCE + share * (LAST_CONFIDENCE - FIRST_CONFIDENCE), 3);
}
