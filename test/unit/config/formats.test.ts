import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formats, type FormatName } from '../../../src/config/formats.ts';

const long = (length: number) => 'a'.repeat(length);
const words = (text: string) => text.split(' ');
const durations = ['1ms', '24d', '576h'];
const askedPaths = {
  takes: words('/ /healthz /a/b?full=1&x=%20 //'),
  refuses: ['', 'healthz', '/a b', '/a#b', '/ä', '/a\r\nX: y', 'http://h/healthz'],
};
const noDurations = ['', '10', '10 s', 'x10s', '10sx', '1.5s', '-1s', '25d', '577h', '1w'];

/** The edges of what is a text of each format. */
const edges: Readonly<
  Record<FormatName, { readonly takes: readonly string[]; readonly refuses: readonly string[] }>
> = {
  duration: { takes: durations, refuses: [...noDurations, '0s'] },
  'duration-or-zero': { takes: [...durations, '0s'], refuses: noDurations },
  size: {
    takes: ['1B', '1GB', '8388607GB'],
    refuses: ['', '0B', '16', 'x16KB', '16KBx', '1.5MB', '8388608GB'],
  },
  address: {
    takes: [
      `${'a.'.repeat(126)}a:1`,
      ...words('8080 :8080 0 65535 127.0.0.1:1 [::1]:80 a.example:1 my-host1:1 1host:1'),
    ],
    refuses: [
      '',
      'a b:1',
      `${'a.'.repeat(127)}a:1`,
      ...words('a 65536 100000 a: 127.0.0:1 1.2.3.4.5:1 ::1:80 [a]:1 -a:1 a_b:1'),
    ],
  },
  network: {
    takes: [
      ...words('10.0.0.1 0.0.0.0/0 10.0.0.0/8 10.0.0.128/25 10.0.0.1/32 ::1 ::1/128 fc00::/7 ::/0'),
      ...words('2001:db8:8000::/33 64:FF9B::192.0.2.0/120'),
    ],
    refuses: [
      '',
      ...words('a 10.0.0.0/ 10.0.0.0/33 10.0.0.0/0 10.0.0.1/8 10.0.0.128/24 10.0.0.1/31 ::1/64 ::1/0'),
      ...words('fd00::/7 2001:db8:8000::/32 64:ff9b::192.0.2.1/127 10.0.0.0/8/8 10.0.0.0/a 10.0.0.0/8a'),
      ...words('10.0.0.0/0008 ::/129 fe80::1%eth0'),
    ],
  },
  health: askedPaths,
  'health-path': askedPaths,
  host: {
    takes: [long(255), ...words('api.example.com a_b:8080 [::1]:80 10.0.0.1')],
    refuses: ['', long(256), ...words('a/b a@b http://h'), 'a b', 'a\r\nX:'],
  },
  instant: {
    takes: [
      ...words('0000-01-01 2026-12-31 2026-12-31T18:00Z 2026-12-31T18:00:00.5+01:00'),
      ...words('9999-12-31T23:59:59.999Z'),
    ],
    refuses: [
      '',
      ...words('2026-02-30 x2026-12-31 2026-12-31x 2026-12-31T18:00 2026-12-31T18Z x2026-12-31T18:00Z'),
      ...words('9999-12-31T23:59:59-00:01 0000-01-01T00:00:00+00:01'),
    ],
  },
  store: {
    takes: ['sqlite:./a.db', 'rediss://h'],
    refuses: ['', 'a', 'http://h', 'xredis://h', 'redis+x://h', ' sqlite:a', 'sqlite:a\n', 'sqlite:a\0b'],
  },
  'quota-name': {
    takes: [long(64), 'a-b_1', 'rates'],
    refuses: ['', long(65), 'A', 'a b', 'rate', 'concurrency'],
  },
  timezone: {
    takes: ['UTC', 'Europe/Berlin', 'Etc/GMT+5'],
    refuses: ['', '+01:00', '01', 'Europe/', 'Europe/Berln', 'UTC[u-ca=hebrew]', '2026-12-31T18:00Z'],
  },
  anchor: {
    takes: ['monday', '1', '09', '31', '02-29', '04-30', '12-31'],
    refuses: ['', 'Monday', '0', '32', '02-30', '04-31', '13-01', '1-1', 'xmonday', 'mondayx'],
  },
  time: { takes: ['00:00', '23:59'], refuses: ['', '24:00', '6:00', '06:60', 'x06:00', '06:00x'] },
  percent: { takes: ['1%', '99%', '100%'], refuses: ['', '0%', '101%', '05%', '80', 'x80%', '80%x'] },
  workers: { takes: ['auto'], refuses: ['', 'xauto', 'autox'] },
  origin: {
    takes: ['http://h', 'https://h:1/', 'http://127.0.0.1:9000', 'http://[::1]:9000'],
    refuses: [
      '',
      'http://h\\',
      'http://h x',
      ...words('h xhttp://h ftp://h http:// http://h/p http://h// http://h? http://h# http://u@h'),
      ...words('http://h:0 http://h:65536 http://hä http://äh'),
    ],
  },
  link: {
    takes: ['https://h', 'http://h/a?b#c'],
    refuses: [
      '',
      'https://h/a b',
      ...words('h xhttp://h https:// https://h/ä https://h/" https://h/> https://h:x'),
    ],
  },
  'header-name': {
    takes: ['apiKey', 'X_1', 'My-Content-Key', long(100)],
    refuses: [
      '',
      long(101),
      'a b',
      ...words('a: -a Cookie content-x Proxy-X Sec-WebSocket-X user_agent Host set-cookie X-Real-IP'),
      ...words('http2_settings Proxy X-Original-URL X-HTTP-Method'),
    ],
  },
  'cost-header': { takes: ['X-Cost'], refuses: ['', 'a b', 'Set-Cookie'] },
  'base-path': { takes: ['/', '/api', '/api/v2'], refuses: ['', 'api', '/api/', '/:a', '/*'] },
  path: {
    takes: ['/', '/a', '/a/a', '/a:b/a:b', '/:a/*', '/...', `/${long(1023)}`],
    refuses: [
      '',
      `/${long(1024)}`,
      '/a b',
      ...words('ab/b a /a/ //a /a//b /./a /a/.. /a* /*/a /:1 /:a-b /:a/:a /a%20 /ä /a;b /a?b'),
    ],
  },
  name: { takes: ['a', 'A.b_c-1', long(64)], refuses: ['', long(65), 'a b', 'a/b'] },
  'key-prefix': { takes: ['a', 'gh_2', long(32)], refuses: ['', long(33), '2a', '_a', 'a_', 'a-b'] },
  visible: { takes: ['', 'a!~'], refuses: ['a b', 'ä', 'aä', 'äa'] },
  title: { takes: ['a', 'a b', 'a long one'], refuses: ['', ' a', 'a ', 'äa', 'aä'] },
  line: { takes: ['', 'a b', 'Müller & Söhne 😀'], refuses: ['a\nb', '\u0000', 'a\u202eb', '\ud800'] },
  digest: {
    takes: [`sha256:${long(64)}`],
    refuses: [
      '',
      long(64),
      `xsha256:${long(64)}`,
      `sha256:${long(63)}`,
      `sha256:${long(65)}`,
      `sha256:${'g'.repeat(64)}`,
    ],
  },
  none: { takes: ['none'], refuses: ['', 'xnone', 'nonex'] },
  upgrade: { takes: ['none', 'websocket'], refuses: ['', 'xnone', 'websocketx'] },
  'media-type': {
    takes: ['audio/wav', 'audio/*', '*/*', 'Image/svg+xml'],
    refuses: ['', 'wav', 'audio/', '/wav', '*/wav', 'x audio/wav', 'audio/wav;q', '*/*x'],
  },
  extension: { takes: ['a', '7z', long(16)], refuses: ['', long(17), 'WAV', '.wav', 'wäv'] },
  'field-name': {
    takes: ['a', 'ä', long(256)],
    refuses: ['', long(257), 'a b', 'a"', 'a;', 'a=', 'a%', '<a', '\u0007', '__proto__'],
  },
};

for (const [name, { takes, refuses }] of Object.entries(edges)) {
  test(`a text of the format ${name} is told from any other`, () => {
    const { fault } = formats[name as FormatName];
    for (const text of takes) assert.equal(fault(text), undefined, text);
    for (const text of refuses) assert.notEqual(fault(text), undefined, text);
  });
}
