import { writeSync } from 'node:fs';
import { recordsOver } from '../../../api/billing/records.ts';
import { openDatabase } from '../../../api/records/database.ts';
import { PATIENCE } from './patience.ts';

/**
 * Charges as fast as it can until it is killed: `node charging-child.ts LOCATION BUSINESS KEY ROUND`. Says `charged
 * <operation>` once a charge is acknowledged; each operation is charged once. Every tenth is a write with a row.
 */
const [location = '', business_id = '', key_id = '', round = ''] = process.argv.slice(2);
const records = await recordsOver(openDatabase(JSON.parse(location), PATIENCE), { now: Date.now });
// As in a server, the connection that reads is open too.
await records.reader.selectFrom('probes').select('name').execute();
const ANSWER = { status: 200, type: 'application/json', body: '{}' };
let next = 0;

async function chargeOn(): Promise<never> {
  for (;;) {
    const n = next++;
    const operation = `round-${round}-${n}`;
    const charge = { request_id: operation, business_id, key_id, operation, credits: 3, count: 1, at_ms: Date.now() };
    if (n % 10 === 0)
      await records.write(business_id, charge, null, Date.now(), async ({ rows }) => {
        await rows.insertInto('probes').values({ name: operation, at: '' }).execute();
        return ANSWER;
      });
    else await records.charge(charge);
    writeSync(1, `charged ${operation}\n`);
  }
}

await Promise.all(Array.from({ length: 16 }, chargeOn));
