import type { Transaction } from 'kysely';
import { z } from 'zod';
import type { Database } from '../store/schema.ts';
import type { Queue } from '../store/tasks/queue.ts';

/** Name of the tasks that run a job. */
export const JOB_TASK = 'job';

/** Payload of a task. Several tasks of one job do no harm: the job's row says whether there is anything left to do. */
export const JobTask = z.object({
  job_id: z.string(),
  /** The sum of its waits for a data root that is not there, whatever the clock says; absent: there were none. */
  data_waited_ms: z.number().optional(),
});
export type JobTask = z.infer<typeof JobTask>;

/** Queues a job, in the caller's transaction. Jobs of one business take turns with those of others. */
export async function addJobTask(
  rows: Transaction<Database>,
  queue: Pick<Queue, 'add'>,
  { id, business_id }: { readonly id: string; readonly business_id: string },
  due_ms = Date.now(),
  waits: Omit<JobTask, 'job_id'> = {},
): Promise<void> {
  await queue.add(rows, { name: JOB_TASK, group: business_id, payload: { job_id: id, ...waits }, due_ms });
}
