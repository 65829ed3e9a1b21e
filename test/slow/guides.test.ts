import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { DuckDBInstance } from '@duckdb/node-api';
import test, { type ExecutionContext } from 'ava';
import { EXAMPLE_URL } from '../../api/docs/pages.ts';
import { codeBlocks, PROJECT, readDocument } from '../support/data/markdown.ts';
import { pythonTest, runProgram } from '../support/data/python.ts';
import { copyOf } from '../support/data/world.ts';
import { startReceiver } from '../support/service/receiver.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../support/service/whole-service.ts';

/** A shell block of a guide with the sample answer printed below it. */
interface GuideStep {
  readonly code: string;
  /** JSON of the block that follows; null where none follows. */
  readonly sample: string | null;
}

/** Key that the guides write in place of a real one. */
const EXAMPLE_KEY = 'hs_live_…';
/** How the guides ask for the time. */
const CLOCK = "jq -rn 'now";
const STEP = /^```sh\n([\s\S]*?)^```$(?:\n\n```json\n([\s\S]*?)^```$)?/gm;
const END_OF_STEP = '\u001e';

/** Shell blocks of a guide that call the service or define what such blocks use, in order. */
function guideSteps(text: string): GuideStep[] {
  return [...text.matchAll(STEP)]
    .map(([, code = '', sample = null]) => ({ code, sample }))
    .filter(({ code }) => !/^# verify-|^(npm run|make|curl -X) /m.test(code));
}

/** What one run of the steps is given. */
interface GuideRun {
  /** Ends in `/v1`. */
  readonly url: string;
  readonly key: string;
  /** Folder in which the commands write their files. */
  readonly folder: string;
  /** The data clock of the service, in place of that of the machine. */
  readonly now_ms: number;
  /** Texts of the guide that stand for something of the reader's, with what this reader has. */
  readonly own?: Readonly<Record<string, string>>;
}

/**
 * Runs the steps in one bash, as a reader would who pastes them in order, and returns what each printed. Throws with the
 * complaint of the first that fails.
 */
async function runGuide(
  steps: readonly GuideStep[],
  { url, key, folder, now_ms, own = {} }: GuideRun,
): Promise<string[]> {
  const replaced = { [EXAMPLE_URL]: url, [EXAMPLE_KEY]: key, [CLOCK]: `jq -rn '${now_ms / 1000}`, ...own };
  const script = [
    'set -euo pipefail',
    ...steps.map(({ code }) => {
      const own_text = Object.entries(replaced).reduce((so_far, [from, to]) => so_far.replaceAll(from, to), code);
      return `${own_text}\nprintf '${END_OF_STEP}'`;
    }),
  ].join('\n');
  const child = spawn('bash', ['-c', script], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const printed = stdout.split(END_OF_STEP);
  if (status !== 0)
    throw new Error(`step ${printed.length} of the guide ended with ${status}: ${printed.at(-1)} ${stderr}`);
  return printed.slice(0, -1);
}

const guide = (name: string) => readDocument(`api/docs/${name}.md`);

function scratchFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hail-guide-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The real service over the world around midnight, which may send to a receiver on this machine. */
async function serve(t: ExecutionContext): Promise<ServeChild & { readonly own: Readonly<Record<string, string>> }> {
  const receiver = await startReceiver(t);
  const service = await startServe(await copyOf(t, await wholeRoot()), WHOLE_NOW_MS, 'error', {
    HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
    HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
  });
  t.teardown(() => service.end('SIGKILL'));
  return { ...service, own: { 'https://hooks.example.com/hail': receiver.url } };
}

/** What a step printed, with its last line break. */
type Printed = readonly string[];

function runShell(
  name: string,
  { url, keys, own }: Awaited<ReturnType<typeof serve>>,
  folder: string,
): Promise<Printed> {
  return runGuide(guideSteps(guide(name)), {
    url: `${url}/v1`,
    key: keys?.live ?? '',
    folder,
    now_ms: WHOLE_NOW_MS,
    own,
  });
}

/** Names of the members of a value, however deep; `[]` for the members of a list. */
function shapeOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : shapeOf(value[0], `${path}[]`);
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, member]) => shapeOf(member, `${path}.${name}`));
}

/** What each guide prints where no sample of JSON follows, by its step. */
const SHELL_GUIDES = {
  quickstart: {},
  'follow-a-storm': {},
  'verify-a-date': { 6: '%PDF-', 7: 'the same finding\n' },
  'credits-and-pages': {
    1: 'X-Credits-Charged: 5\r\n',
    4: '304\n',
    6: 'Depot\nFarm\nYard\n',
    7: '0\n1\nthe same bytes\n',
  },
  'receive-events': {},
  tiles: {},
  'earlier-variant': {},
} as const satisfies Record<string, Readonly<Record<number, string>>>;

for (const [name, expected] of Object.entries(SHELL_GUIDES))
  test.serial(`the commands of ${name} run as printed, and answer in the shape that the guide shows`, async (t) => {
    const printed = await runShell(name, await serve(t), scratchFolder(t));
    const steps = guideSteps(guide(name));
    t.true(steps.length > 2 && steps.some(({ sample }) => sample !== null));
    for (const [k, { code, sample }] of steps.entries())
      if (sample !== null) t.deepEqual(shapeOf(JSON.parse(printed[k] ?? '')), shapeOf(JSON.parse(sample)), code);
    for (const [k, words] of Object.entries(expected)) t.is(printed[Number(k)], words);
  });

