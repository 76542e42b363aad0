import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { RefusalCode } from '../../src/refusals.ts';
import { assertRefused } from '../helpers/assert-refused.ts';
import { openDoor } from '../helpers/door.ts';
import { parseResponses, type RawResponse } from '../helpers/parse-responses.ts';
import { until } from '../helpers/poll.ts';
import { createRandom } from '../helpers/random.ts';
import { openRaw } from '../helpers/raw-socket.ts';
import { demoKey, namePath } from '../helpers/start-gateway.ts';

// Whatever bytes come in, the upstream sees exactly what was authorised, the process lives on, and whoever comes next
// is answered at once.

const anyBody = { any: { maxSize: '64KB' } };
const door = await openDoor(
  { after },
  {
    routes: [
      { path: '/v1/alive', methods: ['GET'] },
      { path: namePath, methods: ['POST'], body: { json: { maxSize: '16KB' } } },
      { path: '/v1/files/*', methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], body: anyBody },
      { path: '/v1/things/:id', methods: ['GET', 'DELETE', 'OPTIONS'] },
    ],
  },
  // What is refused is refused also where Node was told to be lenient.
  { env: { NODE_OPTIONS: '--insecure-http-parser' } },
);

/** What a request comes to: the upstream gets it, or it is refused. */
type Outcome = 'passes' | RefusalCode;

interface Case {
  readonly name: string;
  readonly bytes: string;
  readonly outcome: Outcome | readonly Outcome[];
}

const keyed = `Host: gateway.test\r\napiKey: ${demoKey}\r\n`;
const inside = `GET /v1/things/smuggled HTTP/1.1\r\n${keyed}\r\n`;
const insideChunked = `${inside.length.toString(16)}\r\n${inside}\r\n0\r\n\r\n`;

/** A GET of a route that takes any path, so that only the door can refuse it. */
function get(target: string, headers = ''): string {
  return `GET ${target} HTTP/1.1\r\n${keyed}${headers}\r\n`;
}

function post(headers: string, body: string, method = 'POST'): string {
  return `${method} /v1/files/a HTTP/1.1\r\n${keyed}${headers}\r\n${body}`;
}

const toHttp2 =
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n';
const chunked = 'Transfer-Encoding: chunked\r\n';
const five = 'Content-Length: 5\r\n';

