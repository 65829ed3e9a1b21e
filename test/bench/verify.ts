import { rm } from 'node:fs/promises';
import { Command } from 'commander';
import { openCatalog } from '../../api/catalog.ts';
import { createVerification as endpoint } from '../../api/routes/verify.ts';
import { UsageError } from '../../pipeline/error.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { VERIFICATION_DAYS_MAX, Verification } from '../../schemas/resources/verification.ts';
import { addDays, stormDateStart } from '../../schemas/time.ts';
import { sending } from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { simulatedSeason } from './season.ts';

const POINTS = 50;
const WARM_UP = 5;
const GOAL_MS = 100;
/** Where hail falls: the box of the points. */
const BOX = { south: 28, north: 46, west: -105, east: -85 };
/** From where in the year on the ranges start, so that each is asked for the first time. */
const STARTS_DAYS = 275;

/** POST /v1/verify of 90 days at points that were never asked before: `--data` is a compacted climate root. */
export async function verify(args: string[]): Promise<void> {
  const { data } = new Command('verify')
    .option(
      '--data <folder>',
      'data root with a year of compacted climate (npm run bench -- climate --out … --years 1 --density 4)',
    )
    .parse(args, { from: 'user' })
    .opts<{ data?: string }>();
  const root = data ?? (await simulatedSeason());
  try {
    const { first, last } = await datesOf(root);
    const now_ms = stormDateStart(addDays(last, 1), 0) - 1;
    const service = await startService({
      endpoints: [endpoint],
      data_root: root,
      now_ms,
      app: { check_replies: 'sample' },
    });
    try {
      await measure(service, first, last);
    } finally {
      await service.close();
    }
  } finally {
    if (data === undefined) await rm(root, { recursive: true, force: true });
  }
}

async function datesOf(root: string): Promise<{ first: string; last: string }> {
  const catalog = await openCatalog(root, 0);
  const { dates } = catalog.edition();
  await catalog.close();
  const [first, last] = [dates[0], dates.at(-1)];
  if (first === undefined || last === undefined)
    throw new UsageError('--data holds no published date, expected a compacted climate root');
  return { first, last };
}

async function measure(service: RunningService, first: string, last: string): Promise<void> {
  const times: number[] = [];
  let events = 0;
  for (const [index, point] of pointsOf(WARM_UP + POINTS).entries()) {
    const wanted = addDays(first, Math.floor((index * STARTS_DAYS * 0.618034) % STARTS_DAYS));
    const latest = addDays(last, 1 - VERIFICATION_DAYS_MAX);
    const date_start = wanted < latest ? wanted : latest < first ? first : latest;
    const body = { ...point, date_start, date_end: addDays(date_start, VERIFICATION_DAYS_MAX - 1) };
    const started = performance.now();
    const response = await service.call('/v1/verify', sending('POST', clipped(body, last)));
    const text = await response.text();
    if (!response.ok) throw new Error(`verify answers ${response.status} ${text}`, { cause: service.failures[0] });
    if (index < WARM_UP) continue;
    times.push(performance.now() - started);
    events += Verification.parse(JSON.parse(text)).event_count;
  }
  times.sort((a, b) => a - b);
  const [median_ms, p90_ms] = [0.5, 0.9].map((share) => times[Math.floor(share * (times.length - 1))] as number);
  console.log(
    `verify: up to ${VERIFICATION_DAYS_MAX} days at ${POINTS} fresh points, charges included: median ${median_ms?.toFixed(1)} ms, ` +
      `p90 ${p90_ms?.toFixed(1)} ms (goal: median under ${GOAL_MS} ms), ${events} events found`,
  );
}

/** A short season ends before ninety days do. */
function clipped<Body extends { readonly date_end: string }>(body: Body, last: string): Body {
  return body.date_end > last ? { ...body, date_end: last } : body;
}

/** Points spread evenly over the box, the same in every run. */
function pointsOf(count: number): Position[] {
  return Array.from({ length: count }, (_, index) => ({
    lat: BOX.south + (BOX.north - BOX.south) * (((index + 1) * 0.7548776662) % 1),
    lon: BOX.west + (BOX.east - BOX.west) * (((index + 1) * 0.569840291) % 1),
  }));
}
