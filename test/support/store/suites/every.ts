import type { Register } from '../world.ts';
import { alertOrdersSuite, alertsSuite } from './alerts.ts';
import { areasSuite } from './areas.ts';
import { chargesSuite } from './charges.ts';
import { earlierAlertsSuite } from './earlier-alerts.ts';
import { idempotencySuite } from './idempotency.ts';
import { jobsSuite } from './jobs.ts';
import { keyCapsSuite } from './key-caps.ts';
import { keysSuite } from './keys.ts';
import { purgeSuite } from './purge.ts';
import { requestDaysSuite } from './request-days.ts';
import { riskScoresSuite } from './risk-scores.ts';
import { tablesSuite } from './tables.ts';

/** Everything that must hold on every kind of database. */
export function everySuite(test: Register): void {
  for (const suite of [
    chargesSuite,
    keyCapsSuite,
    keysSuite,
    idempotencySuite,
    areasSuite,
    purgeSuite,
    requestDaysSuite,
    tablesSuite,
    alertsSuite,
    alertOrdersSuite,
    jobsSuite,
    earlierAlertsSuite,
    riskScoresSuite,
  ])
    suite(test);
}
