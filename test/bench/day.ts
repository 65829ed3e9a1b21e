import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readerThreads } from '../../pipeline/commands/arguments.ts';
import { silent } from '../../pipeline/log.ts';
import { openRoot } from '../../pipeline/publish/open-root.ts';
import { startReadPool } from '../../pipeline/scans/read.ts';
import { openSession } from '../../pipeline/scans/session.ts';
import { writeScans } from '../../pipeline/simulate/evening.ts';
import { climateScenario } from '../../pipeline/simulate/weather.ts';
import { listFolder } from '../../pipeline/sources/folder.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { SESSION } from './peers.ts';

const START = Date.parse('2025-05-20T00:00:00Z');
const SCAN_MS = 120_000;

/**
 * Simulated full-CONUS scans of an outbreak day, MESH alone: scans per second, peak memory, and the cost of the last scans
 * against the first. `--scans 720` is a whole day; `--each` publishes scan by scan as a stream does.
 */
export async function day(args: readonly string[]): Promise<void> {
  const scans = Number(args[args.indexOf('--scans') + 1] ?? '') || 60;
  const each_scan = args.includes('--each');
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-day-'));
  const readers = startReadPool(readerThreads());
  try {
    const written = performance.now();
    const raw = join(folder, 'raw');
    const span = { from_ms: START, to_ms: START + scans * SCAN_MS, out: raw, products: ['MESH'] as const };
    const outbreak = { ...climateScenario(11, WSR88D), day_type: 'outbreak' } as const;
    for await (const _ of writeScans(outbreak, span));
    console.log(`day: ${scans} scans simulated in ${seconds(written)} s`);
    const root = await openRoot(join(folder, 'data'), 'bench', 0, START);
    const marks: number[] = [];
    let peak = 0;
    const log = {
      ...silent,
      progress: () => {
        marks.push(performance.now());
        peak = Math.max(peak, process.memoryUsage.rss());
      },
    };
    const now = () => START + 30 * 3_600_000;
    const session = openSession(root, readers, { ...SESSION, now, log, each_scan });
    const started = performance.now();
    const run = await session.ingest((await listFolder(raw)).files);
    const ingested = seconds(started);
    await session.finishDates();
    const total = seconds(started);
    await root.close();
    const tenth = Math.max(1, Math.floor(marks.length / 10));
    const perScan = (part: readonly number[]) => ((part.at(-1) as number) - part[0]) / (part.length - 1);
    console.log(
      `day: ${run.scans} full-CONUS scans, ${run.detections} detections in ${ingested} s = ${(run.scans / Number(ingested)).toFixed(1)} scans/s` +
        `${each_scan ? ' scan by scan' : ' hour by hour'}; with the day closed ${total} s; peak memory ${(peak / 2 ** 30).toFixed(2)} GB`,
    );
    console.log(
      `  ms per scan: first tenth ${perScan(marks.slice(0, tenth + 1)).toFixed(0)}, last tenth ${perScan(marks.slice(-tenth - 1)).toFixed(0)}`,
    );
  } finally {
    await readers.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1);
}
