import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeExport } from '../../api/jobs/export.ts';
import { ENDPOINTS } from '../../api/routes/index.ts';
import { EXPORT_FORMATS, type ExportParams } from '../../schemas/resources/export-job.ts';
import { SCRATCH } from '../support/data/world.ts';
import { startService } from '../support/service/service.ts';

/** What the bench is told once the service listens. */
export interface Listening {
  readonly url: string;
  readonly key: string;
}

/** What the bench is told of each export of one round. */
export interface Exported {
  readonly format: string;
  readonly rows: number;
  readonly ms: number;
  readonly cpu_ms: number;
  /** Largest memory of the process so far. */
  readonly peak_mb: number;
}

const [data_root = '', now_ms = '', date_start = '', date_end = ''] = process.argv.slice(2);
const service = await startService({
  endpoints: ENDPOINTS,
  data_root,
  now_ms: Number(now_ms),
  app: { check_replies: 'sample' },
});
const folder = mkdtempSync(join(SCRATCH, 'hail-bench-export-'));
let files = 0;

async function exported(format: ExportParams['format']): Promise<Exported> {
  const params = { dataset: 'detections', date_start, date_end, bbox: null, state: null, format } as const;
  const path = join(folder, String(++files));
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  const { summary } = await writeExport(service.services.catalog, params, path, {
    signal: new AbortController().signal,
  });
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  rmSync(path);
  const peak_mb = process.resourceUsage().maxRSS / 1024;
  return { format, rows: summary.row_count, ms, cpu_ms: (user + system) / 1000, peak_mb };
}

/** Each format in turn, or so many at once. */
async function round(at_once: number | null): Promise<Exported[]> {
  if (at_once === null) {
    const made: Exported[] = [];
    for (const format of EXPORT_FORMATS) made.push(await exported(format));
    return made;
  }
  return Promise.all(
    Array.from({ length: at_once }, (_, k) => exported(EXPORT_FORMATS[k % 3] as ExportParams['format'])),
  );
}

process.on('message', async (message: { at_once: number | null } | 'stop') => {
  if (message !== 'stop') return void process.send?.(await round(message.at_once));
  rmSync(folder, { recursive: true, force: true });
  await service.close();
  process.exit(0);
});
process.send?.({ url: service.url, key: service.live_key } satisfies Listening);
