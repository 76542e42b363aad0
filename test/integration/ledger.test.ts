import { after } from 'node:test';
import { testLedger } from '../helpers/ledger-suite.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { storeKinds } from '../helpers/store-kinds.ts';

for (const kind of storeKinds(await startRedisServer({ after }))) testLedger(kind);
