import test, { type ExecutionContext } from 'ava';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor } from '../support/service/service.ts';

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

/** Sets the clock of a service for the length of a test. */
export function setClock(t: ExecutionContext, { clock }: RunningService, now_ms: number): void {
  const before_ms = clock.ms;
  clock.ms = now_ms;
  t.teardown(() => {
    clock.ms = before_ms;
  });
}

/** Declares that a GET endpoint refuses queries, before any data are read: the service holds none. */
export function declareRefusals(path: string, now_ms: number, queries: readonly string[]): void {
  test(`GET ${path} refuses values that it does not take, and charges nothing`, async (t) => {
    const service = await serviceFor(t, { now_ms });
    for (const query of queries) {
      const response = await service.call(`${path}?${query}`);
      t.is(response.status, 400, query);
      t.like(await response.json(), { error: 'invalid_parameter' }, query);
    }
    t.is(await creditsUsed(service), 0);
  });
}