const paths: [name: string, target: string, outcome: Outcome][] = [
  ['the plain one', '/v1/files/a', 'passes'],
  ['every character that may stand there', "/v1/files/aZ09-._~!$&'()*+,=:@", 'passes'],
  ['escapes of reserved characters', '/v1/files/%20%22%3C%3E%5B%5D%7B%7D%60%5E%7C', 'passes'],
  ['escapes in lower case', '/v1/files/%c3%a9%e2%82%ac', 'passes'],
  ['three dots', '/v1/files/...', 'passes'],
  ['a dot file', '/v1/files/.env', 'passes'],
  ['a final slash under *', '/v1/files/', 'passes'],
  ['a percent sign that escapes nothing further', '/v1/files/100%25', 'passes'],
  ['a query with everything', '/v1/files/a?x=/../;y=%2e%2e//&z=a?b@c:d', 'passes'],
  ['an empty query', '/v1/files/a?', 'passes'],
  ['two slashes in front', '//v1/files/a', 'path_malformed'],
  ['two slashes inside', '/v1//files/a', 'path_malformed'],
  ['a dot segment', '/v1/./files/a', 'path_malformed'],
  ['a dot segment at the end', '/v1/files/.', 'path_malformed'],
  ['two dots', '/v1/files/../things/1', 'path_malformed'],
  ['two dots above the root', '/../v1/files/a', 'path_malformed'],
  ['encoded dots', '/v1/files/%2e%2e/things/1', 'path_malformed'],
  ['a half encoded pair of dots', '/v1/files/.%2e/things/1', 'path_malformed'],
  ['one encoded dot', '/v1/files/%2e', 'path_malformed'],
  ['a backslash', '/v1/files\\a', 'path_malformed'],
  ['a backslash and dots', '/v1/files/..\\things', 'path_malformed'],
  ['a backslash in front', '\\v1\\files\\a', 'request_malformed'],
  ['a backslash after the slash', '/\\v1/files/a', 'path_malformed'],
  ['an encoded backslash', '/v1/files/..%5cthings', 'path_malformed'],
  ['an encoded slash', '/v1/files/..%2fthings', 'path_malformed'],
  ['an encoded letter', '/v1/files/%61', 'path_malformed'],
  ['an encoded digit', '/v1/files/%31', 'path_malformed'],
  ['an encoded hyphen', '/v1/files/%2d', 'path_malformed'],
  ['an encoded underscore', '/v1/files/%5F', 'path_malformed'],
  ['an encoded tilde', '/v1/files/%7e', 'path_malformed'],
  ['an encoded semicolon', '/v1/files/a%3bb', 'path_malformed'],
  ['an encoded NUL', '/v1/files/a%00', 'path_malformed'],
  ['an encoded line break', '/v1/files/a%0d%0aX:1', 'path_malformed'],
  ['an encoded tab', '/v1/files/a%09', 'path_malformed'],
  ['an encoded escape character', '/v1/files/a%1B', 'path_malformed'],
  ['an encoded DEL', '/v1/files/a%7f', 'path_malformed'],
  ['double encoding of a dot', '/v1/files/%252e%252e/things', 'path_malformed'],
  ['double encoding of a slash', '/v1/files/a%252fb', 'path_malformed'],
  ['double encoding by halves', '/v1/files/%25%32%65', 'path_malformed'],
  ['an overlong dot', '/v1/files/%C0%AE%C0%AE/things', 'path_malformed'],
  ['an overlong slash of three bytes', '/v1/files/a%E0%80%AFb', 'path_malformed'],
  ['half a surrogate pair', '/v1/files/%ED%A0%80', 'path_malformed'],
  ['half a character', '/v1/files/%C3', 'path_malformed'],
  ['a lone continuation byte', '/v1/files/%80', 'path_malformed'],
  ['beyond Unicode', '/v1/files/%F4%90%80%80', 'path_malformed'],
  ['the %u form', '/v1/files/%u002e', 'path_malformed'],
  ['half an escape', '/v1/files/%2', 'path_malformed'],
  ['a bare percent sign', '/v1/files/%', 'path_malformed'],
  ['an escape of no digits', '/v1/files/%zz', 'path_malformed'],
  ['path parameters', '/v1/files/..;/things/1', 'path_malformed'],
  ['a path parameter with a value', '/v1/files/a;x=y', 'path_malformed'],
  ['a fragment', '/v1/files/a#b', 'path_malformed'],
  ['a fragment in the query', '/v1/files/a?b#c', 'request_malformed'],
  ['a quote', '/v1/files/"', 'path_malformed'],
  ['angle brackets', '/v1/files/<a>', 'path_malformed'],
  ['a pipe', '/v1/files/a|b', 'path_malformed'],
  ['a caret', '/v1/files/a^b', 'path_malformed'],
  ['a backquote', '/v1/files/`', 'path_malformed'],
  ['square brackets', '/v1/files/[a]', 'path_malformed'],
  ['curly brackets', '/v1/files/{a}', 'path_malformed'],
  ['absolute form', 'http://gateway.test/v1/files/a', 'path_malformed'],
  ['absolute form with a bad host', 'http://[/v1/files/a', 'path_malformed'],
  ['absolute form with a bad port', 'http://a:99999999/v1/files/a', 'path_malformed'],
  ['absolute form without a path', 'http://gateway.test', 'path_malformed'],
  ['a scheme of no kind', 'x:/v1/files/a', 'request_malformed'],
  ['authority form', 'gateway.test:80', 'request_malformed'],
  ['an asterisk', '*', 'path_malformed'],
  ['no slash in front', 'v1/files/a', 'request_malformed'],
  ['a query alone', '?a=b', 'request_malformed'],
  ['a space inside', '/v1/files/a b', 'request_malformed'],
  ['a space and another version', '/v1/files/a HTTP/1.1 x', 'request_malformed'],
  ['two spaces', ' /v1/files/a', 'passes'],
  ['a tab in front', '\t/v1/files/a', 'request_malformed'],
  ['a tab inside', '/v1/files/a\tb', 'request_malformed'],
  ['raw UTF-8', '/v1/files/\xc3\xa9', 'request_malformed'],
  ['a raw byte above ASCII', '/v1/files/\xff', 'request_malformed'],
  ['a raw NUL', '/v1/files/\0', 'request_malformed'],
  ['a raw control character', '/v1/files/\x01', 'request_malformed'],
  ['a raw DEL', '/v1/files/\x7f', 'request_malformed'],
  ['a raw control character in the query', '/v1/files/a?\x1f', 'request_malformed'],
  ['a long path', `/v1/files/${'a'.repeat(8000)}`, 'passes'],
  ['a path beyond all size', `/v1/files/${'a'.repeat(20_000)}`, 'headers_too_large'],
  ['a path of many dot segments', `/v1/files/${'../'.repeat(3000)}`, 'path_malformed'],
  ['a path of many escapes', `/v1/files/${'%20'.repeat(3000)}!;`, 'path_malformed'],
];

const hosts: [name: string, headers: string, outcome: Outcome][] = [
  ['a name', 'Host: gateway.test\r\n', 'passes'],
  ['a name and a port', 'Host: gateway.test:8080\r\n', 'passes'],
  ['an address of version 6', 'Host: [::1]:8080\r\n', 'passes'],
  ['none', '', 'request_malformed'],
  ['an empty one', 'Host:\r\n', 'request_malformed'],
  ['two', 'Host: a\r\nHost: b\r\n', 'request_malformed'],
  ['two in different case', 'Host: a\r\nHOST: a\r\n', 'request_malformed'],
  ['userinfo', 'Host: u@a\r\n', 'request_malformed'],
  ['a comma', 'Host: a, b\r\n', 'request_malformed'],
  ['a path', 'Host: a/b\r\n', 'request_malformed'],
  ['a scheme', 'Host: http://a\r\n', 'request_malformed'],
  ['a backslash', 'Host: a\\b\r\n', 'request_malformed'],
  ['a space inside', 'Host: a b\r\n', 'request_malformed'],
  ['a port of letters', 'Host: a:http\r\n', 'request_malformed'],
  ['a port beyond all ports', 'Host: a:65536\r\n', 'request_malformed'],
  ['an empty port', 'Host: a:\r\n', 'request_malformed'],
  ['an open bracket', 'Host: [::1\r\n', 'request_malformed'],
  ['bytes above ASCII', 'Host: \xe9.test\r\n', 'request_malformed'],
  ['a quote', 'Host: a"b\r\n', 'request_malformed'],
  ['a folded line', 'Host:\r\n a\r\n', 'request_malformed'],
];

