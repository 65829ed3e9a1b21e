import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import Router from '@koa/router';
import Koa from 'koa';
import { ENDPOINTS } from '../../api/routes/index.ts';
import { startService } from '../support/service/service.ts';

/** What the bench is told once both services listen. */
export interface Listening {
  readonly url: string;
  readonly key: string;
  /** The answer's tag; the bare service has the same answer at the same path. */
  readonly tag: string;
  readonly bytes: number;
  readonly bare_url: string;
}

const [data_root = '', now_ms = '', path = ''] = process.argv.slice(2);
const service = await startService({
  endpoints: ENDPOINTS,
  data_root,
  now_ms: Number(now_ms),
  app: { check_replies: false },
});
const reply = await service.call(path);
const body = Buffer.from(await reply.arrayBuffer());
if (reply.status !== 200) throw new Error(`${path} answers ${reply.status}: ${body}`);
const tag = reply.headers.get('etag') ?? '';

/** The smallest service that gives the same answer. */
const router = new Router();
router.get(path.split('?')[0] ?? '', (context) => {
  context.set('ETag', tag);
  if (context.get('If-None-Match') === tag) context.status = 304;
  else {
    context.type = 'application/json; charset=utf-8';
    context.body = body;
  }
});
const bare = new Koa().use(router.routes()).listen(0, '127.0.0.1', () => {
  const listening: Listening = {
    url: service.url,
    key: service.live_key,
    tag,
    bytes: body.length,
    bare_url: `http://127.0.0.1:${(bare.address() as AddressInfo).port}`,
  };
  process.send?.(listening);
});

/** What the process did since the last `reset`. */
export interface Spent {
  readonly cpu_us: number;
  readonly longest_stall_ms: number;
  readonly failures: number;
}

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let cpu = process.cpuUsage();
process.on('message', (message) => {
  if (message === 'reset') {
    delay.reset();
    cpu = process.cpuUsage();
  } else if (message === 'spent') {
    const { user, system } = process.cpuUsage(cpu);
    const spent: Spent = {
      cpu_us: user + system,
      longest_stall_ms: delay.max / 1e6,
      failures: service.failures.length,
    };
    process.send?.(spent);
  } else process.exit(0);
});
