import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openCatalog } from '../../api/catalog.ts';
import { openEngine } from '../../api/duckdb.ts';
import { csvRows } from '../../api/portfolio/csv.ts';
import { openRoot } from '../../pipeline/publish/root.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import type { PortfolioImpacts } from '../../schemas/resources/portfolio-impact.ts';
import type { PortfolioLocations } from '../../schemas/resources/portfolio-location.ts';
import type { PortfolioUploaded } from '../../schemas/resources/portfolio-upload.ts';
import { dayMax } from '../../schemas/tables/radar.ts';
import { IMPACTS, LOCATIONS, sending } from '../support/service/portfolio.ts';
import { publishClimate } from './publish-climate.ts';

const ROWS = 10_000;
const RUNS = 5;
/** Long enough to bring an upload near its limit of 5 MB. */
const ADDRESS = '1600 Northwest Highway, Oklahoma City. '.repeat(9);
const SERVICE = fileURLToPath(new URL('portfolio-service.ts', import.meta.url));

interface Place {
  readonly name: string;
  readonly lat: number;
  readonly lon: number;
}

/**
 * 10,000 rows uploaded as JSON and CSV while somebody else keeps asking: time, longest hold-up of the event loop, slowest
 * answer to the other; and impacts for 10,000 locations on the biggest day. `--data DIR` takes a published root instead of a
 * week of simulated climate.
 */
