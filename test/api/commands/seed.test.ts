import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { areaOf } from '../../../api/records/areas.ts';
import { openRecords } from '../../../api/records/open.ts';
import { readSunset } from '../../../api/records/sunset.ts';
import { operator } from '../../support/service/run-command.ts';

const SEED = `
plans:
  pro: { monthly_limit: 100000, overage_policy: block, features: [exports], quotas: { locations: 20000 } }
businesses:
  - name: acme
    plan: pro
    members: [{ email: ops@example.com, role: admin }]
    keys:
      - { name: dashboard, kind: live, scopes: ['hail:read', 'portfolio:*'] }
      - { name: ci, kind: test }
  - name: late
    suspended: true
`;

test.serial('a seed makes what it names, and a second time changes nothing and says so', async (t) => {
  const { json, run, path, config } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  const first = await json('seed', 'apply', path('seed.yaml'));
  t.deepEqual(first.changes, [
    'acme: made, on plan pro',
    'acme: ops@example.com is admin',
    'acme: made live key dashboard',
    'acme: made test key ci',
    'late: made, on plan self-hosted',
    'late: is suspended',
  ]);
  const keys = first.keys as { name: string; key: string }[];
  const records = await openRecords(config);
  const caller = await records.authenticate(keys[0]?.key ?? '', config.now_ms);
  t.like(caller, { kind: 'live', scopes: ['hail:read', 'portfolio:*'] });
  t.like(caller?.plan, { name: 'pro', monthly_limit: 100_000, overage_policy: 'block', features: ['exports'] });
  t.deepEqual([caller?.plan.quotas.locations, caller?.plan.quotas.webhooks], [20_000, 10]);
  await records.close();

  t.like(await json('seed', 'apply', path('seed.yaml')), { changes: [], keys: [] });
  t.is((await run('seed', 'apply', path('seed.yaml'))).out, 'Nothing to change: everything is as the file says.\n');
  const { acts } = await json('business', 'audit');
  t.is((acts as unknown[]).length, 6);
});

test.serial('what the file says differently is changed, what it does not name is left alone', async (t) => {
  const { json, path } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  await json('seed', 'apply', path('seed.yaml'));
  await json('member', 'add', 'acme', 'bo@example.com');
  await json('plan', 'set', 'acme', '--limit', '5');
  const changed = SEED.replace("'portfolio:*'", "'storms:read'").replace('suspended: true', 'suspended: false');
  writeFileSync(path('seed.yaml'), changed);
  t.deepEqual((await json('seed', 'apply', path('seed.yaml'))).changes, [
    'acme: plan is pro',
    'acme: changed live key dashboard',
    'late: is active',
  ]);
  const { members } = await json('member', 'list', 'acme');
  t.is((members as unknown[]).length, 2);
});

test.serial('a seed sets the caps of keys that name one, and leaves those of others alone', async (t) => {
  const { json, path } = operator(t);
  const withCap = (cap: string) => SEED.replace("'portfolio:*'] }", `'portfolio:*']${cap} }`);
  const caps = async () => (await json('key', 'list', 'acme')).keys;
  const apply = async (seed: string) => {
    writeFileSync(path('seed.yaml'), seed);
    return (await json('seed', 'apply', path('seed.yaml'))).changes;
  };
  await apply(withCap(', monthly_cap: 20000'));
  t.like(await caps(), [{ monthly_cap: 20_000 }, { monthly_cap: null }]);
  t.deepEqual(await apply(withCap(', monthly_cap: 20000')), []);
  t.deepEqual(await apply(SEED), []);
  t.deepEqual(await apply(withCap(', monthly_cap: null')), ['acme: changed live key dashboard']);
  t.like(await caps(), [{ monthly_cap: null }, { monthly_cap: null }]);
});

test.serial('a dry run says what it would do and does nothing', async (t) => {
  const { json, run, path } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  const { code, out } = await run('seed', 'apply', path('seed.yaml'), '--dry-run');
  t.is(code, 0);
  t.regex(out, /Would make 6 changes\.\n$/);
  t.false(out.includes('hs_'));
  t.deepEqual(await json('business', 'list'), { businesses: [] });
});

test.serial('with --secrets the keys go to a file that its owner alone reads, and are not printed', async (t) => {
  const { run, path } = operator(t);
  writeFileSync(path('seed.yaml'), SEED);
  const { out } = await run('seed', 'apply', path('seed.yaml'), '--secrets', path('keys.json'));
  t.false(out.includes('hs_'));
  t.is(statSync(path('keys.json')).mode & 0o777, 0o600);
  const { keys } = JSON.parse(readFileSync(path('keys.json'), 'utf8'));
  t.regex(keys[0].key, /^hs_live_/);
  t.is((await run('seed', 'apply', path('seed.yaml'), '--secrets', path('keys.json'))).code, 4);
});

