import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { modelKeys } from '../../../pipeline/model-runs/model-bucket.ts';
import { fetchModelHour } from '../../../pipeline/model-runs/model-download.ts';
import { readModelHour } from '../../../pipeline/read/model.ts';
import { modelGridOf, simulatedModelFile } from '../../../pipeline/simulate/model-grid.ts';
import { Unavailable } from '../../../pipeline/sources/retry.ts';
import { type Interception, startModelServer } from '../../support/data/bucket-of-runs.ts';
import { EVENING_MS, SMALL } from '../../support/data/small-evening.ts';

const HOUR = { model: 'hrrr', run_time: EVENING_MS, lead_h: 3 } as const;
const FILE = simulatedModelFile(SMALL, modelGridOf(SMALL), EVENING_MS, 3);
const BYTES = Buffer.from(FILE.bytes);
/** The file as a server has it: with an unused message before and one between. */
const UNWANTED = BYTES.subarray(0, BYTES.readUInt32BE(12));
const CUT = offsetOf('HAIL');
const WHOLE = Buffer.concat([UNWANTED, BYTES.subarray(0, CUT), UNWANTED, BYTES.subarray(CUT)]);
const INDEX = [
  `1:0:d=2026050122:VIS:surface:3 hour fcst:`,
  ...FILE.index
    .trim()
    .split('\n')
    .flatMap((line, k) => {
      const offset = Number(line.split(':')[1]);
      const moved = UNWANTED.length + offset + (offset >= CUT ? UNWANTED.length : 0);
      const entry = line.replace(/^\d+:\d+/, `${k + 2}:${moved}`);
      return offset === CUT ? [`99:${UNWANTED.length + CUT}:d=2026050122:GUST:surface:3 hour fcst:`, entry] : [entry];
    }),
  '',
].join('\n');

function offsetOf(name: string): number {
  const line = FILE.index.split('\n').find((each) => each.includes(`:${name}:`));
  return Number(line?.split(':')[1]);
}

async function ask(intercept?: Interception) {
  const files = new Map([
    [FILE.path, WHOLE],
    [`${FILE.path}.idx`, Buffer.from(INDEX)],
  ]);
  const server = await startModelServer(files, intercept);
  try {
    const files = await fetchModelHour(HOUR, server.access);
    return { answer: files === 'absent' ? files : files[0], seen: server.seen };
  } finally {
    await server.close();
  }
}

test('the messages we use arrive by index and byte ranges, and read as the hour', async (t) => {
  const { answer, seen } = await ask();
  if (typeof answer === 'string') return t.fail(answer);
  t.deepEqual(Buffer.from(answer.bytes), BYTES);
  t.deepEqual(
    seen.map(({ range }) => range),
    [undefined, `bytes=${UNWANTED.length}-${UNWANTED.length + CUT - 1}`, `bytes=${2 * UNWANTED.length + CUT}-`],
  );
  const claim = { ...HOUR, valid_time: EVENING_MS + 3 * 3_600_000 };
  t.is(Object.keys(readModelHour([{ bytes: answer.bytes, subject: 'x' }], claim).hour.fields).length, 13);
});

test('every request says who asks, and later ranges insist on the version of the first', async (t) => {
  const { seen } = await ask();
  t.true(seen.every(({ headers }) => headers['user-agent'] === 'hail-test/1'));
  t.deepEqual(
    seen.map(({ headers }) => headers['if-match'] !== undefined),
    [false, false, true],
  );
});

test('an index that is not there is no failure: the hour is not there yet', async (t) => {
  const { answer } = await ask(({ path }, response) => {
    if (!path.endsWith('.idx')) return false;
    response.writeHead(404).end();
    return true;
  });
  t.is(answer, 'absent');
});

test('a server that does not know ranges is read once, and our messages are picked out', async (t) => {
  const { answer, seen } = await ask(({ range }, response) => {
    if (range === undefined) return false;
    response.writeHead(200).end(WHOLE);
    return true;
  });
  if (typeof answer === 'string') return t.fail(answer);
  t.deepEqual(Buffer.from(answer.bytes), BYTES);
  t.is(seen.length, 2);
});

