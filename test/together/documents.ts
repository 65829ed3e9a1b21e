import { declareGroup } from '../support/groups.ts';

declareGroup('documents');
