import { rmSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../../api/catalog.ts';
import { openRecords } from '../../../api/records/open.ts';
import { rootMemory } from '../../../api/records/remembered-root.ts';
import { publish, scansBetween } from '../../support/data/world.ts';
import { type Operator, operator } from '../../support/service/run-command.ts';

/** Opens a catalog as the service does, and says why it has no edition; null when it has one. */
async function failureOf(t: ExecutionContext, { config }: Operator): Promise<string | null> {
  const records = await openRecords(config);
  const catalog = await openCatalog(
    config.data_root,
    0,
    rootMemory(records, config.now, (error) => t.fail(String(error))),
  );
  await catalog.refresh();
  await catalog.close();
  await records.close();
  return catalog.failure();
}

test.serial(
  'a data root whose data vanished is refused after a restart too, until it is to be forgotten',
  async (t) => {
    const it = operator(t);
    const { code, err } = await it.run('data', 'show');
    t.deepEqual([code, /no such file/.test(err)], [3, true]);
    await publish(it.config.data_root, await scansBetween('23:54', '00:02'));
    t.is(await failureOf(t, it), null);
    const shown = await it.json('data', 'show');
    t.deepEqual(Object.keys(shown.commits as object), ['2026-05-01', '2026-05-02']);
    t.regex((await it.run('data', 'show')).out, /^root_\w+ held 2 partitions on 2026-05-20T12:00:00.000Z\.\n$/);

    for (const name of ['manifests', 'current.json', 'root.json']) rmSync(it.path(name), { recursive: true });
    t.regex((await failureOf(t, it)) ?? '', /holds nothing, and held 2 partitions before/);
    t.regex((await failureOf(t, it)) ?? '', /holds nothing/, 'looking does not forget');

    t.deepEqual(await it.json('data', 'forget'), { forgotten: String(shown.root_id) });
    t.is(await failureOf(t, it), null);
    t.is((await it.run('data', 'forget')).code, 3);
    const { acts } = await it.json('business', 'audit');
    t.like((acts as object[]).at(-1), { act: 'data.forget', subject: shown.root_id });
  },
);
