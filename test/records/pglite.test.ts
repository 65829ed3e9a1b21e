import { chargesSuite } from './suites/charges.ts';
import { tablesSuite } from './suites/tables.ts';
import { onPglite } from './world.ts';

// The dialect of PostgreSQL in the quick tests; all suites run on it in test/slow/records, and on a real server.
for (const suite of [chargesSuite, tablesSuite]) suite(onPglite);
