import { declareGroup } from '../support/groups.ts';

declareGroup('contract-places');
