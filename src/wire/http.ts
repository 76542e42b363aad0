import type * as Http from 'node:http';
import { createRequire } from 'node:module';

/**
 * The parts of `node:http` that are more than types. An `import` reads every export, and `WebSocket` brings a whole second HTTP
 * client that nothing here uses: 35 ms and 16 MB in an otherwise empty process. `require` reads what it is asked for.
 */
export const http = createRequire(import.meta.url)('node:http') as typeof Http;
