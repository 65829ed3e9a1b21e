import { FAR_KM, NEAR_KM } from '../../pipeline/train/nowcast-points.ts';
import type { LeadKey } from '../../schemas/resources/nowcast.ts';
import type { LeadScores } from './nowcast-material.ts';
import { type Bin, type Interval, SAID_MIN, type Scores } from './nowcast-scores.ts';

const LABEL_WIDTH = 28;
const COLUMN_WIDTH = 24;
const BIN_WIDTH = 7;

/** Scores of a lead on a material, by its name. */
export type Column = LeadScores & { readonly name: string };

/** Scores of a lead, a column for each material that has some; then reliability, material by material. */
export function leadTable(key: LeadKey, columns: readonly Column[]): string {
  const scored = columns.filter(({ scores }) => scores !== null) as (Column & { scores: Scores })[];
  const line = (label: string, values: readonly string[]) =>
    `    ${label.padEnd(LABEL_WIDTH)}${values.map((value) => value.padStart(COLUMN_WIDTH)).join('')}`;
  const row = (label: string, of: (scores: Scores) => string) =>
    line(
      label,
      scored.map(({ scores }) => of(scores)),
    );
  const table = () => [
    `  ${key}${line(
      '',
      scored.map(({ name }) => name),
    ).slice(2 + key.length)}`,
    row('cases, blocks', ({ cases, blocks }) => `${cases}, ${blocks}`),
    row('base rate', ({ base_rate }) => base_rate.toFixed(4)),
    row('Brier', ({ brier }) => brier.toFixed(5)),
    ...['as published', 'not weighed', 'advection', 'persistence', 'base rate'].map((name) =>
      row(`Brier of ${name}`, ({ rival_brier }) => (rival_brier[name] as number).toFixed(5)),
    ),
    ...['advection', 'persistence', 'not weighed'].map((name) =>
      row(`skill over ${name}`, ({ skill }) => shown(skill[name] as Interval)),
    ),
    row(`said, came from ${SAID_MIN} on`, ({ said, came }) => `${said.toFixed(3)}, ${came.toFixed(3)}`),
    row(`slope from ${SAID_MIN} on`, ({ slope }) => shown(slope)),
    row(`intercept from ${SAID_MIN} on`, ({ intercept }) => shown(intercept)),
    row('said 0.2 to 0.8', ({ unsure }) => `${(100 * unsure).toFixed(1)} %`),
    line(
      `${NEAR_KM}-${FAR_KM} km: cases said, came`,
      scored.map(({ far }) => `${far.cases}: ${far.said.toFixed(4)}, ${far.came.toFixed(4)}`),
    ),
  ];
  return [
    ...(scored.length === 0 ? [`  ${key}`] : table()),
    ...columns.flatMap(({ name, why }) => (why === null ? [] : [`    not scored on ${name}: ${why}`])),
    ...scored.flatMap(({ name, scores: { bins } }) => binRows(name, bins)),
  ].join('\n');
}

function binRows(name: string, bins: readonly Bin[]): string[] {
  const line = (label: string, of: (bin: Bin) => string) =>
    `    ${label.padEnd(20)}${bins.map((bin) => of(bin).padStart(BIN_WIDTH)).join('')}`;
  return [
    line(`${name} said`, ({ said }) => said.toFixed(3)),
    line('came', ({ came }) => came.value.toFixed(3)),
    line('cases', ({ cases }) => String(cases)),
  ];
}

/** A value with its interval in brackets; `-` for one that is not to be had. */
export function shown({ value, low, high }: Interval): string {
  if (!Number.isFinite(value)) return '-';
  const bounds = low === null || high === null ? '' : ` [${low.toFixed(2)}, ${high.toFixed(2)}]`;
  return `${value.toFixed(3)}${bounds}`;
}
