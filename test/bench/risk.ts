import { rm } from 'node:fs/promises';
import { getHailRisk } from '../../api/routes/hail-risk.ts';
import { cellOf, hailRisk as riskAt } from '../../api/rules/hail-risk.ts';
import { refreshClimatology } from '../../pipeline/forecast/derive-climatology.ts';
import { silent } from '../../pipeline/log.ts';
import { openRoot } from '../../pipeline/publish/root.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { startService } from '../support/service/service.ts';
import { simulatedSeason } from './season.ts';

const POINTS = 500;
/** Longest that a point lookup may take, ms. */
const GOAL_MS = 5;
const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const DATES_OF_TEN_YEARS = 3652;

/** The climatology of a simulated season, and GET /v1/hail/risk at points that were never asked before. */
export async function risk(): Promise<void> {
  const data_root = await simulatedSeason();
  try {
    await derive(data_root);
    const service = await startService({
      endpoints: [getHailRisk],
      data_root,
      now_ms: NOW_MS,
      app: { check_replies: 'sample' },
    });
    try {
      const table = service.services.climatology.table();
      if (table === null) throw new Error('no climatology is open, expected the one just derived');
      const lookups = await timings((point) => riskAt(point, table.cell(cellOf(point)), table.data_as_of));
      const calls = await timings(({ lat, lon }) => service.json(`/v1/hail/risk?lat=${lat}&lon=${lon}`));
      console.log(
        `risk: ${POINTS} fresh points, looked up in ${shown(lookups)} (goal: under ${GOAL_MS} ms); asked over HTTP, charges included, in ${shown(calls)}`,
      );
    } finally {
      await service.close();
    }
  } finally {
    await rm(data_root, { recursive: true, force: true });
  }
}

/** Times of the same points, one after the other, after one that nobody counts; ascending. */
async function timings(ask: (point: Position) => unknown): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n <= POINTS; n++) {
    const point = { lat: 28 + 18 * ((n * 0.7548776662) % 1), lon: -110 + 25 * ((n * 0.569840291) % 1) };
    const started = performance.now();
    await ask(point);
    if (n > 0) times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b);
}

function shown(times: readonly number[]): string {
  const [median, p99] = [0.5, 0.99].map((share) => times[Math.floor(share * (times.length - 1))]);
  return `${median.toFixed(3)} ms, p99 ${p99.toFixed(3)} ms`;
}

async function derive(data_root: string): Promise<void> {
  const root = await openRoot(data_root, 'bench', 0, NOW_MS);
  try {
    const report = await refreshClimatology(root, NOW_MS, silent);
    if (report === null) throw new Error('no climatology was due, expected one of a new root');
    const peak_mb = process.resourceUsage().maxRSS / 1024;
    console.log(
      `risk: climatology of ${report.storm_dates} dates in ${report.seconds} s, ${report.event_days} days with hail at a cell, ` +
        `at most ${peak_mb.toFixed(0)} MB; ten years are ${DATES_OF_TEN_YEARS} dates`,
    );
  } finally {
    await root.close();
  }
}
