import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { openRecords } from '../../../api/records/open.ts';
import { upsertLocations } from '../../../api/records/portfolio.ts';
import { verifyLedger } from '../../../api/records/verify.ts';
import { operator } from '../../support/service/run-command.ts';

test.serial('a backup taken while charges are written restores into an empty root with sums that agree', async (t) => {
  const source = operator(t);
  await source.json('business', 'create', 'acme');
  const { id: key_id, business_id, key } = await source.json('key', 'create', 'acme', '--live');
  const records = await openRecords(source.config);
  const business = String(business_id);
  await records.transaction((rows) =>
    upsertLocations(
      { rows, business_id: business, now_ms: source.config.now_ms },
      Array.from({ length: 1500 }, (_, k) => ({
        id: null,
        name: `p${k}`,
        lat: 35,
        lon: -97,
        address: null,
        tags: ['é'],
      })),
      10_000,
    ),
  );
  let charging = true;
  const charge = {
    business_id: business,
    key_id: String(key_id),
    operation: 'x',
    credits: 3,
    count: 1,
    at_ms: source.config.now_ms,
  };
  const load = (async () => {
    while (charging) await Promise.all(Array.from({ length: 20 }, () => records.charge(charge)));
  })();
  const { rows } = await source.json('backup', 'create', source.path('backup.gz'));
  charging = false;
  await load;
  await records.close();
  t.is(statSync(source.path('backup.gz')).mode & 0o777, 0o600);
  t.false(gunzipSync(readFileSync(source.path('backup.gz'))).includes(String(key).slice(16)));

  const target = operator(t);
  const restored = await target.json('backup', 'restore', source.path('backup.gz'));
  t.is(restored.rows, rows);
  const copy = await openRecords(target.config);
  t.deepEqual((await verifyLedger(copy.reader)).faults, []);
  t.is((await copy.authenticate(String(key), target.config.now_ms))?.key_id, String(key_id));
  t.is((await copy.reader.selectFrom('portfolio_locations').selectAll().execute()).length, 1500);
  t.is(await copy.charge(charge), 'charged');
  await copy.close();
  t.is((await target.run('backup', 'restore', source.path('backup.gz'))).code, 4);
});

test.serial('a backup that is cut short, changed or something else restores nothing', async (t) => {
  const source = operator(t);
  await source.json('business', 'create', 'acme');
  await source.json('backup', 'create', source.path('good.gz'));
  const text = gunzipSync(readFileSync(source.path('good.gz'))).toString();
  const lines = text.trimEnd().split('\n');
  const cases: Record<string, Buffer> = {
    'without its end': gzipSync(lines.slice(0, -1).join('\n')),
    'with a row less': gzipSync(lines.toSpliced(1, 1).join('\n')),
    'of a newer version': gzipSync(text.replace('001-', '999-')),
    'of another kind': gzipSync('{"hello":1}\n'),
    'not packed': Buffer.from(text),
    empty: Buffer.alloc(0),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    writeFileSync(source.path('bad.gz'), bytes);
    const target = operator(t);
    t.is((await target.run('backup', 'restore', source.path('bad.gz'))).code, 1, name);
    t.deepEqual(await target.json('business', 'list'), { businesses: [] }, name);
  }
  truncateSync(source.path('good.gz'), 100);
  t.is((await operator(t).run('backup', 'restore', source.path('good.gz'))).code, 1);
  t.is((await source.run('backup', 'create', source.path('good.gz'))).code, 4);
  t.is((await source.run('backup', 'restore', source.path('none.gz'))).code, 3);
});
