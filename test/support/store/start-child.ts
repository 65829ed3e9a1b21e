import { ensureFirstBusiness } from '../../../api/accounts/keys.ts';
import { openRecords } from '../../../api/billing/records.ts';

/** Starts as a server does: `node start-child.ts DATA_ROOT`; prints whether it applied migrations and whether it made the business. */
const [data_root = ''] = process.argv.slice(2);
const applied: string[] = [];
const records = await openRecords({
  data_root,
  database_url: null,
  now: Date.now,
  report: (line) => applied.push(line),
});
const first = await ensureFirstBusiness(records, Date.now());
await records.close();
process.stdout.write(JSON.stringify({ applied: applied.length, made: first !== null }));
