import { truncateSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { jobFilePath } from '../../../api/jobs/files.ts';
import { openJobFiles } from '../../../api/jobs/job-files.ts';
import type { JobHandlers } from '../../../api/jobs/kinds.ts';
import { StoreRefused } from '../../../schemas/object-store/client.ts';
import { scratch } from '../../support/data/world.ts';
import { scriptedStore } from '../../support/object-store/scripted-store.ts';
import { creditsOf, openAccount } from '../../support/service/account.ts';
import { accept, EXPORT_BODY, EXPORTS, ended, smallJobHandlers, startJobService } from '../../support/service/jobs.ts';

const JOB = { id: 'exp_1', kind: 'export', file_name: 'hail.csv', bytes: 7, sha256: '0'.repeat(64) } as const;

test('while the bucket is gone, the file of a job is not known to be lost', async (t) => {
  const address = await scriptedStore(t, (_, response) => {
    response.writeHead(404).end('<Error><Code>NoSuchBucket</Code></Error>');
  });
  const files = openJobFiles(await scratch(t, 'service'), address);
  await t.throwsAsync(files.fault(JOB), { instanceOf: StoreRefused });
});

test('the file of a job is gone when it is missing in the listing, too', async (t) => {
  let listed = '';
  const address = await scriptedStore(t, ({ method }, response) => {
    if (method === 'HEAD') response.writeHead(404).end();
    else response.end(`<ListBucketResult>${listed}</ListBucketResult>`);
  });
  const files = openJobFiles(await scratch(t, 'service'), address);
  t.is(await files.fault(JOB), 'is gone');
  listed = `<Contents><Key>${jobFilePath('', JOB)}</Key><ETag>"1"</ETag><Size>7</Size></Contents>`;
  t.is(await files.fault(JOB), null);
});

/** Takes five parts. */
const LARGE_BYTES = 65 * 1024 * 1024;

/**
 * A service with exports of 65 MB over an empty store, which takes them in parts. `secondPart` says what it does with the second
 * one, by the number of the upload. `seen`: the requests about uploads.
 */
async function serviceOfLargeExports(
  t: ExecutionContext,
  secondPart: (upload: number) => 'taken' | 'gone' | 'silence',
) {
  const seen: string[] = [];
  const silence = Promise.withResolvers<void>();
  let uploads = 0;
  const address = await scriptedStore(t, async (request, response) => {
    const { method = '', url = '' } = request;
    const [, query = ''] = url.split('?');
    for await (const _ of request); // a part is answered once it is there
    if (/uploads=|uploadId=/.test(query)) seen.push(`${method} ${query}`);
    const answer = query.startsWith('partNumber=2&') ? secondPart(uploads) : 'taken';
    if (answer === 'silence') silence.resolve();
    else if (answer === 'gone') response.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>');
    else if (query === 'uploads=') response.end(`<UploadId>${++uploads}</UploadId>`);
    else if (method === 'HEAD') response.writeHead(200, { 'Content-Length': LARGE_BYTES }).end();
    else if (method === 'GET' && query === '') response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    else response.writeHead(200, { ETag: '"1"' }).end('<ListBucketResult></ListBucketResult>');
  });
  const service = await startJobService({ published: { store: address, cache_bytes: 1e9 } });
  t.teardown(service.close);
  const small = smallJobHandlers();
  const handlers: JobHandlers = {
    ...small,
    export: async (job) => {
      const made = await small.export(job);
      truncateSync(job.path, LARGE_BYTES);
      return made;
    },
  };
  return { service, handlers, seen, silence: silence.promise };
}

test('an upload that the store loses halfway is begun again without its parts; a job whose uploads all fail costs nothing', async (t) => {
  const { service, handlers, seen } = await serviceOfLargeExports(t, (upload) => (upload === 2 ? 'taken' : 'gone'));
  service.work(handlers);
  const account = await openAccount(service);
  const first = await accept(service, EXPORTS, EXPORT_BODY, account.key);
  t.like(await ended(service, EXPORTS, first, account.key), { status: 'done' });
  const begun = ['POST uploads=', 'PUT partNumber=1&uploadId=1', 'PUT partNumber=2&uploadId=1', 'DELETE uploadId=1'];
  const again = [1, 2, 3, 4, 5].map((part) => `PUT partNumber=${part}&uploadId=2`);
  t.deepEqual(seen, [...begun, 'POST uploads=', ...again, 'POST uploadId=2']);
  const credits = await creditsOf(service, account.business_id);
  t.true(credits > 0);
  const second = await accept(service, EXPORTS, EXPORT_BODY, account.key);
  const message = 'it could not be made, and what it cost was given back';
  t.like(await ended(service, EXPORTS, second, account.key), { status: 'failed', message });
  t.is(await creditsOf(service, account.business_id), credits);
  const removed = seen.filter((line) => line.startsWith('DELETE'));
  t.deepEqual(
    removed,
    [1, 3, 4, 5, 6, 7, 8].map((upload) => `DELETE uploadId=${upload}`),
  );
});

test('a service that is stopped during an upload does not wait for it, and the job goes on with the next one', async (t) => {
  const { service, handlers, seen, silence } = await serviceOfLargeExports(t, (upload) =>
    upload === 1 ? 'silence' : 'taken',
  );
  const stop = service.work(handlers);
  const id = await accept(service, EXPORTS, EXPORT_BODY);
  await silence;
  const begun_ms = performance.now();
  await stop();
  const stopped_ms = performance.now() - begun_ms;
  t.true(stopped_ms < 5_000, `${stopped_ms} ms`);
  t.is(seen.at(-1), 'DELETE uploadId=1');
  const row = service.records.reader.selectFrom('jobs').select(['status', 'takes']).where('id', '=', id);
  t.deepEqual(await row.executeTakeFirst(), { status: 'pending', takes: 0 });
  service.work(handlers);
  t.like(await ended(service, EXPORTS, id), { status: 'done' });
});
