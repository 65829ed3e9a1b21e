import type { AddressInfo } from 'node:net';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { ensureFirstBusiness } from '../../../api/accounts/first-business.ts';
import { createApp } from '../../../api/app.ts';
import { openServices } from '../../../api/services.ts';
import { PORTFOLIO } from '../service/portfolio.ts';
import { SERVICE_NOW_MS } from '../service/service.ts';

/*
 * Serves the portfolio over the records of a folder. Tells its parent the port, and at the first start the key. A number
 * from the parent: kill this process, as kill -9 would, right after that many more statements.
 */
const data_root = process.argv[2] as string;
let left = Number.POSITIVE_INFINITY;

process.on('message', (statements: number) => {
  left = statements;
  process.send?.('armed');
});

/** Counts every call of a method that runs a statement. */
function watch(target: object, name: string): void {
  const original: (...args: unknown[]) => unknown = Reflect.get(target, name);
  Reflect.set(target, name, function (this: unknown, ...args: unknown[]) {
    const result = original.apply(this, args);
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return result;
  });
}
for (const name of ['run', 'all', 'get', 'iterate']) watch(StatementSync.prototype, name);
watch(DatabaseSync.prototype, 'exec');
const now = () => SERVICE_NOW_MS;
const { services } = await openServices({
  data_root,
  database_url: null,
  storm_day_start_hour: 0,
  base_url: 'http://127.0.0.1:8080/v1',
  now,
});
const keys = await ensureFirstBusiness(services.records, now());
await services.records.reader.updateTable('plans').set({ rate_per_minute: 1_000_000 }).execute();
const server = createApp({
  endpoints: PORTFOLIO,
  publicRoutes: [],
  services,
  trusted: null,
  clock: { monotonic_ms: () => performance.now(), unix_ms: now },
  check_replies: 'all',
  telemetry: {
    answered: () => {},
    refused: () => {},
    failed: (_, error) => console.error(error),
    schemaMismatch: (route, faults) => console.error(route, faults),
  },
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port, key: keys?.live ?? null });
});
