import { monitorEventLoopDelay } from 'node:perf_hooks';
import { PORTFOLIO } from '../support/service/portfolio.ts';
import { startService } from '../support/service/service.ts';

/*
 * The service of the portfolio bench, in a process of its own. Tells its parent address and key; `measure` starts a new
 * measurement of how long the event loop was held up, `report` ends it,
 * anything else ends the service.
 */
const service = await startService({
  endpoints: PORTFOLIO,
  data_root: process.argv[2] as string,
  app: { check_replies: 'sample' },
});
const delay = monitorEventLoopDelay({ resolution: 1 });
process.on('message', (message) => {
  if (message === 'measure') {
    delay.reset();
    delay.enable();
    process.send?.('measuring');
  } else if (message === 'report') {
    delay.disable();
    process.send?.({ longest_ms: delay.max / 1e6 });
  } else void service.close().then(() => process.exit());
});
process.send?.({ url: service.url, key: service.live_key });