const requestLines: [name: string, line: string, outcome: Outcome][] = [
  ['HTTP/1.1', 'GET /v1/files/a HTTP/1.1', 'passes'],
  ['HTTP/1.0', 'GET /v1/files/a HTTP/1.0', 'passes'],
  ['HTTP/0.9 in so many words', 'GET /v1/files/a HTTP/0.9', 'request_malformed'],
  ['HTTP/0.9 by silence', 'GET /v1/files/a', 'request_malformed'],
  ['HTTP/1.2', 'GET /v1/files/a HTTP/1.2', 'request_malformed'],
  ['HTTP/2.0', 'GET /v1/files/a HTTP/2.0', 'request_malformed'],
  ['HTTP/1.10', 'GET /v1/files/a HTTP/1.10', 'request_malformed'],
  ['http/1.1', 'GET /v1/files/a http/1.1', 'request_malformed'],
  ['ICE/1.0', 'SOURCE /v1/files/a ICE/1.0', 'method_not_allowed'],
  ['RTSP/1.0', 'DESCRIBE /v1/files/a RTSP/1.0', 'method_not_allowed'],
  ['a tab for a space', 'GET\t/v1/files/a\tHTTP/1.1', 'request_malformed'],
  ['a space behind', 'GET /v1/files/a HTTP/1.1 ', 'request_malformed'],
  ['a space in front', ' GET /v1/files/a HTTP/1.1', 'request_malformed'],
  ['a lower case method', 'get /v1/files/a HTTP/1.1', 'request_malformed'],
  ['an unknown method', 'BREW /v1/files/a HTTP/1.1', 'request_malformed'],
  ['a method beyond all length', `${'G'.repeat(5000)} /v1/files/a HTTP/1.1`, 'request_malformed'],
  ['no method', '/v1/files/a HTTP/1.1', 'request_malformed'],
  ['a method of no route', 'PROPFIND /v1/files/a HTTP/1.1', 'method_not_allowed'],
  ['TRACE', 'TRACE /v1/files/a HTTP/1.1', 'method_not_allowed'],
  ['TRACE of an unknown path', 'TRACE /v1/unknown HTTP/1.1', 'route_unknown'],
  ['CONNECT', 'CONNECT gateway.test:80 HTTP/1.1', 'path_malformed'],
  ['CONNECT to a path', 'CONNECT /v1/files/a HTTP/1.1', 'method_not_allowed'],
  ['OPTIONS *', 'OPTIONS * HTTP/1.1', 'path_malformed'],
  ['an HTTP/2 preface', 'PRI * HTTP/2.0', 'request_malformed'],
];

