import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { unequalAnswers } from './charges.ts';
import { andReady, type FaultRow, makeFault, nextScanPublished, type Scene } from './faults.ts';

/** Everything to and from a slow database takes so much longer, for so long. */
const SLOW = { delay_ms: 150, lasts_ms: 10_000 } as const;
/** The replica misses the commits of so much time. */
const BEHIND_MS = { short: 3_000, long: 6_000 } as const;
/** A commit may reach the replica so much later. */
const LAG_MS = 500;
/** An answer may have left before the end of the database and be read so much later. */
const ON_ITS_WAY_MS = 500;

/** Has PostgreSQL be slow, then fail over to a replica without the last commits. In short: only the latter. */
export async function* failDatabase(scene: Scene): AsyncGenerator<FaultRow> {
  const { cluster, short } = scene;
  const { database, databaseProxy } = cluster;
  const node = 'PostgreSQL';
  const behind_ms = BEHIND_MS[short ? 'short' : 'long'];
  if (!short) {
    yield await makeFault(scene, {
      node,
      how: `${SLOW.delay_ms} ms slower each way, ${SLOW.lasts_ms / 1000} s`,
      act: async () => {
        databaseProxy.delay_ms = SLOW.delay_ms;
        await sleep(SLOW.lasts_ms);
        databaseProxy.delay_ms = 0;
      },
      whole: 'afterwards',
      isWhole: andReady(scene, nextScanPublished(scene)),
    });
  }
  yield await makeFault(scene, {
    node,
    how: `fails over without the last ${behind_ms / 1000} s`,
    act: async (begins) => {
      database.cutOff();
      const from_ms = performance.now() - LAG_MS;
      await sleep(behind_ms);
      begins();
      database.failOver();
      const until_ms = performance.now() + ON_ITS_WAY_MS;
      await sleep(ON_ITS_WAY_MS);
      await noteGone(scene, from_ms, until_ms);
    },
    whole: 'afterwards',
    isWhole: andReady(scene, nextScanPublished(scene)),
  });
}

/** Notes the answers and exports of a span of time that the database does not know: they went with the one that failed. */
async function noteGone(
  { cluster: { database_url }, load: { told }, charges_before }: Scene,
  from_ms: number,
  until_ms: number,
): Promise<void> {
  const isOfThen = ({ at_ms }: { readonly at_ms: number }) => at_ms >= from_ms && at_ms <= until_ms;
  const { lost } = await unequalAnswers(database_url, charges_before, told.answers.filter(isOfThen));
  for (const { request_id } of lost) told.gone.add(request_id);
  const database = new pg.Client(database_url);
  await database.connect();
  const { rows } = await database.query<{ id: string }>('select id from jobs');
  await database.end();
  const known = new Set(rows.map(({ id }) => id));
  for (const { job_id } of told.exports.filter(isOfThen)) if (!known.has(job_id)) told.gone.add(job_id);
}
