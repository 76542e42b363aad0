import { http } from './http.ts';

/** An answer in JSON on a connection that is closed after it, for what Node's parser cannot read: there is no response to write it with. */
export function bareAnswer(status: number, headers: Readonly<Record<string, string>>, body: string): string {
  return [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
