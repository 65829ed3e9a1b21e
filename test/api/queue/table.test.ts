import { onSqlite } from '../../records/world.ts';
import { queueContract } from './contract.ts';

queueContract(onSqlite);
