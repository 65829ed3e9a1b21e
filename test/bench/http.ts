import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ingest, midnight, type RawScan } from '../support/data/world.ts';
import { CONNECTIONS, type Load, load, type Question, startServers, type Target } from './load.ts';

const GOAL_200 = 0.45;
const GOAL_304 = 0.45;
const GOAL_P99_MS = 50;
const GOAL_STALL_MS = 50;

/**
 * hail/current with everything it does (key, rate, validation, tag, a charge that is on the disk before the answer leaves)
 * against a bare Koa with a router that returns the same bytes, in one run, by turns: the same question again and again, the
 * same with its tag, and a new point each time, which is what customers ask. `--seconds N` per measurement, `--path /v1/…` for
 * another question.
 */
export async function http(args: string[] = []): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '4' },
      path: { type: 'string', default: '/v1/hail/current?lat=35.2&lon=-97.1&radius_km=20' },
    },
  });
  const seconds = Number(values.seconds);
  const root = await mkdtemp(join(tmpdir(), 'hail-bench-http-'));
  const scans = await midnight();
  await ingest(root, scans);
  const minuteLater_ms = (scans.at(-1) as RawScan).time_ms + 60_000;
  const { ours, bare, bytes, tag, stop } = await startServers(root, minuteLater_ms, values.path);
  try {
    console.log(`http: ${values.path}, ${bytes} bytes, ${CONNECTIONS} connections`);
    const varied: Question = { ...SAME, varied: true };
    for (const target of [bare, ours]) for (const question of [SAME, varied]) await load(target, 1, question);
    const full = await compare(ours, bare, seconds, SAME);
    tell('200', full, GOAL_200);
    tell('304', await compare(ours, bare, seconds, { ...SAME, tag }), GOAL_304);
    tell('200, a new point each time', await compare(ours, bare, seconds, varied), null);
    const half = await load(ours, seconds, SAME, Math.round(full.ours.per_second / 2));
    console.log(
      `  at half of the peak rate: p99 ${half.p99_ms} ms (goal < ${GOAL_P99_MS}), longest stall ${half.longest_stall_ms.toFixed(1)} ms (goal < ${GOAL_STALL_MS})`,
    );
  } finally {
    await stop();
    await rm(root, { recursive: true, force: true });
  }
}

const SAME: Question = { tag: null, varied: false };

interface Compared {
  readonly ours: Load;
  readonly bare: Load;
}

/** The better of two turns each, by turns, so that what else the machine does hits both. */
async function compare(ours: Target, bare: Target, seconds: number, question: Question): Promise<Compared> {
  const rounds: Compared[] = [];
  for (let round = 0; round < 2; round++)
    rounds.push({ bare: await load(bare, seconds, question), ours: await load(ours, seconds, question) });
  const best = (of: (round: Compared) => Load) =>
    rounds.map(of).reduce((a, b) => (a.per_second >= b.per_second ? a : b));
  return { ours: best((round) => round.ours), bare: best((round) => round.bare) };
}

function tell(what: string, { ours, bare }: Compared, goal: number | null): void {
  const ratio = ours.per_second / bare.per_second;
  console.log(
    `  ${what}: ${Math.round(ours.per_second)}/s (p99 ${ours.p99_ms} ms), bare Koa ${Math.round(bare.per_second)}/s, ratio ${ratio.toFixed(2)}${goal === null ? '' : ` (goal ${goal})`}; processor ${ours.cpu_us_each.toFixed(0)} against ${bare.cpu_us_each.toFixed(0)} µs each`,
  );
}
