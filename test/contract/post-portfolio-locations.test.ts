import { SELF_HOSTED } from '../../api/records/plans.ts';
import { UPLOAD_ROWS_MAX } from '../../schemas/resources/portfolio-upload.ts';
import {
  changePlan,
  creditsUsed,
  LOCATIONS,
  locationsStored,
  PORTFOLIO,
  rows,
  sending,
  strangersKey,
  upload,
  walk,
} from '../support/service/portfolio.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(() => startService({ endpoints: PORTFOLIO }), closeWithoutFailures);

const DEPOT = { name: 'Depot', lat: 35.4676, lon: -97.5164 };

async function post(service: RunningService, body: unknown, headers: Record<string, string> = {}) {
  const response = await service.call(LOCATIONS, sending('POST', body, headers));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('creates a location for a JSON row and says so', async (t) => {
  const answer = await upload(t.context, [{ ...DEPOT, address: '1 Main St', tags: ['roof', 'flat'] }]);
  const id = answer.accepted[0]?.id ?? '';
  t.regex(id, /^loc_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.deepEqual(answer, {
    total_rows: 1,
    accepted_count: 1,
    rejected_count: 0,
    accepted: [{ row_index: 0, id, name: 'Depot', action: 'created' }],
    rejected: [],
    quota: { point_locations_before: 0, point_locations_after: 1, limit: 10_000 },
  });
  const [page] = await walk(t.context, 50);
  t.like(page?.locations[0], { id, ...DEPOT, address: '1 Main St', tags: ['roof', 'flat'] });
});

test('takes the same from CSV, with a byte order mark, CRLF, quotes and tags', async (t) => {
  const csv =
    '\uFEFFTags,NAME,lat,Lon,owner,address\r\nroof|flat,"Depot, ""north""",35.4676,-97.5164,me,"1 Main St\r\nTulsa"\r\n';
  t.like(await upload(t.context, csv), { accepted_count: 1, rejected_count: 0 });
  const [page] = await walk(t.context, 50);
  t.like(page?.locations[0], {
    name: 'Depot, "north"',
    lat: 35.4676,
    lon: -97.5164,
    address: '1 Main St\r\nTulsa',
    tags: ['roof', 'flat'],
  });
});

test('cells are stored verbatim, formulas and blanks included', async (t) => {
  await upload(t.context, 'name,lat,lon,address\n=HYPERLINK("x")  ,35,-97, @SUM(A1)');
  t.like(await upload(t.context, 'name,lat,lon,address\n"=cmd|x  ",35,-97, @SUM(A1) '), { accepted_count: 1 });
  const [page] = await walk(t.context, 50);
  t.like(page?.locations[0], { name: '=cmd|x  ', address: ' @SUM(A1) ' });
});

test('judges every row alone and keeps their order', async (t) => {
  const answer = await upload(t.context, [
    DEPOT,
    { lat: 35, lon: -97 },
    { ...DEPOT, name: 'North', lat: 51 },
    17,
    { ...DEPOT, name: 'Swapped', lat: -97.5, lon: 35.5 },
    { ...DEPOT, name: 'Second' },
  ]);
  t.deepEqual(
    answer.accepted.map(({ row_index, name }) => [row_index, name]),
    [
      [0, 'Depot'],
      [5, 'Second'],
    ],
  );
  t.deepEqual(
    answer.rejected.map(({ row_index, name, reason }) => [row_index, name, reason.split(':')[0]]),
    [
      [1, null, 'missing_name'],
      [2, 'North', 'outside_conus'],
      [3, null, 'malformed_row'],
      [4, 'Swapped', 'invalid_coordinates'],
    ],
  );
  t.like(answer, { total_rows: 6, accepted_count: 2, rejected_count: 4 });
});

test('row_index counts CSV rows from 0 without the header, rejected and ragged ones too', async (t) => {
  const answer = await upload(t.context, 'name,lat,lon\nA,35,-97\nB,35\n\nC,x,-97\nD,35,-97,\nE,35,-97\n');
  t.deepEqual(
    answer.accepted.map(({ row_index }) => row_index),
    [0, 4],
  );
  t.deepEqual(
    answer.rejected.map(({ row_index, name, reason }) => [row_index, name, reason.split(':')[0]]),
    [
      [1, 'B', 'malformed_row'],
      [2, 'C', 'invalid_coordinates'],
      [3, 'D', 'malformed_row'],
    ],
  );
});

test('a row with an id replaces name and coordinates, keeps what is absent and clears what is empty', async (t) => {
  const first = await upload(t.context, [{ ...DEPOT, address: '1 Main St', tags: ['roof'] }]);
  const id = first.accepted[0]?.id;
  const second = await upload(t.context, [{ id, name: 'Moved', lat: 36, lon: -98 }]);
  t.like(second.accepted[0], { id, name: 'Moved', action: 'updated' });
  t.like((await walk(t.context, 1))[0]?.locations[0], { name: 'Moved', lat: 36, address: '1 Main St', tags: ['roof'] });
  await upload(t.context, `id,name,lat,lon,address,tags\n${id},Moved,36,-98,,`);
  t.like((await walk(t.context, 1))[0]?.locations[0], { address: '', tags: [] });
});

test('an update takes no quota', async (t) => {
  const { accepted } = await upload(t.context, [DEPOT]);
  t.deepEqual((await upload(t.context, [{ ...DEPOT, id: accepted[0]?.id }])).quota, {
    point_locations_before: 1,
    point_locations_after: 1,
    limit: 10_000,
  });
});

test('an empty id cell means a new location', async (t) => {
  t.like((await upload(t.context, 'id,name,lat,lon\n,Depot,35,-97')).accepted[0], { action: 'created' });
});

test("an unknown id and another business's id are rejected alike, and never created", async (t) => {
  const key = await strangersKey(t.context);
  const foreign = (await upload(t.context, [DEPOT], key)).accepted[0]?.id;
  const answer = await upload(t.context, [
    { ...DEPOT, id: foreign },
    { ...DEPOT, id: 'loc_mine' },
    { ...DEPOT, id: 'loc_mine' },
  ]);
  t.deepEqual(
    answer.rejected.map(({ reason }) => reason),
    Array(3).fill('unknown_id: no location of this business has this id'),
  );
  t.is(answer.quota.point_locations_after, 0);
  t.like((await walk(t.context, 1, key))[0]?.locations[0], DEPOT);
});

test('the first row with an id is stored, later ones are duplicates', async (t) => {
  const id = (await upload(t.context, [DEPOT])).accepted[0]?.id;
  const answer = await upload(t.context, [
    { id, name: 'bad', lat: 99, lon: -97 },
    { id, name: 'first', lat: 35, lon: -97 },
    { id, name: 'second', lat: 36, lon: -97 },
  ]);
  t.like(answer.accepted, { 0: { row_index: 1, action: 'updated' }, length: 1 });
  t.is(answer.rejected[1]?.reason, `duplicate_id: an earlier row of this upload has the id ${id}`);
  t.is((await walk(t.context, 1))[0]?.locations[0]?.name, 'first');
});

test('new rows beyond the quota are rejected in order, updates still pass', async (t) => {
  await changePlan(t.context, { quotas: { ...SELF_HOSTED.quotas, locations: 3 } });
  const id = (await upload(t.context, [DEPOT])).accepted[0]?.id;
  const answer = await upload(t.context, [...rows(4), { ...DEPOT, id }]);
  t.deepEqual(
    answer.accepted.map(({ row_index, action }) => [row_index, action]),
    [
      [0, 'created'],
      [1, 'created'],
      [4, 'updated'],
    ],
  );
  t.deepEqual(
    answer.rejected.map(({ row_index, reason }) => [row_index, reason]),
    [
      [2, 'quota_exceeded: the plan allows 3 locations'],
      [3, 'quota_exceeded: the plan allows 3 locations'],
    ],
  );
  t.deepEqual(answer.quota, { point_locations_before: 1, point_locations_after: 3, limit: 3 });
});

test('parallel uploads never exceed the quota', async (t) => {
  await changePlan(t.context, { quotas: { ...SELF_HOSTED.quotas, locations: 25 } });
  const answers = await Promise.all(Array.from({ length: 8 }, () => upload(t.context, rows(10))));
  t.is(
    answers.reduce((sum, { accepted_count }) => sum + accepted_count, 0),
    25,
  );
  t.is((await walk(t.context, 200))[0]?.count, 25);
});

test('costs 10 credits, also when every row is rejected', async (t) => {
  await upload(t.context, [DEPOT]);
  t.is(await creditsUsed(t.context), 10);
  await upload(t.context, [{}]);
  t.is(await creditsUsed(t.context), 20);
});

for (const data of [[], '', '\uFEFF', 'name,lat,lon', '\r\n\r\n'])
  test(`an upload without rows, ${JSON.stringify(data)}, is a 200 with zeros`, async (t) => {
    t.deepEqual(await upload(t.context, data), {
      total_rows: 0,
      accepted_count: 0,
      rejected_count: 0,
      accepted: [],
      rejected: [],
      quota: { point_locations_before: 0, point_locations_after: 0, limit: 10_000 },
    });
  });

for (const [what, body, message] of [
  ['a body without format', { data: [] }, /^\/format/],
  ['an unknown format', { format: 'xml', data: '' }, /^\/format/],
  ['a body without data', { format: 'csv' }, /^\/data/],
  ['text as JSON rows', { format: 'json', data: 'name' }, /^\/data/],
  ['a list as CSV', { format: 'csv', data: [] }, /^\/data/],
  ['a CSV header without name', { format: 'csv', data: 'lat,lon\n1,2' }, /^\/data: has no column name$/],
  [
    'a CSV header with lng',
    { format: 'csv', data: 'name,lat,lng\n' },
    /^\/data: has no column lon, use lon instead of lng$/,
  ],
  ['a CSV header with two lat', { format: 'csv', data: 'name,lat,lon,LAT\n' }, /^\/data: has two columns named lat$/],
] as const)
  test(`refuses ${what} with 400 bad_request, and charges nothing`, async (t) => {
    const { status, text } = await post(t.context, body);
    t.is(status, 400);
    t.is(JSON.parse(text).error, 'bad_request');
    t.regex(JSON.parse(text).message, message);
    t.is(await creditsUsed(t.context), 0);
  });

for (const [format, data] of [
  ['json', (count: number) => rows(count)],
  ['csv', (count: number) => `name,lat,lon\n${'a,35,-97\n'.repeat(count)}`],
] as const)
  test(`takes ${UPLOAD_ROWS_MAX} rows of ${format} and refuses one more with 413 payload_too_large`, async (t) => {
    const { status, text } = await post(t.context, { format, data: data(UPLOAD_ROWS_MAX + 1) });
    t.is(status, 413);
    t.like(JSON.parse(text), { error: 'payload_too_large', message: '/data: more rows than the 10000 of one upload' });
    t.is(await creditsUsed(t.context), 0);
    t.is((await upload(t.context, data(UPLOAD_ROWS_MAX))).accepted_count, UPLOAD_ROWS_MAX);
  });

test('refuses a body over 5 MB with 413 payload_too_large', async (t) => {
  const { status, text } = await post(t.context, { format: 'csv', data: ' '.repeat(5_000_000) });
  t.is(status, 413);
  t.is(JSON.parse(text).error, 'payload_too_large');
});

test('a replay with the same Idempotency-Key is byte for byte the first answer, and makes and costs nothing', async (t) => {
  const body = { format: 'json', data: [DEPOT, {}] };
  const first = await post(t.context, body, { 'Idempotency-Key': 'k1' });
  const again = await post(t.context, body, { 'Idempotency-Key': 'k1' });
  t.is(first.headers.get('Idempotent-Replay'), null);
  t.is(again.headers.get('Idempotent-Replay'), 'true');
  t.deepEqual([again.status, again.text], [first.status, first.text]);
  t.is(await creditsUsed(t.context), 10);
  t.is((await walk(t.context, 50))[0]?.count, 1);
});

test('the same Idempotency-Key with another upload is 400 invalid_idempotency_key', async (t) => {
  await post(t.context, { format: 'json', data: [DEPOT] }, { 'Idempotency-Key': 'k1' });
  const { status, text } = await post(t.context, { format: 'json', data: [] }, { 'Idempotency-Key': 'k1' });
  t.is(status, 400);
  t.is(JSON.parse(text).error, 'invalid_idempotency_key');
});

test('parallel calls with one Idempotency-Key end in one upload: one original, the others 409 or replays', async (t) => {
  const body = { format: 'json', data: rows(300) };
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => post(t.context, body, { 'Idempotency-Key': 'k' })),
  );
  const originals = answers.filter(({ status, headers }) => status === 200 && !headers.has('Idempotent-Replay'));
  t.is(originals.length, 1);
  for (const { status, text } of answers) {
    if (status === 200) t.is(text, originals[0]?.text);
    else t.deepEqual([status, JSON.parse(text).error], [409, 'idempotency_key_in_progress']);
  }
  t.is(await creditsUsed(t.context), 10);
  t.is((await upload(t.context, [])).quota.point_locations_before, 300);
});

test('over the spend cap nothing is stored: 429 spend_cap_exceeded', async (t) => {
  await changePlan(t.context, { spend_cap: 15 });
  await upload(t.context, [DEPOT]);
  const { status, text } = await post(t.context, { format: 'json', data: [DEPOT] });
  t.is(status, 429);
  t.is(JSON.parse(text).error, 'spend_cap_exceeded');
  t.is(await locationsStored(t.context), 1);
  t.is(await creditsUsed(t.context), 10);
});

test('hostile text is stored as text', async (t) => {
  const names = [
    "'); DROP TABLE portfolio_locations;--",
    '$$ COPY x TO y $$',
    '“quotes” ‘’',
    '%00 \\u0000',
    '../../etc',
  ];
  const answer = await upload(
    t.context,
    names.map((name) => ({ ...DEPOT, name, address: name, tags: [name] })),
  );
  t.is(answer.accepted_count, names.length);
  const [page] = await walk(t.context, 50);
  t.deepEqual(page?.locations.map(({ name }) => name).sort(), [...names].sort());
  for (const { name, address, tags } of page?.locations ?? []) t.deepEqual([address, tags], [name, [name]]);
});
