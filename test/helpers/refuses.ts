import { once } from 'node:events';
import { connect } from 'node:net';
import { codeOf } from '../../src/content/error-code.ts';

/** Whether nobody takes connections on this port. */
export async function refuses(port: number): Promise<boolean> {
  const client = connect(port, '127.0.0.1');
  try {
    await once(client, 'connect');
    return false;
  } catch (error) {
    return codeOf(error) === 'ECONNREFUSED';
  } finally {
    client.destroy();
  }
}