const framings: [name: string, bytes: string, outcome: Outcome | readonly Outcome[]][] = [
  ['a length', post(five, 'hello'), 'passes'],
  ['chunks', post(chunked, '5\r\nhello\r\n0\r\n\r\n'), 'passes'],
  ['chunks in capitals', post('TRANSFER-ENCODING: CHUNKED\r\n', '5\r\nhello\r\n0\r\n\r\n'), 'passes'],
  ['length 0', post('Content-Length: 0\r\n', ''), 'passes'],
  ['no body', post('', ''), 'passes'],
  ['leading zeros in a length', post('Content-Length: 0000005\r\n', 'hello'), 'passes'],
  ['both', post(five + chunked, '5\r\nhello\r\n0\r\n\r\n'), 'request_malformed'],
  ['both, the other way round', post(chunked + five, '0\r\n\r\n'), 'request_malformed'],
  ['both, length 0', post(`Content-Length: 0\r\n${chunked}`, insideChunked), 'request_malformed'],
  ['chunked twice', post(chunked + chunked, '0\r\n\r\n'), 'request_malformed'],
  ['chunked, chunked', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['gzip, chunked', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['gzip and chunked apart', post(`Transfer-Encoding: gzip\r\n${chunked}`, '0\r\n\r\n'), 'request_malformed'],
  ['chunked, identity', post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['identity', post('Transfer-Encoding: identity\r\n', ''), 'request_malformed'],
  ['identity and a length', post(`Transfer-Encoding: identity\r\n${five}`, 'hello'), 'request_malformed'],
  ['xchunked', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['"chunked"', post('Transfer-Encoding: "chunked"\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['chunked with a parameter', post('Transfer-Encoding: chunked;q=1\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['chunked behind a comma', post('Transfer-Encoding: ,chunked\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['an empty coding', post('Transfer-Encoding:\r\n', ''), 'request_malformed'],
  ['an empty coding and a length', post(`Transfer-Encoding:\r\n${five}`, 'hello'), 'request_malformed'],
  ['a tab before the coding', post('Transfer-Encoding:\tchunked\r\n', '0\r\n\r\n'), 'passes'],
  [
    'a vertical tab before the coding',
    post('Transfer-Encoding:\x0bchunked\r\n', '0\r\n\r\n'),
    'request_malformed',
  ],
  ['a tab before the colon', post('Transfer-Encoding\t: chunked\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['a space before the colon', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['a space before the name', post(' Transfer-Encoding: chunked\r\n', '0\r\n\r\n'), 'request_malformed'],
  ['a coding on a folded line', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'), 'request_malformed'],
  [
    'a folded line behind the coding',
    post('Transfer-Encoding: chunked\r\n , x\r\n', '0\r\n\r\n'),
    'request_malformed',
  ],
  ['an underscore in the name', post(`Transfer_Encoding: chunked\r\n${five}`, 'hello'), 'passes'],
  ['a NUL in the coding', post('Transfer-Encoding: chun\0ked\r\n', '0\r\n\r\n'), 'request_malformed'],
  [
    'a byte above ASCII in the coding',
    post('Transfer-Encoding: chunked\xa0\r\n', '0\r\n\r\n'),
    'request_malformed',
  ],
  ['chunks on HTTP/1.0', post(chunked, '0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0'), 'request_malformed'],
  ['a signed length', post('Content-Length: +5\r\n', 'hello'), 'request_malformed'],
  ['a negative length', post('Content-Length: -5\r\n', 'hello'), 'request_malformed'],
  ['a hexadecimal length', post('Content-Length: 0x5\r\n', 'hello'), 'request_malformed'],
  ['a fractional length', post('Content-Length: 5.0\r\n', 'hello'), 'request_malformed'],
  ['a list of lengths', post('Content-Length: 5, 5\r\n', 'hello'), 'request_malformed'],
  ['the same length twice', post(five + five, 'hello'), 'request_malformed'],
  ['two lengths', post(`${five}Content-Length: 6\r\n`, 'hello'), 'request_malformed'],
  ['an empty length', post('Content-Length:\r\n', ''), 'request_malformed'],
  ['a length of spaces', post('Content-Length:  \r\n', ''), 'request_malformed'],
  ['a length beyond all numbers', post(`Content-Length: ${'9'.repeat(30)}\r\n`, ''), 'request_malformed'],
  ['a length beyond 2^53', post('Content-Length: 9007199254740993\r\n', ''), 'request_malformed'],
  ['a length of 2^64 and 5', post('Content-Length: 18446744073709551621\r\n', 'hello'), 'request_malformed'],
  ['a huge length', post('Content-Length: 999999999999\r\n', ''), 'body_too_large'],
  ['a length on a folded line', post('Content-Length:\r\n 5\r\n', 'hello'), 'request_malformed'],
  ['a space before the colon of a length', post('Content-Length : 5\r\n', 'hello'), 'request_malformed'],
  [
    'a body where none is taken',
    `DELETE /v1/things/1 HTTP/1.1\r\n${keyed}${five}\r\nhello`,
    'body_unexpected',
  ],
  [
    'a byte in chunks where no body is taken',
    `DELETE /v1/things/1 HTTP/1.1\r\n${keyed}${chunked}\r\n1\r\nx\r\n0\r\n\r\n`,
    'body_unexpected',
  ],
  [
    'chunks to be asked for where no body is taken',
    `DELETE /v1/things/1 HTTP/1.1\r\n${keyed}${chunked}Expect: 100-continue\r\n\r\n`,
    'body_unexpected',
  ],
  ['a compressed body', post(`Content-Encoding: gzip\r\n${five}`, 'hello'), 'content_encoding_unsupported'],
  ['two types', post(`Content-Type: a/b\r\nContent-Type: a/b\r\n${five}`, 'hello'), 'request_malformed'],
];

const chunks: [name: string, body: string, outcome: Outcome | readonly Outcome[]][] = [
  ['an extension', '5;a=b\r\nhello\r\n0\r\n\r\n', 'passes'],
  ['an extension without a value', '5;a\r\nhello\r\n0\r\n\r\n', 'passes'],
  ['a quoted extension', '5;a="b;c"\r\nhello\r\n0\r\n\r\n', 'passes'],
  ['an extension at the end', '5\r\nhello\r\n0;a=b\r\n\r\n', 'passes'],
  ['leading zeros', '0005\r\nhello\r\n0\r\n\r\n', 'passes'],
  ['capitals', 'A\r\nhellohello\r\n0\r\n\r\n', 'passes'],
  ['trailers', '5\r\nhello\r\n0\r\nX-Late: 1\r\n\r\n', 'passes'],
  [
    'trailers that name the caller',
    '5\r\nhello\r\n0\r\nX-Gatehouse-Key-Id: root\r\nHost: x\r\n\r\n',
    'passes',
  ],
  ['a trailer that frames', '5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n', 'request_malformed'],
  ['no size', '\r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a size of no number', 'xyz\r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a signed size', '+5\r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a space before the size', ' 5\r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a space behind the size', '5 \r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['an underscore', '0_5\r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a size beyond 2^64', '10000000000000005\r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a line feed alone behind the size', '5\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a carriage return alone behind the size', '5\rhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a line feed alone behind the data', '5\r\nhello\n0\r\n\r\n', 'request_malformed'],
  ['a line feed alone at the end', '5\r\nhello\r\n0\n\n', 'request_malformed'],
  ['no line break behind the data', '5\r\nhello0\r\n\r\n', 'request_malformed'],
  ['more data than said', '5\r\nhello!\r\n0\r\n\r\n', 'request_malformed'],
  ['a line feed in an extension', '5;a\nb\r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['a carriage return in an extension', '5;a\rb\r\nhello\r\n0\r\n\r\n', 'request_malformed'],
  ['an extension beyond all size', `5;${'a'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`, 'request_malformed'],
  ['trailers beyond all size', `5\r\nhello\r\n0\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, 'headers_too_large'],
  ['a folded trailer', '5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n', 'request_malformed'],
  ['a trailer with a NUL', '5\r\nhello\r\n0\r\nX: a\0\r\n\r\n', 'request_malformed'],
];

const headers: [name: string, lines: string, outcome: Outcome][] = [
  ['none but the key', '', 'passes'],
  ['an empty value', 'X-Empty:\r\n', 'passes'],
  ['bytes above ASCII', 'X-Odd: \xe9\xff\r\n', 'passes'],
  ['a tab inside', 'X-Tab: a\tb\r\n', 'passes'],
  ['the name of a prototype', '__proto__: x\r\nconstructor: y\r\nhasOwnProperty: z\r\n', 'passes'],
  ['a folded line', 'X-A: a\r\n b\r\n', 'request_malformed'],
  ['a line feed alone', 'X-A: a\nX-B: b\r\n', 'request_malformed'],
  ['a carriage return alone', 'X-A: a\rX-B: b\r\n', 'request_malformed'],
  ['a NUL', 'X-A: a\0b\r\n', 'request_malformed'],
  ['a control character', 'X-A: a\x01b\r\n', 'request_malformed'],
  ['a DEL', 'X-A: a\x7fb\r\n', 'request_malformed'],
  ['a space before the colon', 'X-A : a\r\n', 'request_malformed'],
  ['a tab before the colon', 'X-A\t: a\r\n', 'request_malformed'],
  ['a space in the name', 'X A: a\r\n', 'request_malformed'],
  ['no colon', 'X-A\r\n', 'request_malformed'],
  ['no name', ': a\r\n', 'request_malformed'],
  ['a byte above ASCII in the name', 'X-\xe9: a\r\n', 'request_malformed'],
  ['as many as may be', 'X-A: a\r\n'.repeat(98), 'passes'],
  ['one more than may be', 'X-A: a\r\n'.repeat(99), 'headers_too_large'],
  ['2,000', 'X-A: a\r\n'.repeat(1900), 'headers_too_large'],
  ['one of 12 KB', `X-A: ${'a'.repeat(12_000)}\r\n`, 'passes'],
  ['one of 20 KB', `X-A: ${'a'.repeat(20_000)}\r\n`, 'headers_too_large'],
  ['one with a name of 20 KB', `${'a'.repeat(20_000)}: a\r\n`, 'headers_too_large'],
  ['an unknown expectation', 'Expect: 200-maybe\r\n', 'expectation_failed'],
  ['an empty expectation', 'Expect:\r\n', 'expectation_failed'],
  ['two expectations', 'Expect: 100-continue\r\nExpect: 100-continue\r\n', 'request_malformed'],
  ['a list of expectations', 'Expect: 100-continue, x\r\n', 'expectation_failed'],
  ['an expectation without a body', 'Expect: 100-Continue\r\n', 'passes'],
  ['an upgrade to WebSocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n', 'upgrade_refused'],
  ['an upgrade in capitals', 'CONNECTION: UPGRADE\r\nUPGRADE: WEBSOCKET\r\n', 'upgrade_refused'],
  [
    'an upgrade to WebSocket with a key exchange',
    'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n',
    'upgrade_refused',
  ],
  ['an upgrade to HTTP/2', toHttp2, 'passes'],
  ['an upgrade to anything', 'Connection: Upgrade\r\nUpgrade: TLS/1.0, websocket\r\n', 'passes'],
  ['an upgrade without its Connection', 'Upgrade: websocket\r\n', 'passes'],
];

const smuggling: Case[] = [
  ...['DELETE', 'OPTIONS', 'GET', 'POST', 'PUT', 'PATCH', 'HEAD'].flatMap((method): Case[] => [
    {
      name: `a request inside the chunks of a ${method}`,
      bytes: post(chunked, insideChunked, method),
      outcome: 'passes',
    },
    {
      name: `a request inside the length of a ${method}`,
      bytes: post(`Content-Length: ${inside.length}\r\n`, inside, method),
      outcome: 'passes',
    },
  ]),
  {
    name: 'a length behind 2,000 headers (CVE-2026-58044)',
    bytes: `GET /v1/things/1 HTTP/1.1\r\n${keyed}${'a:\r\n'.repeat(2001)}Content-Length: ${inside.length}\r\n\r\n${inside}`,
    outcome: 'headers_too_large',
  },
  {
    name: 'chunks behind 2,000 headers',
    bytes: `GET /v1/things/1 HTTP/1.1\r\n${keyed}${'a:\r\n'.repeat(2001)}${chunked}\r\n${insideChunked}`,
    outcome: 'headers_too_large',
  },
  {
    name: 'a request behind an upgrade',
    bytes: get('/v1/files/a', 'Connection: Upgrade\r\nUpgrade: websocket\r\n') + inside,
    outcome: 'upgrade_refused',
  },
  {
    name: 'a request behind CONNECT',
    bytes: `CONNECT gateway.test:80 HTTP/1.1\r\n${keyed}\r\n${inside}`,
    outcome: 'path_malformed',
  },
  {
    name: 'a request behind both framings',
    bytes: post(`Content-Length: 4\r\n${chunked}`, `0\r\n\r\n${inside}`),
    outcome: 'request_malformed',
  },
  {
    name: 'a request behind a malformed path',
    bytes: get('//x') + get('/v1/files/a'),
    outcome: ['path_malformed', 'passes'],
  },
  {
    name: 'a request behind a refused short body',
    bytes: `DELETE /v1/things/1 HTTP/1.1\r\n${keyed}${five}\r\nhello${get('/v1/files/a')}`,
    outcome: ['body_unexpected', 'passes'],
  },
  {
    name: 'three requests in one packet',
    bytes: get('/v1/files/1') + post(chunked, insideChunked) + get('/v1/files/3'),
    outcome: ['passes', 'passes', 'passes'],
  },
  {
    name: 'a request in the name of nobody behind one of a caller',
    bytes: get('/v1/files/1') + 'GET /v1/files/2 HTTP/1.1\r\nHost: a\r\n\r\n',
    outcome: ['passes', 'key_missing'],
  },
  { name: 'garbage', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', outcome: 'request_malformed' },
  { name: 'a line of another protocol', bytes: 'EHLO gateway.test\r\n', outcome: 'request_malformed' },
  {
    name: 'an HTTP/2 preface and frames',
    bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
    outcome: 'request_malformed',
  },
];

const cases: Case[] = [
  ...paths.map(([name, target, outcome]) => ({ name: `path: ${name}`, bytes: get(target), outcome })),
  ...hosts.map(([name, host, outcome]) => ({
    name: `host: ${name}`,
    bytes: `GET /v1/files/a HTTP/1.1\r\n${host}apiKey: ${demoKey}\r\n\r\n`,
    outcome,
  })),
  ...requestLines.map(([name, line, outcome]) => ({
    name: `request line: ${name}`,
    bytes: `${line}\r\n${keyed}\r\n`,
    outcome,
  })),
  ...framings.map(([name, bytes, outcome]) => ({ name: `framing: ${name}`, bytes, outcome })),
  ...chunks.map(([name, body, outcome]) => ({
    name: `chunks: ${name}`,
    bytes: post(chunked, body),
    outcome,
  })),
  ...headers.map(([name, extra, outcome]) => ({
    name: `headers: ${name}`,
    bytes: get('/v1/files/a', extra),
    outcome,
  })),
  ...smuggling.map((one) => ({ ...one, name: `smuggling: ${one.name}` })),
];

let sent = 0;

for (const { name, bytes, outcome } of cases) {
  test(`only what was authorised gets through: ${name}`, async () => {
    const expected = [outcome].flat();
    const methods = [/^[A-Z]+/.exec(bytes)?.[0] ?? ''];
    const answers = await door.send(bytes, expected.length, methods);
    await door.stillServes();
    assert.deepEqual(
      answers.map(
        (answer) =>
          answer.headers['x-gatehouse-refusal'] ?? (answer.status === 200 ? 'passes' : answer.status),
      ),
      expected,
    );
    for (const [i, code] of expected.entries()) {
      if (code !== 'passes' && methods[0] !== 'HEAD') assertRefused(answers[i], code);
    }
    const through = door.reached();
    assert.equal(through.length, expected.filter((one) => one === 'passes').length);
    for (const request of through) {
      assert.ok(/^[A-Z]+ \/v1\/files\//.test(`${request.method} ${request.target}`));
      assert.notEqual(request.target, '/v1/things/smuggled');
      assert.equal(request.headers['x-gatehouse-key-id'], 'demo');
      assert.equal(request.headers['transfer-encoding'], undefined);
      assert.equal(request.headers['upgrade'], undefined);
      assert.equal(request.headers['expect'], undefined);
      assert.equal(Number(request.headers['content-length'] ?? 0), request.body.length);
    }
    sent += expected.length + 1;
  });
}

test('only what was authorised gets through: chunks that hold nothing are no body', async () => {
  const bytes = `DELETE /v1/things/1 HTTP/1.1\r\n${keyed}${chunked}\r\n0\r\n\r\n`;
  const [answer] = await door.send(bytes);
  assert.equal(answer?.status, 200);
  const [first] = door.reached();
  assert.equal(first?.method, 'DELETE');
  assert.equal(first.headers['transfer-encoding'], undefined);
  sent += 1;
});

test('every one of them is logged once, under an id of its own, and its key never', async () => {
  const lines = await until(() => {
    const found = door.gateway.logs().filter((line) => 'status' in line);
    return found.length >= sent ? found : undefined;
  });
  assert.equal(lines.length, sent);
  assert.equal(new Set(lines.map((line) => line['requestId'])).size, sent);
  assert.ok(!door.gateway.logText().includes(demoKey));
});

/** Node gives these the bare socket at once, even while an answer to an earlier request is under way on it. */
const bare = [
  ['an upgrade', get('/v1/files/2', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')],
  [
    'an upgrade without a key',
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ],
  ['CONNECT', 'CONNECT gateway.test:80 HTTP/1.1\r\nHost: a\r\n\r\n'],
] as const;

for (const [name, bytes] of bare) {
  test(`${name} behind requests in flight ends the connection and nothing else`, async (t) => {
    const large = Buffer.alloc(8 * 1024 * 1024, 'x');
    const { handler } = door.upstream;
    door.upstream.handler = (_, res) => res.end(large);
    t.after(() => (door.upstream.handler = handler));
    for (const [ahead, statuses] of [
      [get('/v1/files/1'), [200]],
      [get('/v1/files/1') + get('/v1/files/2'), [200, 200]],
      ['POST /v1/files/1 HTTP/1.1\r\nHost: a\r\n\r\n', [401]],
    ] as const) {
      const answers = await door.send(ahead + bytes, statuses.length + 1);
      assert.deepEqual(
        answers.map(({ status, complete }) => complete && status),
        statuses,
      );
    }
    await door.stillServes();
    await until(async () => (await door.gateway.inFlight()) === 0);
    assert.deepEqual(
      door.reached().map(({ target }) => target),
      ['/v1/files/1', '/v1/files/1', '/v1/files/2'],
    );
  });
}

test('what any client can send is no surprise: the log shows no stack for it', async () => {
  const text = await until(() => {
    const soFar = door.gateway.logText();
    return soFar.includes('an upgrade came behind a request under way') ? soFar : undefined;
  });
  assert.doesNotMatch(text, /"stack"/);
});

const inGzip = post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n');

for (const [name, doubtful] of [
  ['that alone', inGzip],
  ['with a malformed path', inGzip.replace('/v1/files/a', '//a')],
  ['with two hosts', inGzip.replace('Host: ', 'Host: a\r\nHost: ')],
] as const) {
  test(`behind a body that servers end in different places nothing is read: ${name}`, async (t) => {
    const raw = await openRaw(t, door.gateway.port);
    // It waits for the one ahead, and has been read by then.
    raw.write(get('/v1/files/1') + doubtful + get('/v1/files/2'));
    const [first, second, ...more] = parseResponses(await raw.receivedUntilClose(), { closed: true });
    assert.equal(first?.status, 200);
    assertRefused(second, 'request_malformed');
    assert.equal(second?.headers['connection'], 'close');
    assert.deepEqual(more, []);
    assert.deepEqual(
      door.reached().map(({ target }) => target),
      ['/v1/files/1'],
    );
  });
}

for (const [name, bytes, outcome] of [
  ['a GET', get('/v1/files/1', toHttp2), 200],
  ['one with a length', post(`${five}${toHttp2}`, 'hello'), 200],
  ['one that a proxy was to read', get('/v1/files/1', 'Proxy-Connection: Upgrade\r\nUpgrade: h2c\r\n'), 200],
  ['one with chunks', post(`${chunked}${toHttp2}`, '5\r\nhello\r\n0\r\n\r\n'), 200],
  ['one without a key', `GET /v1/files/1 HTTP/1.1\r\nHost: a\r\n${toHttp2}\r\n`, 401],
] as const) {
  test(`behind an upgrade that is ignored the connection ends, and no body becomes a request: ${name}`, async (t) => {
    const answered = Promise.withResolvers<void>();
    const { handler } = door.upstream;
    door.upstream.handler = async (...args) => {
      await answered.promise;
      handler(...args);
    };
    t.after(() => (door.upstream.handler = handler));
    const raw = await openRaw(t, door.gateway.port);
    const { requests } = door.upstream;
    const before = requests.length;
    raw.write(bytes + post(`Content-Length: ${inside.length}\r\n`, ''));
    await until(() => requests.length > before || raw.closed);
    raw.write(inside);
    // By the time it has answered others what came before has been read, if it is read at all.
    for (let turn = 0; turn < 3; turn += 1) await door.gateway.inFlight();
    answered.resolve();
    const [first, ...more] = parseResponses(await raw.receivedUntilClose(), { methods: [], closed: true });
    assert.equal(first?.status, outcome);
    assert.equal(first.headers['connection'], 'close');
    assert.deepEqual(more, []);
    assert.deepEqual(
      door.reached().map(({ target }) => target),
      outcome === 200 ? [bytes.split(' ')[1]] : [],
    );
  });
}

test('an upgrade that no Connection names asks for nothing, and its connection goes on', async () => {
  const bytes = get('/v1/files/1', 'Connection: keep-alive\r\nUpgrade: h2c\r\n') + get('/v1/files/2');
  const answers = await door.send(bytes, 2);
  assert.deepEqual(
    answers.map((answer) => [answer.status, answer.headers['connection']]),
    [
      [200, 'keep-alive'],
      [200, 'keep-alive'],
    ],
  );
  door.reached();
});

for (const [expectation, status] of [
  ['100-continue', 200],
  ['200-maybe', 417],
] as const) {
  test(`an expectation of which no body can follow takes nothing from the request behind it: ${expectation}`, async () => {
    const bytes = get('/v1/files/1', `Expect: ${expectation}\r\n`) + get('/v1/files/2');
    const answers = await door.send(bytes, 2);
    assert.deepEqual(
      answers.map((answer) => [answer.status, answer.headers['connection']]),
      [
        [status, 'keep-alive'],
        [200, 'keep-alive'],
      ],
    );
    door.reached();
  });
}

test('nonsense behind requests in flight takes none of their answers away', async () => {
  const answers = await door.send(`${get('/v1/files/1')}${get('/v1/files/2')}nonsense\r\n\r\n`, 3);
  assert.deepEqual(
    answers.map((answer) => [answer.status, answer.headers['connection']]),
    [
      [200, 'keep-alive'],
      [200, 'close'],
    ],
  );
  door.reached();
});

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const waves = Number(process.env['TEST_WAVES'] ?? 4);
const waveSize = 250;

test(`what is random gets no further than what is meant (TEST_SEED=${seed})`, async () => {
  const fraction = createRandom(seed);
  const random: Random = (below) => Math.floor(fraction() * below);
  for (let wave = 0; wave < waves; wave += 1) {
    const isKeyed = wave % 2 === 0;
    const answers = await sendAll(Array.from({ length: waveSize }, () => mutate(random, isKeyed)));
    // A request may be on its way to the upstream when its client has left.
    await until(async () => (await door.gateway.inFlight()) === 0);
    await door.stillServes();
    const through = door.reached();
    if (!isKeyed) assert.deepEqual(through, []);
    for (const { method, target, headers: seen, body, complete } of through) {
      assert.match(
        `${method} ${target}`,
        /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \/v1\/(?:files|things)\/[!-~]*$/,
      );
      assert.doesNotMatch(target.split('?', 1)[0] ?? '', /\/\/|\/\.{1,2}(?:\/|$)|[\\#;]|%2[ef]|%5c|%0/i);
      assert.equal(seen['x-gatehouse-key-id'], 'demo');
      assert.equal(seen['transfer-encoding'], undefined);
      if (complete) assert.equal(body.length, Number(seen['content-length'] ?? 0));
    }
    const passed = answers.filter(({ status }) => status === 200).length;
    assert.ok(passed <= through.length, `${passed} answers for ${through.length} requests`);
    for (const answer of answers) {
      assert.ok(answer.status === 200 || answer.headers['x-gatehouse-refusal'], `${answer.status} of nobody`);
    }
  }
});

/** Writes each on a connection of its own; gathers what comes back until all are answered or nothing more comes. */
async function sendAll(all: readonly Buffer[]): Promise<RawResponse[]> {
  const undo: (() => unknown)[] = [];
  const sockets = await Promise.all(
    all.map(() => openRaw({ after: (action) => undo.push(action) }, door.gateway.port)),
  );
  for (const [i, socket] of sockets.entries()) socket.write(all[i] ?? '');
  let received = -1;
  let quietSince = performance.now();
  await until(() => {
    const now = sockets.reduce((sum, socket) => sum + socket.received().length, 0);
    if (now !== received) quietSince = performance.now();
    received = now;
    return performance.now() - quietSince > quietMs;
  });
  undo.forEach((action) => action());
  return sockets.flatMap((socket) =>
    parseResponses(socket.received(), { closed: socket.closed }).filter(({ status }) => status >= 200),
  );
}

const quietMs = 100;
const insideUnkeyed = 'GET /v1/things/smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
const odd = [
  '\0',
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '/',
  '//',
  '..',
  '%',
  '%2e',
  '%00',
  '\\',
  '#',
  '?',
];
const oddLines = [
  'Content-Length: 0\r\n',
  'Content-Length: 40\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: \r\n',
  'Host: a\r\n',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  'Connection: upgrade\r\nUpgrade: websocket\r\n',
  ' folded\r\n',
  'X-Gatehouse-Key-Id: root\r\n',
  insideUnkeyed,
  '0\r\n\r\n',
];

/** A whole number below another. */
type Random = (below: number) => number;

/** One valid request, with or without a key, with one to four faults in it. */
function mutate(random: Random, isKeyed: boolean): Buffer {
  const method = ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'][random(5)] ?? 'GET';
  const framed = [
    '\r\n',
    'Content-Length: 11\r\n\r\nhello world',
    'Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n',
    `Transfer-Encoding: chunked\r\n\r\n${insideUnkeyed.length.toString(16)}\r\n${insideUnkeyed}\r\n0\r\n\r\n`,
  ][random(4)];
  const template = isKeyed ? `apiKey: ${demoKey}\r\n` : 'apiKey: k-dem\r\n';
  let text = `${method} /v1/files/a%20b/c?d=e HTTP/1.1\r\nHost: gateway.test\r\n${template}${framed}`;
  for (let faults = 1 + random(4); faults > 0; faults -= 1) text = spoil(text, random);
  return Buffer.from(text, 'latin1');
}

function spoil(text: string, random: Random): string {
  const at = random(text.length);
  const lines = text.split('\r\n');
  const line = random(lines.length);
  switch (random(7)) {
    case 0:
      return text.slice(0, at) + String.fromCharCode(random(256)) + text.slice(at + 1);
    case 1:
      return text.slice(0, at) + text.slice(at + 1 + random(3));
    case 2:
      return text.slice(0, at) + (odd[random(odd.length)] ?? '') + text.slice(at);
    case 3:
      return lines.toSpliced(line, 0, lines[line] ?? '').join('\r\n');
    case 4:
      return lines.toSpliced(line, 1).join('\r\n');
    case 5: {
      const extra = oddLines[random(oddLines.length)] ?? '';
      return lines.toSpliced(line, 0, extra.replace(/\r\n$/, '')).join('\r\n');
    }
    default: {
      const lower = text.charAt(at).toLowerCase();
      const other = text.charAt(at) === lower ? lower.toUpperCase() : lower;
      return text.slice(0, at) + other + text.slice(at + 1);
    }
  }
}
