import test from 'ava';
import { jobFilePath } from '../../../api/jobs/files.ts';
import { openJobFiles } from '../../../api/jobs/job-files.ts';
import { StoreRefused } from '../../../schemas/object-store/client.ts';
import { scratch } from '../../support/data/world.ts';
import { scriptedStore } from '../../support/object-store/scripted-store.ts';

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
