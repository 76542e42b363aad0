import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after } from 'node:test';
import { parseStoreAddress } from '../../src/config/parse-store-address.ts';
import { testLedger } from '../helpers/ledger-suite.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { tempFolder } from '../helpers/temp-folder.ts';

testLedger({ name: 'SQLite', address: (t) => ({ kind: 'sqlite', path: join(tempFolder(t), 'g.db') }) });

// One server for all tests: each has its own prefix.
const redis = await startRedisServer({ after });
testLedger({ name: 'Redis', address: () => parseStoreAddress(`${redis.url}?prefix=${randomUUID()}:`) });