/** Writes the block of a guide whose first comment names a file. */
function writeProgram(folder: string, name: string, language: string, file: string): void {
  const code = codeBlocks(guide(name), language).find((block) => block.split('\n')[0]?.includes(file));
  if (code === undefined) throw new Error(`no ${language} block of ${name} names ${file}`);
  writeFileSync(join(folder, file), code);
}

test.serial('the TypeScript of the quickstart and of following a storm prints what the service knows', async (t) => {
  const service = await serve(t);
  const folder = scratchFolder(t);
  const env = { HAIL_URL: `${service.url}/v1`, HAIL_KEY: service.keys?.live ?? '' };
  writeProgram(folder, 'quickstart', 'ts', 'current.ts');
  t.regex(await runProgram(process.execPath, ['current.ts'], { cwd: folder, env }), /^hail up to \d+(\.\d)? mm\n$/);
  await runShell('follow-a-storm', service, folder);
  const { track_id, date } = JSON.parse(readFileSync(join(folder, 'storm.json'), 'utf8'));
  writeProgram(folder, 'follow-a-storm', 'ts', 'follow.ts');
  const followed = await runProgram(process.execPath, ['follow.ts', track_id, date, '2', '0'], { cwd: folder, env });
  t.regex(followed, /^2026-05-02T00:11:08Z: [\d.]+ mm at [\d.]+, -[\d.]+, \w+\nno new scan\n$/);
  await t.throwsAsync(runProgram(process.execPath, ['follow.ts', 'nothing', date], { cwd: folder, env }));
});

pythonTest('the Python of the quickstart prints what the service knows, or why it was refused', ['sys'], async (t) => {
  const service = await serve(t);
  const folder = scratchFolder(t);
  const env = { HAIL_URL: `${service.url}/v1`, HAIL_KEY: service.keys?.live ?? '' };
  writeProgram(folder, 'quickstart', 'python', 'current.py');
  t.regex(await runProgram('python3', ['current.py'], { cwd: folder, env }), /^hail up to \d+(\.\d)? mm\n$/);
  const refused = runProgram('python3', ['current.py'], { cwd: folder, env: { ...env, HAIL_KEY: 'hs_live_wrong' } });
  await t.throwsAsync(refused, { message: /unauthorized: .+ \(req_\w+\)/ });
});

let exported: Promise<string> | undefined;
/** A folder with the three files that the guide of exports downloads. */
function exportedFiles(t: ExecutionContext): Promise<string> {
  exported ??= serve(t).then(async (service) => {
    const folder = mkdtempSync(join(tmpdir(), 'hail-exported-'));
    const printed = await runShell('exports', service, folder);
    const { sample } = guideSteps(guide('exports')).at(-1) ?? {};
    t.deepEqual(shapeOf(JSON.parse(printed.at(-1) ?? '')), shapeOf(JSON.parse(sample ?? '')));
    return folder;
  });
  return exported;
}
test.after.always('the downloaded files are deleted', async () => {
  if (exported !== undefined) rmSync(await exported, { recursive: true });
});

test.serial(
  'the commands of exports download three files, which DuckDB and hyparquet read as the guide shows',
  async (t) => {
    const folder = await exportedFiles(t);
    t.is(readFileSync(join(folder, 'detections.parquet')).subarray(0, 4).toString(), 'PAR1');
    t.true(readFileSync(join(folder, 'reports.csv'), 'utf8').split('\n')[0]?.includes('time'));
    const sql = codeBlocks(guide('files'), 'sql').find((block) => block.includes('detections.parquet')) ?? '';
    const connection = await (await DuckDBInstance.create()).connect();
    const rows = (
      await connection.runAndReadAll(sql.replace("'detections.parquet'", `'${join(folder, 'detections.parquet')}'`))
    ).getRowObjectsJson();
    t.is(rows.length, 5);
    t.true(rows.every(({ max_mm, detections }) => Number(max_mm) >= 25 && Number(detections) > 0));

    writeProgram(folder, 'files', 'js', 'read.js');
    const code = readFileSync(join(folder, 'read.js'), 'utf8');
    writeFileSync(
      join(folder, 'read.mjs'),
      code.replace("'hyparquet'", `'${PROJECT}node_modules/hyparquet/src/node.js'`),
    );
    const said = await runProgram(process.execPath, ['read.mjs'], { cwd: folder });
    t.is(Number(/largest ([\d.]+) mm/.exec(said)?.[1]), Number(rows[0]?.max_mm));
  },
);

pythonTest('the pandas of the guide reads the downloaded files', ['pandas', 'pyarrow'], async (t) => {
  const folder = await exportedFiles(t);
  writeProgram(folder, 'files', 'python', 'read.py');
  const said = await runProgram('python3', ['read.py'], { cwd: folder });
  t.regex(said, /^\d+ detections\nlargest [\d.]+ mm at 2026-05-02 [\d:.+]+\n\d+ reports from the ground\n$/);
});

pythonTest('the GeoPandas of the guide reads the downloaded files as maps', ['geopandas', 'pyarrow'], async (t) => {
  const folder = await exportedFiles(t);
  writeProgram(folder, 'files', 'python', 'areas.py');
  const said = await runProgram('python3', ['areas.py'], { cwd: folder });
  t.regex(said, /threshold_mm +hull_km2 +max_size_mm\n(?: +[\d.]+ +[\d.]+ +[\d.]+\n)+/);
  t.regex(said, /\n(?:EPSG:4326|OGC:CRS84) \[/);
});