test('a whole file above the limit is refused by its announced length', async (t) => {
  const refused = ask(({ range }, response) => {
    if (range === undefined) return false;
    response.writeHead(200, { 'content-length': 5 * 2 ** 30 });
    response.write('GRIB');
    return true;
  });
  const error = await t.throwsAsync(refused, { instanceOf: Unavailable });
  t.regex(
    error?.message ?? '',
    /sends the whole file of 5368709120 bytes instead of ranges, expected at most 1073741824/,
  );
});

test('an html page in place of the index is refused at once', async (t) => {
  let asked = 0;
  const refused = ask(({ path }, response) => {
    if (!path.endsWith('.idx')) return false;
    asked++;
    response.writeHead(200).end('<html><body>Please log in</body></html>');
    return true;
  });
  const error = await t.throwsAsync(refused, { instanceOf: BadInput });
  t.regex(error?.message ?? '', /line 1 is '<html>/);
  t.is(asked, 1);
});

for (const [title, intercept, reason] of [
  [
    'sends an html page in place of a range',
    ({ range }, response) => {
      if (range === undefined) return false;
      response.writeHead(200).end('<html></html>');
      return true;
    },
    /its ranges are empty, expected GRIB messages, after 3 attempts/,
  ],
  [
    'sends other bytes than its index says',
    ({ range }, response) => {
      const [, start = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? [];
      if (start === '') return false;
      response.writeHead(206, {
        etag: `"${FILE.path.length}-${WHOLE.length}"`,
        'content-range': `bytes ${start}-${last}/${WHOLE.length}`,
      });
      response.end(Buffer.alloc(Number(last) - Number(start) + 1));
      return true;
    },
    /no GRIB message begins at byte 0 of its ranges, expected what its index lists, after 3 attempts/,
  ],
  [
    'answers another range than asked',
    ({ range }, response) => {
      if (range === undefined) return false;
      response.writeHead(206, { 'content-range': `bytes 0-9/${WHOLE.length}` }).end('0123456789');
      return true;
    },
    /server answers 206 with range 'bytes 0-9\/\d+', expected 'bytes \d+-\d+', after 3 attempts/,
  ],
  [
    'has a shorter file than its index says',
    ({ range }, response) => {
      if (range === undefined) return false;
      response.writeHead(416).end();
      return true;
    },
    /file ends before byte \d+, expected what its index lists/,
  ],
  [
    'is busy for good',
    (_, response) => {
      response.writeHead(503).end();
      return true;
    },
    /server answers 503, expected 200, after 3 attempts/,
  ],
] satisfies readonly (readonly [string, Interception, RegExp])[])
  test(`a server that ${title} ends as unavailable with the reason`, async (t) => {
    const error = await t.throwsAsync(ask(intercept), { instanceOf: Unavailable });
    t.regex(error?.message ?? '', reason);
  });

test('a file that changes between two ranges is asked for again as a whole', async (t) => {
  let ranges = 0;
  const { answer } = await ask(({ range }, response) => {
    if (range === undefined || ++ranges !== 2) return false;
    response.writeHead(412).end();
    return true;
  });
  if (typeof answer === 'string') return t.fail(answer);
  t.deepEqual(Buffer.from(answer.bytes), BYTES);
  t.is(ranges, 4);
});

test('a range that breaks off is tried again', async (t) => {
  let broken = false;
  const { answer } = await ask(({ range }, response) => {
    if (range === undefined || broken) return false;
    broken = true;
    response.writeHead(206, { 'content-length': 1000, 'content-range': `bytes 0-999/${WHOLE.length}` });
    response.write('GRIB', () => response.destroy());
    return true;
  });
  t.true(typeof answer !== 'string' && Buffer.from(answer.bytes).equals(BYTES));
});

test('an hour in two files is absent as long as one of them is', async (t) => {
  const hour = { ...HOUR, model: 'rrfs' } as const;
  const [surface = ''] = modelKeys(hour);
  const server = await startModelServer(
    new Map([
      [surface, BYTES],
      [`${surface}.idx`, Buffer.from(FILE.index)],
    ]),
  );
  try {
    t.is(await fetchModelHour(hour, server.access), 'absent');
  } finally {
    await server.close();
  }
});
