import { rmSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import type { RunningService } from '../support/service/service.ts';
import { closeWithoutFailures } from '../support/service/test-with.ts';

/** Answer to a call that is expected to succeed, as its schema reads it. */
export async function parsed<Answer>(
  call: Promise<Response>,
  schema: { readonly parse: (body: unknown) => Answer },
): Promise<Answer> {
  const response = await call;
  if (response.status !== 200) throw new Error(`${response.url} answers ${response.status} ${await response.text()}`);
  return schema.parse(await response.json());
}

/** Checks that a call is refused for a parameter: 400 invalid_parameter, in a message that begins with its name. */
export async function isRefusedFor(t: ExecutionContext, call: Promise<Response>, parameter: string): Promise<void> {
  const response = await call;
  t.is(response.status, 400);
  const { error, message } = (await response.json()) as { error: string; message: string };
  t.is(error, 'invalid_parameter');
  t.true(message.startsWith(parameter), message);
}

/** Closes a service that is not expected to have reported any failure, and deletes its data. */
export async function closeWithData(t: ExecutionContext, service: RunningService, data_root: string): Promise<void> {
  await closeWithoutFailures(t, service);
  rmSync(data_root, { recursive: true, force: true });
}
