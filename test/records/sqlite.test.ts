import { everySuite } from '../support/records/suites/every.ts';
import { killSuite } from '../support/records/suites/kill.ts';
import { onSqlite } from '../support/records/world.ts';

everySuite(onSqlite);
killSuite(onSqlite);
