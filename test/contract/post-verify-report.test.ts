import { creditsOf, openAccount } from '../support/service/account.ts';
import {
  accept,
  EXPORTS,
  ended,
  post,
  REPORT_BODY,
  REPORTS,
  smallMakers,
  startJobService,
  told,
} from '../support/service/jobs.ts';
import { closeWithoutFailures, testWith } from '../support/service/test-with.ts';

const test = testWith(startJobService, closeWithoutFailures);

test('a report is accepted with 202 and where to ask, and costs 100', async (t) => {
  const account = await openAccount(t.context);
  const { status, body } = await post(t.context, REPORTS, REPORT_BODY, {}, account.key);
  t.is(status, 202);
  const { report_id, message: _, ...rest } = body;
  t.regex(String(report_id), /^rpt_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.deepEqual(rest, { status: 'pending', poll_url: `http://127.0.0.1:8080/v1/verify/report/${report_id}` });
  t.is(await creditsOf(t.context, account.business_id), 100);
  t.deepEqual((await told(t.context.call(`${REPORTS}/${report_id}`, account))).body, {
    ...rest,
    report_id,
    message: null,
    params: REPORT_BODY,
    result_summary: null,
    verification_hash: null,
    generated_at: null,
    data_as_of: null,
    pdf_url: null,
    pdf_url_expires_in_seconds: null,
    error: null,
  });
});

test('a report that is done tells its verdicts, its hash and how new its data are', async (t) => {
  t.context.work(smallMakers());
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  const { pdf_url, ...done } = await ended(t.context, REPORTS, id);
  t.true(String(pdf_url).startsWith(`http://127.0.0.1:8080/v1/files/${id}?exp=`));
  t.like(done, {
    status: 'done',
    result_summary: { event_count: 1, verdicts: [{ event_date: '2026-05-01', verdict: 'hit' }] },
    verification_hash: `sha256:${'ab'.repeat(32)}`,
    generated_at: '2026-05-02T00:55:00Z',
    data_as_of: '2026-05-02T00:54:59Z',
    pdf_url_expires_in_seconds: 900,
    error: null,
  });
});

for (const [what, change, pointer] of [
  ['without lat', { lat: undefined }, '/lat:'],
  ['of reversed dates', { date_end: '2026-03-31' }, '/date_end:'],
  ['of 91 days', { date_start: '2026-01-31' }, '/date_end:'],
  ['from tomorrow on', { date_start: '2026-05-03', date_end: '2026-05-03' }, '/date_start:'],
] as const)
  test(`a report ${what} is refused with 400 bad_request and not charged`, async (t) => {
    const account = await openAccount(t.context);
    const { status, body } = await post(t.context, REPORTS, { ...REPORT_BODY, ...change }, {}, account.key);
    t.like({ status, ...body }, { status: 400, error: 'bad_request' });
    t.true(String(body.message).startsWith(pointer), String(body.message));
    t.is(await creditsOf(t.context, account.business_id), 0);
  });

test('texts to be printed on a report are trimmed and echoed in any script, and blank ones count as absent', async (t) => {
  const given = { reference: '  Claim 4711 ', address: '千代田区 1-1, القاهرة', prepared_for: ' \u200b ' };
  const { body } = await post(t.context, REPORTS, { ...REPORT_BODY, ...given });
  const polled = await told(t.context.call(`${REPORTS}/${body.report_id}`));
  t.deepEqual(polled.body.params, { ...REPORT_BODY, reference: 'Claim 4711', address: '千代田区 1-1, القاهرة' });
  const longest = await post(t.context, REPORTS, { ...REPORT_BODY, reference: '🧊'.repeat(200), address: null });
  t.is(longest.status, 202);
});

for (const name of ['reference', 'address', 'prepared_for'])
  for (const [what, text, said] of [
    ['with a NUL', 'a\u0000b', ' holds NUL or a lone surrogate'],
    ['with a line feed', 'a\nb', ': holds a control character, expected plain text'],
    ['of 201 characters', 'x'.repeat(201), ': is too long, expected at most 200 characters'],
    ['that is a number', 5, ': expected string, received number'],
  ] as const)
    test(`a report with a ${name} ${what} is refused with 400 bad_request and not charged`, async (t) => {
      const account = await openAccount(t.context);
      const { status, body } = await post(t.context, REPORTS, { ...REPORT_BODY, [name]: text }, {}, account.key);
      t.like({ status, ...body }, { status: 400, error: 'bad_request', message: `/${name}${said}` });
      t.is(await creditsOf(t.context, account.business_id), 0);
    });

test('a report that fails is polled with 200 and the error, and its charge is given back in a line of its own', async (t) => {
  const account = await openAccount(t.context);
  const leak = "select * from read_parquet('/srv/data/x.parquet')";
  t.context.work(
    smallMakers(() => {
      throw new Error(leak);
    }),
  );
  const id = await accept(t.context, REPORTS, REPORT_BODY, account.key);
  const failed = await ended(t.context, REPORTS, id, account.key);
  t.like(failed, { status: 'failed', error: 'report_generation_failed', pdf_url: null, generated_at: null });
  t.is(failed.message, 'it could not be made, and what it cost was given back');
  t.is(await creditsOf(t.context, account.business_id), 0);
  const ledger = await t.context.records.reader
    .selectFrom('ledger')
    .select(['operation', 'count', 'credits', 'reason'])
    .where('business_id', '=', account.business_id)
    .orderBy('id')
    .execute();
  t.deepEqual(ledger, [
    { operation: 'verify.report.create', count: 1, credits: 100, reason: null },
    { operation: 'verify.report.create.refund', count: 1, credits: -100, reason: `${id} failed` },
  ]);
});

test('reports and exports of another business, unknown ids and ids of the other kind are all 404 alike', async (t) => {
  const [owner, stranger] = [await openAccount(t.context), await openAccount(t.context)];
  const id = await accept(t.context, REPORTS, REPORT_BODY, owner.key);
  const asked = [
    told(t.context.call(`${REPORTS}/${id}`, stranger)),
    told(t.context.call(`${REPORTS}/${id.slice(0, -4)}0000`, owner)),
    told(t.context.call(`${REPORTS}/x`, owner)),
    told(t.context.call(`${EXPORTS}/${id}`, owner)),
  ];
  for (const { status, body } of await Promise.all(asked))
    t.like({ status, ...body }, { status: 404, error: 'not_found' });
});

test('a report is 404 once it is 400 days old', async (t) => {
  t.context.work(smallMakers());
  const id = await accept(t.context, REPORTS, REPORT_BODY);
  await ended(t.context, REPORTS, id);
  t.context.clock.ms += 400 * 86_400_000 - 1;
  t.is((await told(t.context.call(`${REPORTS}/${id}`))).status, 200);
  t.context.clock.ms += 1;
  t.is((await told(t.context.call(`${REPORTS}/${id}`))).status, 404);
});
