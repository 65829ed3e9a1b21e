import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Caller } from '../../api/accounts/keyring.ts';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import type { Endpoint } from '../../api/endpoint.ts';
import { listOutlooks } from '../../api/routes/outlooks-spc.ts';
import { listWarnings } from '../../api/routes/warnings.ts';
import type { FeedFile } from '../../pipeline/feeds/define-feed.ts';
import { drawsOf } from '../../pipeline/simulate/random.ts';
import { MS_PER_MIN, timestamp } from '../../schemas/time.ts';
import { alertsFile, type Box, layerFile, type MadeWarning, publishFeeds, watchFile } from '../support/data/feeds.ts';
import { type RunningService, startService } from '../support/service/service.ts';

const GOAL_MS = 5;
const POINTS = 300;
const NOW_MS = Date.parse('2026-05-30T21:00:00Z');
/** A busy May: so many warnings, each with two updates, the last hundred of them in force. */
const EVENTS = 3000;
const MESSAGES_PER_EVENT = 3;
const WATCHES = 60;

/**
 * Answers of GET /v1/warnings and GET /v1/outlooks/spc at points that were never asked before, one after the other, without the
 * rules of a call that all endpoints share.
 */
export async function feeds(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'hail-bench-feeds-'));
  const draw = drawsOf(1);
  try {
    await publishFeeds(root, [alertsOf(draw), ...watchesOf(draw), ...outlooksOf(draw)], NOW_MS);
    const service = await startService({ endpoints: [], data_root: root, now_ms: NOW_MS });
    try {
      console.log(
        `feeds: ${EVENTS * MESSAGES_PER_EVENT} messages and ${WATCHES} watches of a month, outlooks of 8 days; ${POINTS} fresh points each`,
      );
      const circle = { radius_km: 50, active: true, days: 1 };
      for (const [endpoint, query] of [
        [listWarnings, circle],
        [listWarnings, { ...circle, radius_km: 200, active: false, days: 30 }],
        [listOutlooks, { day: 1, format: 'json' }],
        [listOutlooks, { day: 3, format: 'geojson' }],
      ] as const) {
        const { first, median, p95, cpu_ms } = await timings(service, endpoint, query, draw);
        console.log(
          `  ${endpoint.path} ${JSON.stringify(query)}: median ${median.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms (goal < ${GOAL_MS}), processor ${cpu_ms.toFixed(2)} ms each; the first ${first.toFixed(0)} ms`,
        );
      }
    } finally {
      await service.close();
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** The answer is the same for every caller. */
const NOBODY: Caller = {
  ...{ business_id: 'none', key_id: 'none', rate_bucket: 'none', kind: 'live', variant: 'current' },
  ...{ scopes: [], suspended: false, key_cap: null },
  plan: SELF_HOSTED,
};

type Draw = () => number;

async function timings(
  service: RunningService,
  endpoint: Endpoint,
  asked: Readonly<Record<string, unknown>>,
  draw: Draw,
) {
  if (endpoint.kind !== 'read' || endpoint.plan === null) throw new TypeError(`${endpoint.path} reads nothing`);
  const { services } = service;
  const times: number[] = [];
  let before = process.cpuUsage();
  for (let n = 0; n <= POINTS; n++) {
    const query = { ...asked, lat: 26 + 22 * draw(), lon: -120 + 50 * draw() };
    const started = performance.now();
    const input = { query, params: null, body: null, now_ms: NOW_MS, services, edition: services.catalog.edition() };
    const plan = endpoint.plan(input);
    JSON.stringify((await endpoint.answer({ ...input, plan, caller: NOBODY, request_id: 'req_none' })).body);
    times.push(performance.now() - started);
    if (n === 0) before = process.cpuUsage();
  }
  const { user, system } = process.cpuUsage(before);
  const [first = Number.NaN, ...others] = times;
  const sorted = others.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  return { first, median: at(0.5), p95: at(0.95), cpu_ms: (user + system) / 1000 / POINTS };
}

/** A box somewhere over the states. */
function somewhere(draw: Draw, width: number): Box {
  const [lon, lat] = [-118 + 45 * draw(), 27 + 20 * draw()];
  const hundredths = (degrees: number) => Math.round(degrees * 100) / 100;
  return [hundredths(lon), hundredths(lat), hundredths(lon + width), hundredths(lat + width)];
}

function alertsOf(draw: Draw): FeedFile {
  const made: MadeWarning[] = [];
  for (let event = 0; event < EVENTS; event++) {
    const begins_ms = NOW_MS - 15 * MS_PER_MIN - Math.max(0, EVENTS - 100 - event) * 14 * MS_PER_MIN;
    const box = somewhere(draw, 0.4);
    for (let message = 0; message < MESSAGES_PER_EVENT; message++)
      made.push({
        id: `urn:oid:${event}.${message}`,
        sent: timestamp(begins_ms + message * 5 * MS_PER_MIN),
        ends: timestamp(begins_ms + 45 * MS_PER_MIN),
        event_number: event,
        action: message === 0 ? 'NEW' : 'CON',
        box,
      });
  }
  return alertsFile(NOW_MS, ...made);
}

function watchesOf(draw: Draw): FeedFile[] {
  return Array.from({ length: WATCHES }, (_, index) => {
    const day = String(1 + Math.floor(index / 2)).padStart(2, '0');
    const received_ms = Date.parse(`2026-05-${day}T18:01:00Z`);
    return watchFile({ number: 100 + index, from: `${day}1800`, to: `${day}2350` }, somewhere(draw, 3), received_ms);
  });
}

/** Rings of 120 positions, as real contours have them. */
function contour(draw: Draw, radius_deg: number): number[][] {
  const [west, south] = somewhere(draw, 1);
  const ring = Array.from({ length: 120 }, (_, k) => {
    const angle = (k / 120) * 2 * Math.PI;
    return [west + radius_deg * Math.cos(angle), south + radius_deg * Math.sin(angle)];
  });
  return [...ring, ring[0] as number[]];
}

function outlooksOf(draw: Draw): FeedFile[] {
  const times = (day: number) => {
    const start = Date.parse('2026-05-30T12:00:00Z') + (day - 1) * 1440 * MS_PER_MIN;
    return { day, issue: '202605301200', valid: compact(start), expire: compact(start + 1440 * MS_PER_MIN) };
  };
  const layer = (day: number, word: string, labels: readonly string[]) =>
    layerFile({
      ...times(day),
      word,
      areas: labels.map((label, index) => [label, contour(draw, 12 - 2 * index)] as const),
      received_ms: NOW_MS,
    });
  return [
    ...[1, 2, 3].map((day) => layer(day, 'cat', ['TSTM', 'MRGL', 'SLGT', 'ENH'])),
    ...[1, 2].flatMap((day) => ['torn', 'hail', 'wind'].map((word) => layer(day, word, ['0.05', '0.15', '0.30']))),
    ...[3, 4, 5, 6, 7, 8].map((day) => layer(day, 'prob', ['0.15', '0.30'])),
  ];
}

function compact(time_ms: number): string {
  return timestamp(time_ms)
    .replaceAll(/[-T:Z]/g, '')
    .slice(0, 12);
}
