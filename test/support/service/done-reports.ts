import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { openRecords } from '../../../api/billing/records.ts';
import { jobFilePath } from '../../../api/jobs/files.ts';
import { acceptJob, filedJobs, finishJob, type Job } from '../../../api/jobs/rows.ts';
import { REPORT_BODY } from './jobs.ts';
import type { Operator } from './run-command.ts';

/** A business with reports that are done, and their files, which hold these texts; the rows of the jobs. */
export async function withReports(given: Operator, texts: readonly string[]): Promise<readonly Job[]> {
  const { id } = await given.json('business', 'create', 'acme');
  const { id: key_id } = await given.json('key', 'create', 'acme', '--live');
  const now_ms = given.config.now_ms;
  const records = await openRecords(given.config);
  try {
    for (const text of texts) {
      const asked = { caller: { key_id: String(key_id) }, price: { operation: 'verify.report', credits: 5, count: 1 } };
      const sha256 = createHash('sha256').update(text).digest('hex');
      const bytes = Buffer.byteLength(text);
      const file = { media_type: 'application/pdf', file_name: 'hail report.pdf', bytes, sha256 };
      await records.transaction(async (rows) => {
        const writer = { rows, business_id: String(id), now_ms };
        const job = await acceptJob(writer, { add: async () => {} }, { kind: 'report', params: REPORT_BODY, ...asked });
        await finishJob(rows, job, { summary: {}, data_as_of_ms: null, data_source: null, ...file }, now_ms);
        const path = jobFilePath(given.config.data_root, { id: job, kind: 'report', ...file });
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        writeFileSync(path, text, { mode: 0o600 });
      });
    }
    return await filedJobs(records.reader, null);
  } finally {
    await records.close();
  }
}