test.serial('a file with a mistake is refused whole, and the mistake is named', async (t) => {
  const { run, path } = operator(t);
  for (const [text, reason] of [
    ['businesses: [{ name: acme, plan: gold }]', "'gold' is no plan of this file"],
    ['businesses: [{ name: acme }, { name: acme }]', "'acme' is there twice"],
    ['businesses: [{ name: acme, colour: red }]', 'colour'],
    ['plans: { pro: { monthly_limit: -1 } }', 'plans.pro.monthly_limit'],
    ["businesses: [{ name: a, keys: [{ name: k, kind: live, scopes: ['x:read'] }] }]", 'expected a scope'],
    ['businesses: [', 'seed'],
  ] as const) {
    writeFileSync(path('seed.yaml'), text);
    const { code, err } = await run('seed', 'apply', path('seed.yaml'));
    t.is(code, 2, text);
    t.true(err.includes(reason), err);
  }
  t.false(existsSync(path('records/hail.sqlite')));
  t.is((await run('seed', 'apply', path('none.yaml'))).code, 3);
});

const AREAS = `
businesses:
  - name: acme
    areas:
      - name: yard
        geometry: { type: Polygon, coordinates: [[[-97, 35], [-96, 35], [-96, 36], [-97, 36], [-97, 35]]] }
        description: Where the cars stand.
        tags: [cars, north]
        priority: high
        real_time: true
        purpose: both
      - { name: mast, geometry: { type: Point, coordinates: [-97.5, 35.5] }, group_id: masts }
`;

/** Areas that the records hold, by name. */
async function areasIn(config: Parameters<typeof openRecords>[0]) {
  const records = await openRecords(config);
  const areas = (await records.reader.selectFrom('areas').selectAll().orderBy('name').execute()).map(areaOf);
  await records.close();
  return areas;
}

test.serial(
  'areas of a seed are made with what the operator says of them, and a second time changes nothing',
  async (t) => {
    const { json, path, config } = operator(t);
    writeFileSync(path('seed.yaml'), AREAS);
    t.deepEqual((await json('seed', 'apply', path('seed.yaml'))).changes, [
      'acme: made, on plan self-hosted',
      'acme: made polygon area yard',
      'acme: made point area mast',
    ]);
    const made = await areasIn(config);
    t.like(made[0], { kind: 'point', name: 'mast', group_id: 'masts', priority: 'normal', tags: [], version: 1 });
    t.like(made[1], {
      kind: 'polygon',
      name: 'yard',
      description: 'Where the cars stand.',
      tags: ['cars', 'north'],
      priority: 'high',
      real_time: true,
      purpose: 'both',
      bbox: [-97, 35, -96, 36],
      version: 1,
    });
    config.now_ms += 60_000;
    t.like(await json('seed', 'apply', path('seed.yaml')), { changes: [] });
    t.deepEqual(await areasIn(config), made);
  },
);

test.serial('areas that the file says differently are changed, and their version rises', async (t) => {
  const { json, path, config } = operator(t);
  writeFileSync(path('seed.yaml'), AREAS);
  await json('seed', 'apply', path('seed.yaml'));
  config.now_ms += 60_000;
  const before = (await areasIn(config)).find(({ name }) => name === 'yard');
  writeFileSync(path('seed.yaml'), AREAS.replace('high', 'critical').replace('[-97.5, 35.5]', '[-98, 35.5]'));
  t.deepEqual((await json('seed', 'apply', path('seed.yaml'))).changes, [
    'acme: changed polygon area yard',
    'acme: changed point area mast',
  ]);
  const [mast, yard] = await areasIn(config);
  t.like(mast, { point: { lat: 35.5, lon: -98 }, version: 2, geometry_at: '2026-05-20T12:01:00.000Z' });
  t.like(yard, { priority: 'critical', version: 2, updated_at: '2026-05-20T12:01:00.000Z' });
  t.is(yard?.geometry_at, before?.geometry_at ?? '');
  const { acts } = await json('business', 'audit');
  t.deepEqual(
    (acts as { act: string }[]).map(({ act }) => act).filter((act) => act.startsWith('area.')),
    ['area.create', 'area.create', 'area.change', 'area.change'],
  );
});

test.serial('areas come from a GeoJSON file beside the seed', async (t) => {
  const { json, run, path, config } = operator(t);
  const geometry = { type: 'Point', coordinates: [-97.5, 35.5] };
  const feature = { type: 'Feature', properties: { name: 'mast', tags: ['north'] }, geometry };
  writeFileSync(path('areas.geojson'), JSON.stringify({ type: 'FeatureCollection', features: [feature] }));
  writeFileSync(path('seed.yaml'), 'businesses: [{ name: acme, areas: areas.geojson }]');
  await json('seed', 'apply', path('seed.yaml'));
  const [mast] = await areasIn(config);
  t.like(mast, { name: 'mast', tags: ['north'], point: { lat: 35.5, lon: -97.5 } });
  writeFileSync(path('seed.yaml'), 'businesses: [{ name: acme, areas: none.geojson }]');
  t.is((await run('seed', 'apply', path('seed.yaml'))).code, 3);
});

