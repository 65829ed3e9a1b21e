import { readdirSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('../', import.meta.url));
const require = createRequire(import.meta.url);

/**
 * Files whose tests run in one process, by how their paths below `test/` begin. Starting a process and reading the
 * program costs up to two seconds of work, more than the tests of most files; a group pays that once. Each file can
 * still be run alone. Hooks around each test (`beforeEach`) would reach all files of a group: `testWith` does not.
 * The runner takes files in the order of their names: those of the last letters are short, so that no core waits at the end.
 */
const GROUPS = {
  rules: [
    ...['api/http/entity-', 'api/http/head.', 'api/http/json.', 'api/http/negotiate.'],
    ...['api/push/address.', 'api/push/arrival.', 'api/push/match.', 'api/push/sign.', 'api/rules/', 'api/pdf/'],
  ],
  contract: ['contract/a', 'contract/c', 'contract/e', 'contract/f', 'contract/i', 'contract/m'],
  'contract-places': [
    ...['contract/delete-areas', 'contract/get-areas', 'contract/patch-areas', 'contract/post-areas'],
    ...['contract/delete-portfolio', 'contract/get-portfolio', 'contract/post-portfolio'],
  ],
  'contract-data': [
    ...['contract/data', 'contract/get-c', 'contract/get-e', 'contract/get-hail'],
    ...['contract/post-hail', 'contract/post-verify'],
  ],
  'contract-pushes': [
    ...['contract/delete-alerts', 'contract/get-alerts', 'contract/patch-alerts', 'contract/post-alerts'],
    ...['contract/delete-webhooks', 'contract/get-webhooks', 'contract/post-webhooks', 'contract/put-webhooks'],
  ],
  'contract-service': ['contract/'],
  commands: ['api/commands/'],
  push: ['api/push/'],
  queue: ['api/queue/'],
  records: ['api/jobs/', 'records/'],
  queries: ['api/queries/', 'api/catalog.', 'api/http/', 'api/live.', 'api/middleware/'],
  api: ['api/'],
  ingest: ['pipeline/scans/', 'pipeline/run/r', 'pipeline/run/score'],
  feeds: ['pipeline/feeds/', 'pipeline/model-runs/', 'pipeline/climatology/', 'pipeline/run/'],
  publish: ['pipeline/publish/'],
  sources: [
    ...['pipeline/sources/', 'pipeline/forecast/', 'pipeline/commands/'],
    ...['pipeline/config.', 'pipeline/files.', 'pipeline/log.'],
  ],
  documents: ['readme.', 'data-readme.'],
  read: ['pipeline/read/'],
  schemas: ['bench/', 'house.', 'schemas/', 'science.'],
  computing: ['pipeline/d', 'pipeline/p', 'pipeline/simulate/', 'pipeline/swath/', 'pipeline/t'],
} as const satisfies Record<string, readonly string[]>;

/** Files that keep a process to themselves: they fill the machine, or go by clocks that nobody may hold up meanwhile. */
const ALONE = [
  'api/duckdb.',
  'api/http/connections.',
  'api/push/watch.',
  'api/queries/draw-swath.',
  'contract/get-hail-forecast.',
  'contract/get-hail-outlook.',
  'contract/overload.',
  'pipeline/feeds/schedule.',
];

/** Where each test file runs that is not slow: with its group, the first that claims it, or alone. */
function groupOf(file: string): string | null {
  const claims = (beginnings: readonly string[]) => beginnings.some((beginning) => file.startsWith(beginning));
  if (claims(ALONE)) return null;
  return Object.entries(GROUPS).find(([, beginnings]) => claims(beginnings))?.[0] ?? null;
}

function quickTestFiles(): string[] {
  return readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.startsWith('slow/'))
    .sort();
}

/** Declares all tests of a group, at once as the runner asks for: it starts as soon as its file has been read. */
export function declareGroup(group: keyof typeof GROUPS): void {
  for (const file of quickTestFiles().filter((name) => groupOf(name) === group))
    try {
      require(`${TESTS}${file}`);
    } catch (error) {
      // The runner ends the process before it has told why.
      writeSync(process.stderr.fd, `${file}: ${error}\n`);
      throw error;
    }
}

/** What runs every quick test once: the files of the groups, and those that run alone. */
export function quickSuite(): string[] {
  const groups = Object.keys(GROUPS).map((group) => `test/together/${group}.ts`);
  const alone = quickTestFiles().filter((file) => groupOf(file) === null);
  return [...groups, ...alone.map((file) => `test/${file}`)];
}
