import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pollFeed, publishPoll } from '../../../pipeline/feeds/schedule.ts';
import { openLog } from '../../../pipeline/log.ts';
import { modelKeys } from '../../../pipeline/model-runs/model-bucket.ts';
import { modelFeed } from '../../../pipeline/model-runs/model-feed.ts';
import { openRoot } from '../../../pipeline/publish/root.ts';
import { modelGridOf, simulatedModelFile } from '../../../pipeline/simulate/model-grid.ts';
import { type Interception, startModelServer } from '../../support/data/bucket-of-runs.ts';
import { EVENING_MS, SMALL } from '../../support/data/small-evening.ts';

const NOW = EVENING_MS + 70 * 60_000;
const GRID = modelGridOf(SMALL);
/** The first two hours of a run. */
const FILES = new Map(
  [1, 2].flatMap((lead_h) => {
    const { path, bytes, index } = simulatedModelFile(SMALL, GRID, EVENING_MS, lead_h);
    return [[path, bytes] as const, [`${path}.idx`, Buffer.from(index)] as const];
  }),
);

async function pollAndPublish(t: ExecutionContext, intercept: Interception) {
  const server = await startModelServer(FILES, intercept);
  const path = mkdtempSync(join(tmpdir(), 'hail-model-feed-'));
  const root = await openRoot(path, 'test', 0, NOW);
  t.teardown(async () => {
    await server.close();
    await root.close();
    rmSync(path, { recursive: true });
  });
  const log = openLog('silent', false);
  return publishPoll(root, await pollFeed(modelFeed('hrrr', server.access, path, log), NOW), log);
}

const [FIRST = ''] = modelKeys({ model: 'hrrr', run_time: EVENING_MS, lead_h: 1 });
const [SECOND = ''] = modelKeys({ model: 'hrrr', run_time: EVENING_MS, lead_h: 2 });

test('hours that came are published although the server fails at the next one, which is told', async (t) => {
  const { failure, changed } = await pollAndPublish(t, ({ path }, response) => {
    if (path !== `${SECOND}.idx`) return false;
    response.writeHead(503).end();
    return true;
  });
  t.deepEqual(changed, ['forecast']);
  t.regex(failure ?? '', /server answers 503/);
});

test('an hour whose index is an error page costs itself only, and is told', async (t) => {
  const { failure, changed } = await pollAndPublish(t, ({ path }, response) => {
    if (path !== `${FIRST}.idx`) return false;
    response.writeHead(200).end('<html>Service Unavailable</html>\n');
    return true;
  });
  t.deepEqual(changed, ['forecast']);
  t.regex(failure ?? '', /line 1 is '<html>/);
});