test.serial(
  'an area that is none, or that the plan does not allow, refuses the whole file with the reason',
  async (t) => {
    const { run, path, config } = operator(t);
    const yard =
      '{ name: yard, geometry: { type: Polygon, coordinates: [[[-97, 35], [-96, 35], [-96, 36], [-97, 35]]] }';
    const mast = '{ name: mast, geometry: { type: Point, coordinates: [-97, 35] }';
    for (const [areas, code, reason] of [
      [
        '[{ name: bow-tie, geometry: { type: Polygon, coordinates: [[[-97, 35], [-96, 35], [-97, 36], [-96, 36], [-97, 35]]] } }]',
        2,
        'areas.0.geometry: /coordinates/0 crosses or touches itself',
      ],
      ['[{ name: far, geometry: { type: Point, coordinates: [97, 35] } }]', 2, 'areas.0.geometry: lon is 97'],
      [`[${yard} }, ${yard} }]`, 2, 'areas: two have the same name and kind'],
      [`[${yard}, colour: red }]`, 2, 'colour'],
      [`[${yard}, priority: urgent }]`, 2, 'areas.0.priority'],
      [`[${yard}, group_id: a }]`, 2, 'areas.0.group_id: is of point areas only'],
      [`[${mast}, real_time: true }]`, 2, 'areas.0.real_time: is of polygon areas only'],
      [`[${mast} }, ${mast.replace('mast', 'pole')} }]`, 4, 'point_areas: the plan allows 1 point areas'],
    ] as const) {
      writeFileSync(
        path('seed.yaml'),
        `plans: { small: { quotas: { point_areas: 1 } } }\nbusinesses: [{ name: acme, plan: small, areas: ${areas} }]`,
      );
      const { code: found, err } = await run('seed', 'apply', path('seed.yaml'));
      t.is(found, code, err);
      t.true(err.includes(reason), err);
    }
    t.deepEqual(await areasIn(config), []);
  },
);

test.serial('two areas of one name that the seed could mean are a conflict', async (t) => {
  const { json, run, path, config } = operator(t);
  writeFileSync(path('seed.yaml'), AREAS);
  await json('seed', 'apply', path('seed.yaml'));
  const records = await openRecords(config);
  await records.transaction(async (rows) => {
    const area = await rows.selectFrom('areas').selectAll().where('name', '=', 'mast').executeTakeFirstOrThrow();
    await rows
      .insertInto('areas')
      .values({ ...area, id: 'area_2' })
      .execute();
  });
  await records.close();
  const { code, err } = await run('seed', 'apply', path('seed.yaml'));
  t.is(code, 4);
  t.true(err.includes('business acme has 2 point areas named mast, expected one'), err);
});

test.serial('a seed sets the sunset of the earlier variant, moves it, and takes it back', async (t) => {
  const { json, run, path, config } = operator(t);
  const apply = async (earlier_variant: object) => {
    writeFileSync(path('seed.yaml'), JSON.stringify({ earlier_variant }));
    const { changes } = await json('seed', 'apply', path('seed.yaml'));
    const records = await openRecords(config);
    const set = await readSunset(records.reader);
    await records.close();
    return [changes, set];
  };
  const today = '2026-05-20';
  t.deepEqual(await apply({ sunset: '2027-06-30' }), [
    ['earlier variant: sunset on 2027-06-30'],
    { sunset: '2027-06-30', deprecated: today },
  ]);
  t.deepEqual(await apply({ sunset: '2027-06-30' }), [[], { sunset: '2027-06-30', deprecated: today }]);
  t.deepEqual(await apply({ sunset: '2027-12-31', deprecated: '2027-01-01' }), [
    ['earlier variant: sunset on 2027-12-31'],
    { sunset: '2027-12-31', deprecated: '2027-01-01' },
  ]);
  t.deepEqual(await apply({ sunset: null }), [['earlier variant: no sunset'], null]);
  writeFileSync(path('seed.yaml'), 'earlier_variant: { sunset: 2027-06-30, deprecated: 2027-07-01 }');
  const { code, err } = await run('seed', 'apply', path('seed.yaml'));
  t.is(code, 2);
  t.regex(err, /earlier_variant.deprecated: is after sunset/);
});

test.serial('a seed makes keys of the earlier variant, and does not change the variant of a key', async (t) => {
  const { json, run, path } = operator(t);
  const write = (variant: string) =>
    writeFileSync(
      path('seed.yaml'),
      `businesses: [{ name: acme, keys: [{ name: ci, kind: test, variant: ${variant} }] }]`,
    );
  write('legacy');
  const { keys } = await json('seed', 'apply', path('seed.yaml'));
  t.regex((keys as { key: string }[])[0]?.key ?? '', /^test_/);
  t.like(await json('seed', 'apply', path('seed.yaml')), { changes: [] });
  write('current');
  const { code, err } = await run('seed', 'apply', path('seed.yaml'));
  t.is(code, 4);
  t.regex(err, /test key ci is of the variant legacy, expected current/);
});
