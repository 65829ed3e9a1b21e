import type { Register } from '../world.ts';
import { alertOrdersSuite, alertsSuite, earlierAlertsSuite } from './alerts.ts';
import { areasSuite, riskScoresSuite } from './areas.ts';
import { chargesSuite, idempotencySuite } from './charges.ts';
import { keyCapsSuite, keysSuite, requestDaysSuite } from './keys.ts';
import { jobsSuite, purgeSuite, tablesSuite } from './tables.ts';

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
