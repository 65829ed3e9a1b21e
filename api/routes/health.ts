import { RELEASE } from '../../schemas/release.ts';
import { HEALTH_EXAMPLE, Health } from '../../schemas/resources/health.ts';
import { timestamp } from '../../schemas/time.ts';
import type { Records } from '../billing/records.ts';
import { JSON_TYPE } from '../http/reply.ts';
import { jobBacklog } from '../jobs/rows.ts';
import { NOTHING_PUBLISHED, UnreadableVersion } from '../published/catalog.ts';
import { isOutage } from '../records/errors.ts';
import { ingestHealth } from '../rules/staleness.ts';
import { readEndpoint } from '../server/endpoint.ts';
import type { PublicRoute } from '../server/public.ts';
import type { Services } from '../services.ts';
import { messageBacklog } from '../webhooks/messages.ts';

export const getHealth = readEndpoint({
  route: 'GET /v1/health',
  group: 'Account',
  summary: 'How the service is',
  description:
    'Answers 200 whenever it can answer at all; `degraded` names what is not well. Free, for any valid live or test key, whatever its scopes.',
  scope: null,
  test_key: true,
  reply: Health,
  price: () => null,
  example: HEALTH_EXAMPLE,
  answer: async ({ services, now_ms }) => {
    const failure = services.catalog.failure();
    const records = stateOf(await services.records.health());
    const data = { status: stateOf(failure === null), reason: refusalOf(failure) };
    const ingest = ingestHealth(failure === null ? services.catalog.edition() : NOTHING_PUBLISHED, now_ms);
    const webhooks = records === 'ok' ? await deliveryHealth(services.records) : null;
    const jobs = records === 'ok' ? await orNull(jobBacklog(services.records.reader)) : null;
    const parts = [records, data.status, ingest.status, webhooks?.status ?? 'ok'];
    const status = stateOf(parts.every((part) => part === 'ok'));
    return {
      body: {
        status,
        version: RELEASE,
        api_variant: 'current' as const,
        time: timestamp(now_ms),
        components: { database: { status: records }, metering: { status: records }, data, ingest, webhooks, jobs },
      },
    };
  },
});

/** Events that are due for longer than this are late: attempts begin within a second. */
const LATE_MS = 60_000;

/** Backlog of events for receivers; null while the database is out of reach. */
async function deliveryHealth({ reader }: Records): Promise<Health['components']['webhooks']> {
  const machine_ms = Date.now();
  const backlog = await orNull(messageBacklog(reader, machine_ms));
  if (backlog === null) return null;
  const overdue_ms = backlog.due_since_ms === null ? null : machine_ms - backlog.due_since_ms;
  return {
    status: stateOf(overdue_ms === null || overdue_ms <= LATE_MS),
    queue_depth: backlog.events,
    oldest_due_seconds: overdue_ms === null ? null : Math.floor(overdue_ms / 1000),
  };
}

/** Result of a database query; null while the database is out of reach. */
function orNull<Result>(query: Promise<Result>): Promise<Result | null> {
  return query.catch((error: unknown) => {
    if (isOutage(error)) return null;
    throw error;
  });
}

const stateOf = (well: boolean): Health['status'] => (well ? 'ok' : 'degraded');
/** Why this release refuses the published data; null unless their format or version is another. */
const refusalOf = (failure: Error | null) => (failure instanceof UnreadableVersion ? failure.message : null);

const PROBE_HEADERS = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'no-store' };

/** GET /livez: the process answers. */
export const livez: PublicRoute = {
  path: '/livez',
  handler: (ctx) => {
    ctx.set(PROBE_HEADERS);
    ctx.body = '{"status":"ok"}';
  },
};

/**
 * GET /readyz: 200 when calls can be charged and the published data can be read, else 503, with the folders that are missing or the
 * version that this release cannot read.
 */
export function readyz(services: Services): PublicRoute {
  return {
    path: '/readyz',
    handler: async (ctx) => {
      const failure = services.catalog.failure();
      const checks = { records: await services.records.health(), data: failure === null };
      const ready = checks.records && checks.data;
      ctx.status = ready ? 200 : 503;
      ctx.set(PROBE_HEADERS);
      const missing = failure?.missing.length ? failure.missing : undefined;
      const reason = refusalOf(failure) ?? undefined;
      ctx.body = JSON.stringify({ status: ready ? 'ok' : 'unavailable', ...checks, missing, reason });
    },
  };
}
