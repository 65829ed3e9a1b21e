import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { verify } from '../../../api/routes/verify.ts';
import { hasPdftotext, pagesByPoppler } from '../../support/data/pdf-reading.ts';
import { publish, scansBetween } from '../../support/data/world.ts';
import { sending } from '../../support/service/portfolio.ts';
import { operator } from '../../support/service/run-command.ts';
import { startService } from '../../support/service/service.ts';

const PLACE = ['35.2', '-97'];
const RANGE = ['2026-04-25', '2026-05-02'];

test.serial('verify answers without a server or records what POST /v1/verify answers', async (t) => {
  const it = operator(t);
  await publish(it.config.data_root, await scansBetween('23:54', '00:02'));
  const service = await startService({
    endpoints: [verify],
    data_root: it.config.data_root,
    now_ms: it.config.now_ms,
  });
  t.teardown(() => service.close());
  const body = { lat: 35.2, lon: -97, date_start: RANGE[0], date_end: RANGE[1] };
  const answer = await service.json('/v1/verify', sending('POST', body));
  t.deepEqual<unknown, unknown>(await it.json('verify', ...PLACE, ...RANGE), answer);
  const { event_count, verification_hash } = answer as { event_count: number; verification_hash: string };
  const { code, out } = await it.run('verify', ...PLACE, ...RANGE);
  t.is(code, 0);
  t.is(out.match(/^2026-05-0\d {2}(?:hit|marginal|miss) /gm)?.length ?? 0, event_count);
  t.true(out.includes(verification_hash));
  t.true(out.includes('\nWithout radar data: 2026-04-25 to 2026-04-30.\n'));
  t.regex(out, /\nSeen in part: 2026-05-01 \(\d\.\d % seen; nothing from 00:00 to 23:\d\d UTC\)\.\n/u);
  t.regex(out, /\nSeen in part: 2026-05-02 \(100 % seen up to 00:\d\d UTC, its newest scan\)\.\n/u);
  t.regex(
    (await it.run('verify', '45', '-80', ...RANGE)).out,
    /0 storm dates .*\n\nNo echo of 5 mm and no report in what is published\./,
  );
});

test.serial('verify refuses with exit code 2 what POST /v1/verify would refuse', async (t) => {
  const it = operator(t);
  for (const [args, said] of [
    [['91', '-97', ...RANGE], /'91'/],
    [['35,2', '-97', ...RANGE], /'35,2'/],
    [[...PLACE, '2026-02-01', '2026-05-02'], /^hail-api: date_end is too far from date_start/],
    [[...PLACE, '2026-05-01', '2026-06-02'], /^hail-api: date_end is 2026-06-02, expected at most tomorrow/],
    [[...PLACE, '2026-05-01'], /missing required argument 'to'/],
  ] as const) {
    const { code, err } = await it.run('verify', ...args);
    t.is(code, 2, args.join(' '));
    t.regex(err, said);
  }
});

test.serial(
  'verify --pdf prints the texts it is given on the document, which change nothing of the finding',
  async (t) => {
    const it = operator(t);
    await publish(it.config.data_root, await scansBetween('23:54', '00:02'));
    const files = ['plain.pdf', 'named.pdf'].map((name) => join(it.config.data_root, name)) as [string, string];
    const named = ['--reference', 'Claim 4711', '--address', '千代田区', '--prepared-for', 'A company'];
    const [plain, labelled] = [
      await it.json('verify', ...PLACE, ...RANGE, '--pdf', files[0]),
      await it.json('verify', ...PLACE, ...RANGE, '--pdf', files[1], ...named),
    ];
    t.deepEqual(labelled, plain);
    if (hasPdftotext) {
      const [first = ''] = pagesByPoppler(readFileSync(files[1]));
      t.regex(first, /Prepared for A company Reference Claim 4711 Address QianDaiTianQu /);
    } else t.log('the text of the document is not read: pdftotext is absent');
    for (const [args, said] of [
      [['--reference', 'Claim 4711'], /^hail-api: reference is printed on a document, expected --pdf as well/],
      [
        ['--pdf', `${files[0]}2`, '--address', 'a\nb'],
        /^hail-api: address holds a control character, expected plain text/,
      ],
      [
        ['--pdf', `${files[0]}2`, '--prepared-for', 'x'.repeat(201)],
        /^hail-api: prepared_for is too long, expected at most 200 characters/,
      ],
    ] as const) {
      const { code, err } = await it.run('verify', ...PLACE, ...RANGE, ...args);
      t.is(code, 2);
      t.regex(err, said);
    }
    t.false(existsSync(`${files[0]}2`));
  },
);