export async function portfolio(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { data: { type: 'string' } } });
  const scratch = await mkdtemp(join(tmpdir(), 'hail-bench-portfolio-'));
  try {
    const data_root = values.data ?? (await weekOfClimate(join(scratch, 'data')));
    const { date, pixels } = await biggestDay(data_root);
    console.log(`portfolio: biggest day ${date}, ${pixels.length} pixels with a detection`);
    await measure(data_root, date, placesAmong(pixels));
    readAwkward();
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Texts near the limit of an upload on which a careless reader of CSV takes more than linear time. */
const AWKWARD: readonly (readonly [what: string, unit: string])[] = [
  ['quotes in a cell', '"'],
  ['lines of one quote', '"\n'],
  ['commas', ','],
  ['empty lines', '\n'],
];

function readAwkward(): void {
  const times = AWKWARD.map(([what, unit]) => {
    const text = `a${unit.repeat(5_000_000 / unit.length)}`;
    const started = performance.now();
    for (const row of csvRows(text)) row.cells?.at(0);
    return `${what} ${(performance.now() - started).toFixed(0)} ms`;
  });
  console.log(`  5 MB of awkward CSV: ${times.join(', ')} (goal: under 2000 ms each)`);
}

async function weekOfClimate(folder: string): Promise<string> {
  const now_ms = Date.parse('2026-01-01T00:00:00Z');
  const root = await openRoot(folder, 'bench', 0, now_ms);
  for await (const _ of publishClimate(
    root,
    { seed: 7, density: 1, first_date: '2025-05-18', dates: 7, storm_day_start_hour: 0 },
    now_ms,
  ));
  await root.close();
  return folder;
}

async function biggestDay(data_root: string) {
  const catalog = await openCatalog(data_root, 0);
  const engine = await openEngine(data_root);
  try {
    const edition = catalog.edition();
    const manifests = await Promise.all(edition.dates.map(edition.manifest));
    const rowsOf = (manifest: Manifest | null) =>
      (manifest?.files ?? []).filter(({ table }) => table === dayMax.name).reduce((sum, { rows }) => sum + rows, 0);
    const date = manifests.toSorted((a, b) => rowsOf(b) - rowsOf(a))[0]?.partition;
    if (date === undefined) throw new Error(`${data_root} has no published dates`);
    const sql = `SELECT DISTINCT lat, lon FROM read_parquet($1::VARCHAR[]) WHERE detection_scans > 0 ORDER BY lat, lon`;
    const pixels = await engine.rows<Omit<Place, 'name'>>(sql, [edition.paths(dayMax.name, [date])]);
    return { date, pixels };
  } finally {
    await catalog.close();
    await engine.close();
  }
}

/** Half of the places within a few kilometres of hail, half anywhere in CONUS. */
function placesAmong(pixels: readonly Omit<Place, 'name'>[]): Place[] {
  return Array.from({ length: ROWS }, (_, k) => {
    const name = `Warehouse ${k}, "north" gate`;
    const pixel = pixels[(k * 7919) % pixels.length];
    if (k % 2 === 1 || pixel === undefined)
      return { name, lat: 24 + ((k * 0.61803) % 26), lon: -125 + ((k * 0.7548) % 59) };
    const lat = pixel.lat + ((k % 41) - 20) / 500;
    const lon = pixel.lon + ((k % 37) - 18) / 500;
    return { name, lat: Math.min(50, Math.max(24, lat)), lon: Math.min(-66, Math.max(-125, lon)) };
  });
}

type Call = (path: string, init?: RequestInit) => Promise<string>;

/** The service in a process of its own. */
interface Service {
  readonly call: Call;
  /** Starts or ends a measurement of its event loop. */
  readonly ask: (message: 'measure' | 'report') => Promise<{ readonly longest_ms: number }>;
  readonly close: () => Promise<void>;
}

async function startProcess(data_root: string): Promise<Service> {
  const child = fork(SERVICE, [data_root]);
  const [{ url, key }] = (await once(child, 'message')) as [{ url: string; key: string }];
  return {
    call: async (path, init = {}) => {
      const headers = { ...Object.fromEntries(new Headers(init.headers)), Authorization: `Bearer ${key}` };
      const response = await fetch(url + path, { ...init, headers });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${path} answers ${response.status} ${text}`);
      return text;
    },
    ask: async (message) => {
      const answer = once(child, 'message');
      child.send(message);
      return (await answer)[0];
    },
    close: async () => {
      child.send('close');
      await once(child, 'exit');
    },
  };
}

async function measure(data_root: string, date: string, places: readonly Place[]): Promise<void> {
  const service = await startProcess(data_root);
  const rows = places.map((place) => ({ ...place, address: ADDRESS, tags: ['roof'] }));
  try {
    await measureUploads(service, 'json', rows);
    await deleteAll(service.call);
    await measureUploads(service, 'csv', `name,lat,lon,address,tags\n${rows.map(csvRow).join('')}`);
    await measureImpacts(service, date);
  } finally {
    await service.close();
  }
}

/** Leaves the locations of the last upload. */
async function measureUploads(service: Service, format: 'json' | 'csv', data: unknown): Promise<void> {
  const body = sending('POST', { format, data });
  const runs: Run[] = [];
  for (let run = 0; run < RUNS; run++) {
    await deleteAll(service.call);
    runs.push(
      await beside(service, async () => {
        const { accepted_count } = JSON.parse(await service.call(LOCATIONS, body)) as PortfolioUploaded;
        if (accepted_count !== ROWS) throw new Error(`${accepted_count} rows were accepted, expected ${ROWS}`);
      }),
    );
  }
  const megabytes = (Buffer.byteLength(body.body) / 1e6).toFixed(1);
  console.log(`portfolio: ${ROWS} rows of ${format}, ${megabytes} MB, uploaded in ${summary(runs)}`);
}

async function measureImpacts(service: Service, date: string): Promise<void> {
  const runs: Run[] = [];
  const answers: PortfolioImpacts[] = [];
  for (let run = 0; run < RUNS; run++)
    runs.push(
      await beside(service, async () => {
        answers.push(JSON.parse(await service.call(`${IMPACTS}?date=${date}&limit=500`)));
      }),
    );
  const [answer] = answers;
  console.log(
    `portfolio: impacts of ${date}, ${answer?.assets_checked} locations checked and ${answer?.impacted_count} hit, in ${summary(runs)}`,
  );
}

interface Run {
  readonly took_ms: number;
  readonly longest_ms: number;
  readonly slowest_other_ms: number;
}

/** Times a piece of work while somebody else asks for a page all the time. */
async function beside({ call, ask }: Service, work: () => Promise<unknown>): Promise<Run> {
  await ask('measure');
  let running = true;
  let slowest_other_ms = 0;
  const asking = (async () => {
    while (running) {
      const from_ms = performance.now();
      await call(`${LOCATIONS}?limit=1`);
      slowest_other_ms = Math.max(slowest_other_ms, performance.now() - from_ms);
    }
  })();
  const from_ms = performance.now();
  await work();
  const took_ms = performance.now() - from_ms;
  running = false;
  await asking;
  return { took_ms, slowest_other_ms, longest_ms: (await ask('report')).longest_ms };
}

async function deleteAll(call: Call): Promise<void> {
  for (;;) {
    const { locations } = JSON.parse(await call(`${LOCATIONS}?limit=200`)) as PortfolioLocations;
    if (locations.length === 0) return;
    await call(LOCATIONS, sending('DELETE', { ids: locations.map(({ id }) => id) }));
  }
}

function summary(runs: readonly Run[]): string {
  const [took, held, other] = [
    runs.map(({ took_ms }) => took_ms),
    runs.map(({ longest_ms }) => longest_ms),
    runs.map(({ slowest_other_ms }) => slowest_other_ms),
  ].map(bestAndMedian);
  return `${took} ms; event loop held up at most ${held} ms; slowest call beside it ${other} ms (best, median of ${runs.length})`;
}

function bestAndMedian(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return [sorted[0], sorted[sorted.length >> 1]].map((value) => (value ?? 0).toFixed(0)).join(', ');
}

function csvRow({ name, lat, lon, address, tags }: Place & { address: string; tags: readonly string[] }): string {
  return `"${name.replaceAll('"', '""')}",${lat},${lon},"${address}",${tags.join('|')}\n`;
}
