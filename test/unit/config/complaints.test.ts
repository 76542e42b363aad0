import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalCodes } from '../../../src/refusals.ts';
import { digestOf } from '../../helpers/a-key.ts';
import { makeCertificate } from '../../helpers/certificates.ts';
import { complaints } from '../../helpers/complaints.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

const upstream = 'upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }\n';
const least = `${upstream}routes: [{ path: /x, methods: [GET], upstream: a }]\n`;
const withBody = (rule: string) => `{ path: /v1/${rule.length}, methods: [POST], body: { ${rule} } }`;
const upload = (rule: string) => `{ path: /v1/x, methods: [POST], body: { upload: { ${rule} } } }`;
const routes = (...lines: readonly string[]) =>
  `${upstream}versions: { v1: { upstream: a } }\nroutes:\n${lines.map((line) => `  - ${line}\n`).join('')}`;
const keys = (...lines: readonly string[]) =>
  `${least}plans: { free: {} }\nkeys:\n${lines.map((line) => `  - ${line}\n`).join('')}`;

const plan = (text: string) => `${least}plans: { p: ${text} }\n`;
const costly = (plans: string) =>
  `${least.replace('upstream: a', 'upstream: a, cost: 5')}plans: { ${plans} }\n`;

const cases: readonly { name: string; text: string; says: readonly string[] }[] = [
  // YAML
  { name: 'an empty file', text: '', says: ['1:1: is empty, it must be a mapping (option: value)'] },
  {
    name: 'a token of digits that lacks its key',
    text: 'admin: { tokens: [90817263544738291] }',
    says: [
      '1:1: upstreams: is missing',
      '1:1: routes: is missing',
      '1:19: admin.tokens[0]: must be a mapping (option: value), not a number',
    ],
  },
  { name: 'a file of text', text: 'hello', says: ['1:1: must be a mapping (option: value), not text'] },
  { name: 'a tab', text: 'log:\n\tlevel: info\n', says: ['2:1: tabs cannot indent, use spaces'] },
  {
    name: 'a tab inside brackets',
    text: 'log: {\n\tlevel: info\n}\nkeys: []\n',
    says: ['2:1: tabs cannot indent, use spaces'],
  },
  {
    name: 'a tab before the end of brackets',
    text: 'admin:\n  tokens: [\n    { name: a, hash: x }\n\t]\nkeys: []\n',
    says: ['4:1: tabs cannot indent, use spaces'],
  },
  {
    name: 'an open quote',
    text: 'log: "x',
    says: ['1:6: this " is not closed: a " is missing, or lines up to it are not indented enough'],
  },
  {
    name: 'a quote that is open to the end of the file',
    text: "log:\n  level: 'info\nroutes: [{ path: /x }]\nlisten: 1\n",
    says: ["2:10: this ' is not closed: a ' is missing, or lines up to it are not indented enough"],
  },
  {
    name: 'a quote that is open inside brackets',
    text: 'keys: [{ id: a, plan: "b }]\nroutes: []\n',
    says: ['1:23: this " is not closed: a " is missing, or lines up to it are not indented enough'],
  },
  {
    name: 'a mapping that is not closed',
    text: 'log: {}\ndrain: { delay: 1s, timeout: 2s\nadmin: {}\n',
    says: ['2:8: this { is not closed: a } is missing, or lines up to it are not indented enough'],
  },
  {
    name: 'two lists that are not closed',
    text: 'routes:\n  - { path: /x, methods: [GET }\n  - { path: /y }\ntrustProxy: [a',
    says: [
      '2:26: this [ is not closed: a ] is missing, or lines up to it are not indented enough',
      '4:13: this [ is not closed: a ] is missing, or lines up to it are not indented enough',
    ],
  },
  {
    name: 'a mapping whose lines are not indented',
    text: 'log: {\nlevel: info\n}\n',
    says: [
      '1:6: this { is not closed: a } is missing, or lines up to it are not indented enough',
      '3:1: this } closes nothing',
    ],
  },
  {
    name: 'a bracket too many',
    text: 'a: [1]]\nb: 2\n',
    says: ['1:7: this ] closes nothing'],
  },
  {
    name: 'commas that are missing very many times',
    text: `a: {${' b: 1 c: 2'.repeat(5000)}}\n`,
    says: ['1:1: the file is nested too deeply, or very many commas are missing'],
  },
  {
    name: 'commas that are missing',
    text: 'a: { cost: 1 body: none }\nb: { cost: "1" "body": none to: x }\nc: { d: 1\n  e: 2 }\nf: { g: [1] h: 2 }\n',
    says: [
      '1:13: a comma is missing here, or quotes around a text with ": " in it',
      '2:15: a comma is missing here, or quotes around a text with ": " in it',
      '2:28: a comma is missing here, or quotes around a text with ": " in it',
      '3:10: a comma is missing here, or quotes around a text with ": " in it',
      '5:12: a comma is missing here',
    ],
  },
  {
    name: 'a comma that is missing between mappings',
    text: 'routes: [{ path: /x } { path: /y }]\n',
    says: ['1:22: a comma is missing here'],
  },
  {
    name: 'a dash without a space after it',
    text: 'routes:\n  -{ path: /v1/a, methods: [GET] }\n  - { path: /v1/b }',
    says: ['2:3: a space is missing after this -'],
  },
  {
    name: 'such a dash in the last item',
    text: 'routes:\n  - { path: /v1/a }\n  -{ path: /v1/b, methods: [GET] }\nversions: { v1: { upstream: a }',
    says: ['3:3: a space is missing after this -'],
  },
  {
    name: 'such a dash in front of several lines',
    text: 'routes:\n  -{ path: /v1/a,\n      methods: [GET] }',
    says: ['2:3: a space is missing after this -'],
  },
  {
    name: 'such a dash in front of a key',
    text: 'routes:\n  -path: /v1/a\n    methods: [GET]\n    upstream: a\n',
    says: ['2:3: a space is missing after this -'],
  },
  {
    name: 'such a dash above an item that has its space, where lines end as on Windows',
    text: 'routes:\r\n  -path: /v1/a\r\n  - path: /v1/b\r\n',
    says: ['2:3: a space is missing after this -'],
  },
  {
    name: 'such a dash in front of the last of several texts',
    text: 'targets:\n  - http://a\n  -http://b\nlisten: 1\n',
    says: ['3:3: a space is missing after this -'],
  },
  {
    name: 'such a dash in front of each of several texts',
    text: 'upstreams:\n  a:\n    targets:\n      -http://a\n      -http://b\n',
    says: [
      '1:1: routes: is missing',
      '3:5: upstreams.a.targets: must be a list: a space is missing after a -',
    ],
  },
  {
    name: 'such a dash in front of the one line of a list',
    text: 'upstreams: { a: { targets: ["http://a"] } }\nroutes:\n  -path: /v1/a\n',
    says: ['2:1: routes: must be a list: a space is missing after a -'],
  },
  {
    name: 'what looks like it and is a number',
    text: 'enum: [\n  -1,\n  "a" "b"\n]\n',
    says: [
      '3:7: something is missing here: a ":" or the space after it, a comma, a closing quote or a bracket',
    ],
  },
  {
    name: 'what looks like it within a text',
    text: 'routes:\n  - name: |\n      -{ a }\n    path: /v1/a\n    cost: }',
    says: ['5:11: this } closes nothing'],
  },
  {
    name: 'a mapping of lines inside braces',
    text: 'log: { a:\n  b c: d }\nlisten: { a: b: c }\n',
    says: [
      '2:3: inside {} and [] everything must be written with {} and []',
      '3:14: inside {} and [] everything must be written with {} and []',
    ],
  },
  ...['{ id: a, secret: ${X}, plan: b }', '[a, ${file:/x}]', '[http://${X}:80]'].map((value) => ({
    name: `a "\${" without quotes in ${value}`,
    text: `keys:\n  - ${value}\n  - { id: b }\nroutes: []\n`,
    says: [
      `2:${value.indexOf('$') + 5}: inside {} and [] a value with \${…} must be in quotes, such as '\${NAME}'`,
    ],
  })),
  {
    name: 'two documents',
    text: `${least}---\n${least}`,
    says: ['3:1: the file must hold one document, remove the "---"'],
  },
  {
    name: 'another YAML version',
    text: `%YAML 1.1\n---\n${least}`,
    says: ['1:1: only YAML 1.2 is read, remove the %YAML line'],
  },
  {
    name: 'an unknown tag',
    text: `${least}forwarded: !secret x\n`,
    says: ['3:12: this tag is not known, remove it'],
  },
  {
    name: 'tags of what JSON lacks',
    text: `${least}errors: { key_missing: { fields: { a: !!binary aGk=, b: !!timestamp 2026-01-01, c: !!omap [d: 1] } } }\n`,
    says: [
      '3:39: this tag is not known, remove it',
      '3:57: this tag is not known, remove it',
      '3:84: this tag is not known, remove it',
    ],
  },
  {
    name: 'a repeated key',
    text: `${least}log: {}\nlog: {}\n`,
    says: ['4:1: log: this key is there twice, first on line 3'],
  },
  {
    name: 'a line that is not indented far enough, above one that is',
    text: `${least}log:\n level: info\n  format: json\n`,
    says: [
      '5:1: this line and the one above must start in the same column, or the text there goes on here and needs quotes',
    ],
  },
  {
    name: 'lines that are indented too far',
    text: `${least}log:\n  level: info\n   format: json\ndrain:\n  delay: 1s\n    timeout: 2s\n`,
    says: [
      '5:1: this line and the one above must start in the same column, or the text there goes on here and needs quotes',
      '8:1: this line and the one above must start in the same column, or the text there goes on here and needs quotes',
    ],
  },
  {
    name: 'a line that is indented neither as the item of a list above it nor as the list',
    text: `${least}keys:\n  - id: a\n   plan: p\n`,
    says: ['5:1: the indentation is wrong, lines of one mapping or list must start in the same column'],
  },
  { name: 'a list as a key', text: `${least}? [a]\n: b\n`, says: ['3:3: a key must be plain text'] },
  {
    name: 'a merge key',
    text: `${least}log: { <<: { level: info } }\n`,
    says: ['3:8: log.<<: merge keys (<<) are not read, write the options out'],
  },
  {
    name: '__proto__',
    text: `${least}plans: { __proto__: {} }\n`,
    says: ['3:10: plans.__proto__: this key is not allowed'],
  },
  {
    name: 'an alias to nothing',
    text: `${least}log: *nothing\n`,
    says: ['3:1: log: there is no anchor (&name) for this alias above it'],
  },
  // shape
  {
    name: 'an id of digits, which is another one without its zeros',
    text: keys(`{ id: 00421, plan: free, hash: "sha256:${digestOf('a')}" }`),
    says: ['5:7: keys[0].id: must be text, put the value in quotes'],
  },
  {
    name: 'choices that are no text, which quotes would not make right',
    text: plan('{ consistency: true, charge: [success], onStoreFailure: }').replace('GET', '5'),
    says: [
      '2:32: routes[0].methods[0]: 5 is not one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, QUERY, PROPFIND, PROPPATCH, MKCOL, COPY, MOVE, LOCK, UNLOCK, REPORT, SEARCH',
      '3:15: plans.p.consistency: true is not one of leased, strict',
      '3:34: plans.p.charge: a list is not one of forwarded, answered, success',
      '3:53: plans.p.onStoreFailure: is empty, choose from refuse, allow',
    ],
  },
  {
    name: 'a half-written room',
    text: `${least}log:\n`,
    says: ['3:1: log: is empty, it must be a mapping (option: value); {} has the defaults'],
  },
  {
    name: 'missing rooms',
    text: 'forwarded: true\n',
    says: ['1:1: upstreams: is missing', '1:1: routes: is missing'],
  },
  {
    name: 'what stands beside a missing option',
    text: `upstreams: { a: { ca: x } }
versions: { v1: { sunset: 2025-01-01, deprecated: 2026-01-01 } }
plans: { p: { quotas: [{ limit: 1, per: day, at: "06:00", anchor: monday }] } }
keys: [{ id: k, secret: short }, { plan: q, secret: short }]
routes:
  - { path: /v1/x, upgrade: websocket, upstream: b }
  - { path: /v1/y, methods: [POST], body: { upload: { fields: { maxSize: 1GB } } } }
`,
    says: [
      '1:14: upstreams.a.targets: is missing',
      '1:19: upstreams.a.ca: is not PEM certificates (-----BEGIN CERTIFICATE-----)',
      '2:13: versions.v1.upstream: is missing',
      '2:19: versions.v1.sunset: is before deprecated',
      '3:24: plans.p.quotas[0].name: is missing',
      '3:59: plans.p.quotas[0].anchor: does not fit per: day, a day starts at a time, write at: "06:00"',
      '4:8: keys[0].plan: is missing',
      '4:34: keys[1].id: is missing',
      '4:36: keys[1].plan: there is no plan "q", choose from p',
      '4:45: keys[1].secret: is the secret of keys[0] (line 4) too',
      '6:5: routes[0].methods: is missing',
      '6:40: routes[0].upstream: there is no upstream "b", choose from a',
      '7:45: routes[1].body.upload.files: is missing',
      '7:65: routes[1].body.upload.fields.maxSize: times maxCount is more than 4 MB, and text fields are held in memory',
    ],
  },
  {
    name: 'an option of a later version',
    text: `${least}reload: {}\n`,
    says: [
      '3:1: reload: unknown option, choose from listen, admin, basePath, workers, trustProxy, store, storeDeadline, auth, plans, keys, upstreams, versions, routes, usage, errors, limits, spool, forwarded, drain, log',
    ],
  },
  {
    name: 'a duration without a unit',
    text: `${least}drain: { timeout: 30 }\n`,
    says: ['3:10: drain.timeout: 30 has no unit, write 250ms, 10s or 5m'],
  },
  {
    name: 'a quoted duration without a unit',
    text: `${least}drain: { timeout: "30" }\n`,
    says: ['3:10: drain.timeout: "30" has no unit, write 250ms, 10s or 5m'],
  },
  {
    name: 'a duration that a timer cannot hold',
    text: `${least}drain: { timeout: 25d }\n`,
    says: ['3:10: drain.timeout: "25d" is too long, the longest is 24d'],
  },
  {
    name: 'a duration that cannot be counted',
    text: `${least}drain: { timeout: 99999999999999999d }\n`,
    says: ['3:10: drain.timeout: "99999999999999999d" is too long, the longest is 24d'],
  },
  {
    name: 'a size that cannot be counted',
    text: `${least}limits: { bodyMemory: 8388608GB }\n`,
    says: ['3:11: limits.bodyMemory: "8388608GB" is too large'],
  },
  {
    name: 'a drain that a timer cannot hold, though each of its times is one',
    text: `${least}drain: { delay: 1d, timeout: 24d }\n`,
    says: ['3:21: drain.timeout: and delay together are longer than 24d'],
  },
  {
    name: 'no time at all',
    text: `${least}limits: { keepAlive: 0s }\n`,
    says: ['3:11: limits.keepAlive: "0s" must be longer than nothing'],
  },
  {
    name: 'a size without a unit',
    text: `${least}limits: { bodyMemory: 1000 }\n`,
    says: ['3:11: limits.bodyMemory: 1000 has no unit, write 512B, 16KB or 10MB'],
  },
  {
    name: 'a negative limit',
    text: `${least}limits: { connections: -1 }\n`,
    says: ['3:11: limits.connections: -1 is too small, the least is 1'],
  },
  {
    name: 'an infinite limit',
    text: `${least}limits: { connections: .inf }\n`,
    says: ['3:11: limits.connections: must be a whole number, not Infinity'],
  },
  {
    name: 'half a limit, which is below the least too',
    text: `${least}limits: { connections: 0.5 }\n`,
    says: ['3:11: limits.connections: must be a whole number, not 0.5'],
  },
  {
    name: 'a half above the most',
    text: `${least}workers: 256.5\n`,
    says: ['3:1: workers: 256.5 is not a number of workers, write 1, 2, … or auto'],
  },
  {
    name: 'yes',
    text: `${least}forwarded: yes\n`,
    says: ['3:1: forwarded: must be true or false, not "yes"'],
  },
  {
    name: 'a refusal like no other',
    text: `${least}errors: { nope: {} }\n`,
    says: [
      `3:11: errors.nope: there is no refusal "nope", choose from ${refusalCodes.slice(0, 20).join(', ')} or ${refusalCodes.length - 20} more`,
    ],
  },
  {
    name: 'an unknown refusal',
    text: `${least}errors: { key_mising: {} }\n`,
    says: ['3:11: errors.key_mising: there is no refusal "key_mising", did you mean "key_missing"?'],
  },
  {
    name: 'what is wrong in others beside a name that is none',
    text: `${least}errors: { key_mising: {}, client_gone: {} }\n`,
    says: [
      '3:11: errors.key_mising: there is no refusal "key_mising", did you mean "key_missing"?',
      '3:27: errors.client_gone: is never answered, the client has left: remove it',
    ],
  },
  {
    name: 'a refusal that sounds like another',
    text: `${least}errors: { quota_exceeded: {} }\n`,
    says: [
      `3:11: errors.quota_exceeded: there is no refusal "quota_exceeded", choose from ${refusalCodes.slice(0, 20).join(', ')} or ${refusalCodes.length - 20} more`,
    ],
  },
  {
    name: 'two letters that changed places in a short name',
    text: `${least}sotre: sqlite:./a.db\nLgo: {}\n`,
    says: [
      '3:1: sotre: unknown option, did you mean "store"?',
      '4:1: Lgo: unknown option, did you mean "log"?',
    ],
  },
  {
    name: 'what is missing because it is misspelt, once',
    text: 'upstraems: { a: { targets: ["http://127.0.0.1:9000"] } }\nroutes: [{ path: /x, method: [POST], upstream: a, upgrade: websocket }]\n',
    says: [
      '1:1: upstraems: unknown option, did you mean "upstreams"?',
      '2:22: routes[0].method: unknown option, did you mean "methods"?',
    ],
  },
  {
    name: 'a section that is misspelt, and not each name in it',
    text: `${upstream}plnas: { free: {} }\nkeys: [{ id: a, plan: free, secret: ${'k'.repeat(32)} }]\nversion: { v1: { upstream: a } }\nroutes: [{ path: /v1/x, methods: [GET] }]\n`,
    says: [
      '2:1: plnas: unknown option, did you mean "plans"?',
      '4:1: version: unknown option, did you mean "versions"?',
    ],
  },
  {
    name: 'two letters that changed places, which makes another name as near',
    text: routes('{ path: /v1/x, methods: [PUT], body: { file: { mniSize: 2B } } }'),
    says: ['4:52: routes[0].body.file.mniSize: unknown option, did you mean "minSize"?'],
  },
  {
    name: 'a status that is no error',
    text: `${least}errors: { internal: { status: 200 } }\n`,
    says: ['3:23: errors.internal.status: 200 is too small, the least is 400'],
  },
  {
    name: 'error among the fields',
    text: `${least}errors: { internal: { fields: { error: x } } }\n`,
    says: ['3:33: errors.internal.fields.error: is the sentence of the answer, write it as message'],
  },
  {
    name: 'numbers that no answer can hold',
    text: `${least}errors: { internal: { fields: { a: 9007199254740991, b: 1.5, c: [-0.5, .nan], d: { e/f: 1e400 }, g: 9007199254740993 } } }\n`,
    says: [
      '72: errors.internal.fields.c[1]',
      '84: errors.internal.fields.d["e…"]',
      '98: errors.internal.fields.g',
    ].map((place) => `3:${place}: cannot be answered as this number, put it in quotes`),
  },
  {
    name: 'an answer to nobody',
    text: `${least}errors: { client_gone: { status: 500 } }\n`,
    says: ['3:11: errors.client_gone: is never answered, the client has left: remove it'],
  },
  {
    name: 'another store',
    text: `${least}store: redis://user:pa/ss@host?x=1#y\n`,
    says: [
      '3:1: store: the value is not a store address: write / ? # @ in a user or password as %2F %3F %23 %40',
    ],
  },
  {
    name: 'bad networks',
    text: `${least}trustProxy: [10.0.0.0/33, 0.0.0.0/00, "::/08", 10.0.0.1/8]\n`,
    says: [
      '3:14: trustProxy[0]: "10.0.0.0/33" is not a network, write an address, or a block by its first address such as 10.0.0.0/8',
      '3:27: trustProxy[1]: "0.0.0.0/00" is not a network, write an address, or a block by its first address such as 10.0.0.0/8',
      '3:39: trustProxy[2]: "::/08" is not a network, write an address, or a block by its first address such as 10.0.0.0/8',
      '3:48: trustProxy[3]: "10.0.0.1/8" is not a network, write an address, or a block by its first address such as 10.0.0.0/8',
    ],
  },
  {
    name: 'a framing header',
    text: `${least}auth: { header: Content_Length }\n`,
    says: [
      '3:9: auth.header: "Content_Length" is a header with a meaning of its own, a key cannot travel in it',
    ],
  },
  ...['user_agent', 'Cookie', 'set-cookie', 'Sec-WebSocket-Key'].map((name) => ({
    name: `the key in ${name}`,
    text: `${least}auth: { header: ${name} }\n`,
    says: [`3:9: auth.header: "${name}" is a header with a meaning of its own, a key cannot travel in it`],
  })),
  ...['X-Real-IP', 'http2_settings', 'Proxy', 'X-Original-URL', 'X-HTTP-Method'].map((name) => ({
    name: `${name}, which is stripped with whatever is in it,`,
    text: `${least}auth: { header: ${name}, forwardKey: true }\n`,
    says: [`3:9: auth.header: "${name}" is a header with a meaning of its own, a key cannot travel in it`],
  })),
  {
    name: 'values that are empty',
    text: `${least}listen:\nworkers:\nstore:\nforwarded:\ndrain: { timeout: }\nlimits: { connections: }\n`,
    says: [
      '3:1: listen: is empty, write 0.0.0.0:8080, "[::]:8080" or 8080',
      '4:1: workers: is empty, write 1, 2, … or auto',
      '5:1: store: is empty, it must be text',
      '6:1: forwarded: is empty, it must be true or false',
      '7:10: drain.timeout: is empty, write 250ms, 10s, 5m, 2h or 7d',
      '8:11: limits.connections: is empty, it must be a whole number',
    ],
  },
  {
    name: 'a port that is none',
    text: `${least}listen: 70000\n`,
    says: ['3:1: listen: 70000 is too large, the most is 65535'],
  },
  // expansion
  {
    name: 'an unset variable',
    text: `${least}listen: \${PORT_OF_GATEHOUSE}\n`,
    says: [
      '3:1: listen: the environment variable PORT_OF_GATEHOUSE is not set; set it, or write ${PORT_OF_GATEHOUSE:-default}',
    ],
  },
  {
    name: 'a file that is not there',
    text: `${least}listen: \${file:/no/such/file}\n`,
    says: ['3:1: listen: the file /no/such/file cannot be read: there is no such file'],
  },
  {
    name: 'a relative file',
    text: `${least}listen: \${file:port}\n`,
    says: ['3:1: listen: the path in a "${file:…}" must be absolute, such as ${file:/run/secrets/key}'],
  },
  {
    name: 'an endless reference',
    text: `${least}listen: \${PORT\n`,
    says: ['3:1: listen: a "${" has no "}" to end it (write "$${" for the characters "${")'],
  },
  // listeners
  {
    name: 'no workers',
    text: `${least}workers: 0\n`,
    says: ['3:1: workers: 0 is too small, the least is 1'],
  },
  {
    name: 'workers in words',
    text: `${least}workers: many\n`,
    says: ['3:1: workers: "many" is not a number of workers, write 1, 2, … or auto'],
  },
  {
    name: 'workers and a concurrency from the environment that are no numbers',
    text: `${least}workers: "\${W:-many}"\nplans: { free: { concurrency: "\${C:-few}" } }\n`,
    says: [
      '3:1: workers: the value is not a number of workers, write 1, 2, … or auto',
      '4:18: plans.free.concurrency: must be a whole number or a mapping (option: value)',
    ],
  },
  {
    name: 'too many workers from the environment',
    text: `${least}workers: "\${W:-257}"\n`,
    says: ['3:1: workers: the value is too large, the most is 256'],
  },
  {
    name: 'a public admin address',
    text: `${least}admin: { listen: 0.0.0.0:9090 }\n`,
    says: ['3:10: admin.listen: is not a loopback address, so admin.token or admin.tokens is needed'],
  },
  {
    name: 'a bare admin port',
    text: `${least}admin: { listen: 9090 }\n`,
    says: ['3:10: admin.listen: is not a loopback address, so admin.token or admin.tokens is needed'],
  },
  {
    name: 'tokens of operators that are short, double, unnamed or none at all',
    text: `${least}admin:
  token: token-of-the-old-way
  tokens:
    - { name: admin, token: short, role: write }
    - { name: ada }
    - { name: ada, token: token-of-the-old-way, hash: "sha256:${'0'.repeat(64)}" }
    - { token: token-of-the-old-way, role: root }
`,
    says: [
      '6:9: admin.tokens[0].name: is the name of admin.token too',
      '6:22: admin.tokens[0].token: is shorter than 16 characters and can be guessed',
      '7:7: admin.tokens[1]: needs a token or a hash',
      '8:9: admin.tokens[2].name: is the name of admin.tokens[1] (line 7) too',
      '8:20: admin.tokens[2].token: is the token of admin (line 3) too',
      '8:49: admin.tokens[2].hash: stands beside a token, only one of them can',
      '9:7: admin.tokens[3].name: is missing',
      '9:9: admin.tokens[3].token: is the token of admin (line 3) too',
      '9:38: admin.tokens[3].role: there is no "root", choose from read, write',
    ],
  },
  {
    name: 'tokens with several mistakes each',
    text: `${least}admin:
  token: short
  tokens:
    - { name: admin, token: short, role: root }
    - { name: ada, token: tiny, hash: none }
`,
    says: [
      '4:3: admin.token: is shorter than 16 characters and can be guessed',
      '6:9: admin.tokens[0].name: is the name of admin.token too',
      '6:22: admin.tokens[0].token: is the token of admin (line 3) too',
      '6:22: admin.tokens[0].token: is shorter than 16 characters and can be guessed',
      '6:36: admin.tokens[0].role: there is no "root", choose from read, write',
      '7:20: admin.tokens[1].token: is shorter than 16 characters and can be guessed',
      '7:33: admin.tokens[1].hash: the value must be sha256: and 64 hexadecimal digits',
      '7:33: admin.tokens[1].hash: stands beside a token, only one of them can',
    ],
  },
  {
    name: 'tokens of a wrong form at an open address',
    text: `${least}admin: { listen: 9090, token: 5, tokens: 6 }\n`,
    says: [
      '3:24: admin.token: must be text, put the value in quotes',
      '3:34: admin.tokens: must be a list, not a number',
    ],
  },
  {
    name: 'one address for both',
    text: `${least}listen: 127.0.0.1:9090\n`,
    says: ['3:1: listen: is the address of admin.listen too, they must differ'],
  },
  // keys
  {
    name: 'keys and a token without a secret, which is not the same one',
    text: `${keys('{ id: a, plan: free }', '{ id: b, plan: free }')}admin: { tokens: [{ name: ada, role: read }] }\n`,
    says: [
      '5:5: keys[0]: needs a secret or a hash',
      '6:5: keys[1]: needs a secret or a hash',
      '7:19: admin.tokens[0]: needs a token or a hash',
    ],
  },
  {
    name: 'an empty secret',
    text: keys('{ id: a, plan: free, secret: "" }'),
    says: ['5:26: keys[0].secret: is empty'],
  },
  {
    name: 'a number as a secret',
    text: keys('{ id: a, plan: free, secret: 123456 }'),
    says: ['5:26: keys[0].secret: must be text, put the value in quotes'],
  },
  {
    name: 'secrets that are variables which nobody replaced',
    text: keys(
      ...['$ACME_KEY', '$(ACME_KEY)', '$${ACME_KEY}', '{{ACME_KEY}}', '%ACME_KEY%', '<your-secret-key>'].map(
        (secret, at) => `{ id: k${at}, plan: free, secret: "${secret}" }`,
      ),
    ),
    says: Array.from(
      { length: 6 },
      (_, at) =>
        `${5 + at}:27: keys[${at}].secret: looks like a variable that was not replaced, write \${NAME}`,
    ),
  },
  {
    name: 'tokens that are variables which nobody replaced',
    text: `${least}admin: { token: $TOKEN, tokens: [{ name: one, token: "{{ADMIN_TOKEN_OF_ONE}}" }] }\n`,
    says: [
      '3:10: admin.token: looks like a variable that was not replaced, write ${NAME}',
      '3:47: admin.tokens[0].token: looks like a variable that was not replaced, write ${NAME}',
    ],
  },
  {
    name: 'a hash in the place of the secret or token',
    text: `${keys(`{ id: a, plan: free, secret: "sha256:${'0a'.repeat(32)}" }`)}admin: { tokens: [{ name: one, token: "sha256:${'0B'.repeat(32)}" }] }\n`,
    says: [
      '5:26: keys[0].secret: is a hash, not the secret itself: write it as hash',
      '6:32: admin.tokens[0].token: is a hash, not the token itself: write it as hash in admin.tokens',
    ],
  },
  {
    name: 'both secret and hash',
    text: keys(`{ id: a, plan: free, secret: ${'s'.repeat(20)}, hash: sha256:${'0'.repeat(64)} }`),
    says: ['5:56: keys[0].hash: stands beside a secret, only one of them can'],
  },
  {
    name: 'a short hash',
    text: keys('{ id: a, plan: free, hash: sha256:abc }'),
    says: ['5:26: keys[0].hash: the value must be sha256: and 64 hexadecimal digits'],
  },
  {
    name: 'both secret and a short hash',
    text: keys(`{ id: a, plan: free, secret: ${'s'.repeat(20)}, hash: sha256:abc }`),
    says: [
      '5:56: keys[0].hash: the value must be sha256: and 64 hexadecimal digits',
      '5:56: keys[0].hash: stands beside a secret, only one of them can',
    ],
  },
  {
    name: 'a key with a wrong id, a plan that is not there, a number as its secret and a date that is none',
    text: keys('{ id: "a b", plan: fre, secret: 5, expires: soon }'),
    says: [
      '5:7: keys[0].id: "a b" is not a name, use up to 64 letters, digits, ".", "_" and "-"',
      '5:18: keys[0].plan: there is no plan "fre", did you mean "free"?',
      '5:29: keys[0].secret: must be text, put the value in quotes',
      '5:40: keys[0].expires: "soon" is not a date, write 2026-12-31 or 2026-12-31T18:00:00Z',
    ],
  },
  {
    name: 'two keys of wrong ids and one secret',
    text: keys(...['a b', 'a b'].map((id) => `{ id: "${id}", plan: free, secret: aaaaaaaaaaaaaaaaaaaa }`)),
    says: [
      '5:7: keys[0].id: "a b" is not a name, use up to 64 letters, digits, ".", "_" and "-"',
      '6:7: keys[1].id: "a b" is not a name, use up to 64 letters, digits, ".", "_" and "-"',
      '6:30: keys[1].secret: is the secret of keys[0] (line 5) too',
    ],
  },
  {
    name: 'two keys of one id',
    text: keys(
      '{ id: a, plan: free, secret: aaaaaaaaaaaaaaaaaaaa }',
      '{ id: a, plan: free, secret: bbbbbbbbbbbbbbbbbbbb }',
    ),
    says: ['6:7: keys[1].id: is the id of keys[0] (line 5) too'],
  },
  {
    name: 'an impossible day',
    text: keys('{ id: a, plan: free, secret: aaaaaaaaaaaaaaaaaaaa, expires: 2026-02-30 }'),
    says: ['5:56: keys[0].expires: "2026-02-30" is not a date, write 2026-12-31 or 2026-12-31T18:00:00Z'],
  },
  {
    name: 'a body of which nothing is said, beside one that needs its files',
    text: routes(
      '{ path: /v1/x, methods: [POST], body: { json: } }',
      '{ path: /v1/z, methods: [POST], body: { json: { schema: } } }',
      '{ path: /v1/y, methods: [POST], body: { upload: } }',
    ),
    says: [
      '4:45: routes[0].body.json: is empty, it must be a mapping (option: value); {} has the defaults',
      '5:53: routes[1].body.json.schema: is empty, it must be a mapping (option: value)',
      '6:45: routes[2].body.upload: is empty, it must be a mapping (option: value)',
    ],
  },
  {
    name: 'an option and paths as other gateways write them',
    text: `${routes('{ path: "/v1/users/{id}", methods: [GET] }')}basePath: "/{tenant}"\ntrust_proxy: [10.0.0.0/8]\n`,
    says: [
      '4:7: routes[0].path: "/v1/users/{id}" has a name in braces, which routes write as :name',
      '5:1: basePath: "/{tenant}" has a name in braces, which routes write as :name',
      '6:1: ["trust…"]: unknown option, did you mean "trustProxy"?',
    ],
  },
  {
    name: 'a secret without a space before it',
    text: keys('{ id: demo, plan: free, secret:demo-secret-0123456789 }'),
    says: [
      '5:5: keys[0]: needs a secret or a hash',
      '5:29: keys[0]["secret…"]: unknown option, a space is missing after the colon',
    ],
  },
  {
    name: 'an option without a space before its value, in a block',
    text: `${least}workers:2\nlog: { level: info }\n`,
    says: ['3:1: a key must be on one line, perhaps a ":" is missing, or a space after it'],
  },
  {
    name: 'such an option as the last of a block',
    text: `${least}log:\n  level: info\n  format:json\n`,
    says: [
      '5:3: something is missing here: a ":" or the space after it, a comma, a closing quote or a bracket',
    ],
  },
  {
    name: 'blanks that are no spaces, as web pages have them',
    text: `${least}log:\n\u00A0 level: info\nkeys: [{ id: demo, plan: \u200Bfree, secret: demo-secret-0123456789 }]\nplans: { free: { \u00A0concurrency: 8 } }\n`,
    says: [
      '3:1: log: is empty, it must be a mapping (option: value); {} has the defaults',
      '4:1: ["…"]: unknown option, a blank in it is no plain space',
      '5:20: keys[0].plan: there is no plan "\\u{200b}free", did you mean "free"?',
      '6:18: plans.free["…"]: unknown option, a blank in it is no plain space',
    ],
  },
  {
    name: 'a secret without its option',
    text: keys('{ id: demo, plan: free, demo-secret-0123456789 }'),
    says: [
      '5:5: keys[0]: needs a secret or a hash',
      '5:29: keys[0]["demo…"]: unknown option, choose from id, plan, secret, hash, enabled, expires',
    ],
  },
  {
    name: 'an address where the name of a plan belongs',
    text: `${least}plans: { "redis://a:secret@h": {}, free: {} }\nkeys: [{ id: demo, plan: fast, secret: demo-secret-0123456789 }]\n`,
    says: [
      '3:10: plans["redis…"]: "redis…": a space is missing after the colon',
      '4:20: keys[0].plan: there is no plan "fast", choose from free',
    ],
  },
  {
    name: 'a plan of another version',
    text: `${least}plans: { free: {}, paid.v2: {} }\nkeys: [{ id: demo, plan: paid.v1, secret: demo-secret-0123456789 }]\n`,
    says: ['4:20: keys[0].plan: there is no plan "paid.v1", did you mean "paid.v2"?'],
  },
  {
    name: 'a plan that runs on into a secret',
    text: keys('{ id: demo, plan: free secret:demo-secret-0123456789 }'),
    says: [
      '5:5: keys[0]: needs a secret or a hash',
      '5:17: keys[0].plan: there is no plan "free …", choose from free',
    ],
  },
  // services
  {
    name: 'a target with a path',
    text: 'upstreams: { a: { targets: [http://h/p] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n',
    says: [
      '1:29: upstreams.a.targets[0]: "http://h/p" must not have a path or a query, write an origin such as http://127.0.0.1:9000',
    ],
  },
  {
    name: 'targets with a password and without their "//"',
    text: 'upstreams: { a: { targets: ["user:s3cret@host:80", "http:/user:s3c@ret@host"] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n',
    says: [
      '1:29: upstreams.a.targets[0]: "***@host:80" is not an http or https address, write an origin such as http://127.0.0.1:9000',
      '1:52: upstreams.a.targets[1]: "***@host" is not an http or https address, write an origin such as http://127.0.0.1:9000',
    ],
  },
  {
    name: 'one target written in three ways',
    text: 'upstreams: { a: { targets: ["http://127.0.0.1:80", "http://127.0.0.1", "http://127.1/"] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n',
    says: [
      '1:52: upstreams.a.targets[1]: is the origin of [0] too',
      '1:72: upstreams.a.targets[2]: is the origin of [0] too',
    ],
  },
  {
    name: 'targets that lead back',
    text: 'upstreams: { a: { targets: ["http://localhost:8080", "http://127.0.0.1:8080", "http://10.0.0.1:8080", "http://127.0.0.1"] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n',
    says: [
      '1:29: upstreams.a.targets[0]: is the address of listen, so requests would come back here',
      '1:54: upstreams.a.targets[1]: is the address of listen, so requests would come back here',
    ],
  },
  {
    name: 'all that is wrong with the targets of an upstream',
    text: 'upstreams: { a: { targets: ["http://localhost:8080", "http://localhost:8080/"], ca: nonsense } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n',
    says: [
      '1:29: upstreams.a.targets[0]: is the address of listen, so requests would come back here',
      '1:54: upstreams.a.targets[1]: is the origin of [0] too',
      '1:54: upstreams.a.targets[1]: is the address of listen, so requests would come back here',
      '1:81: upstreams.a.ca: is for https targets, and there is none',
      '1:81: upstreams.a.ca: is not PEM certificates (-----BEGIN CERTIFICATE-----)',
    ],
  },
  ...[
    { listen: '10.0.0.1:80', target: 'http://10.0.0.1' },
    { listen: '127.0.0.1:81', target: 'http://localhost:81' },
    { listen: '"[::]:81"', target: 'http://[::1]:81' },
    { listen: 'LocalHost:443', target: 'https://127.0.0.1' },
  ].map(({ listen, target }) => ({
    name: `a target that leads back to ${listen}`,
    text: `upstreams: { a: { targets: ["${target}"] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\nlisten: ${listen}\n`,
    says: ['1:29: upstreams.a.targets[0]: is the address of listen, so requests would come back here'],
  })),
  {
    name: 'no target',
    text: 'upstreams: { a: { targets: [] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n',
    says: ['1:19: upstreams.a.targets: is an empty list, at least one is needed'],
  },
  ...['/etc/ca.pem', './ca.pem', '../ca.pem'].map((ca) => ({
    name: `the file ${ca} in the place of authorities`,
    text: `upstreams: { a: { targets: ["https://h"], ca: ${ca} } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n`,
    says: [
      '1:43: upstreams.a.ca: is not PEM certificates (-----BEGIN CERTIFICATE-----), for a file write ${file:/path}',
    ],
  })),
  {
    name: 'a store whose authorities are not there',
    text: `${least}store: "rediss://h?ca=/nowhere.pem"\n`,
    says: ['3:1: store: the file /nowhere.pem of its ca cannot be read: there is no such file'],
  },
  {
    name: 'a store whose authorities are none',
    text: `${least}store: "rediss://h?ca=/dev/null"\n`,
    says: ['3:1: store: the file /dev/null of its ca cannot be read: it is not a regular file'],
  },
  {
    name: 'a sunset before the deprecation',
    text: `${least}versions: { v1: { upstream: a, deprecated: 2027-01-02, sunset: 2027-01-01 } }\n`,
    says: ['3:56: versions.v1.sunset: is before deprecated'],
  },
  {
    name: 'gone without a sunset, beside a wrong date',
    text: `${least}versions: { v1: { upstream: a, deprecated: soon, afterSunset: gone, link: "http://h" } }\n`,
    says: [
      '3:32: versions.v1.deprecated: "soon" is not a date, write 2026-12-31 or 2026-12-31T18:00:00Z',
      '3:50: versions.v1.afterSunset: gone needs a sunset date',
    ],
  },
  {
    name: 'gone and a link with a wrong sunset',
    text: `${least}versions: { v1: { upstream: a, sunset: soon, afterSunset: gone, link: "http://h" } }\n`,
    says: ['3:32: versions.v1.sunset: "soon" is not a date, write 2026-12-31 or 2026-12-31T18:00:00Z'],
  },
  {
    name: 'a version of a misspelt upstream',
    text: 'upstreams: { recognition: { targets: ["http://h"] } }\nversions: { v1: { upstream: recogniton } }\nroutes: [{ path: /v1/x, methods: [GET] }]\n',
    says: ['2:19: versions.v1.upstream: there is no upstream "recogniton", did you mean "recognition"?'],
  },
  {
    name: 'an upstream called like a part of every object',
    text: `${upstream}routes: [{ path: /x, methods: [GET], upstream: constructor }]\n`,
    says: ['2:38: routes[0].upstream: there is no upstream "constructor", choose from a'],
  },
  {
    name: 'headers without a bound worth the name',
    text: `${least}limits: { headerSize: 1025KB }\n`,
    says: ['3:11: limits.headerSize: is more than 1 MB'],
  },
  // routes
  {
    name: 'an unknown version',
    text: routes('{ path: /v2/x, methods: [GET] }'),
    says: [
      '4:7: routes[0].path: there is no version "v2", did you mean "v1"? (or give the route its own upstream)',
    ],
  },
  {
    name: 'a route without a version',
    text: routes('{ path: /:v/x, methods: [GET] }'),
    says: ['4:7: routes[0].path: does not start with a version, so the route needs its own upstream'],
  },
  {
    name: 'a percent-encoded path',
    text: routes('{ path: /v1/%41, methods: [GET] }'),
    says: ['4:7: routes[0].path: "/v1/%41" must not be percent-encoded'],
  },
  {
    name: 'a star in the middle',
    text: routes('{ path: /v1/*/x, methods: [GET] }'),
    says: ['4:7: routes[0].path: "/v1/*/x" may have "*" only alone, as its last segment'],
  },
  {
    name: 'a slash at the end',
    text: routes('{ path: /v1/x/, methods: [GET] }'),
    says: ['4:7: routes[0].path: "/v1/x/" must not end with "/"'],
  },
  {
    name: 'an empty segment',
    text: routes('{ path: /v1//x, methods: [GET] }'),
    says: ['4:7: routes[0].path: "/v1//x" must not contain an empty segment'],
  },
  {
    name: 'dots as a segment',
    text: routes('{ path: /v1/../x, methods: [GET] }'),
    says: ['4:7: routes[0].path: "/v1/../x" must not contain "." or ".." as a segment'],
  },
  {
    name: 'one name twice in a path',
    text: routes('{ path: "/v1/:a/:a", methods: [GET] }'),
    says: ['4:7: routes[0].path: "/v1/:a/:a" uses one :name twice'],
  },
  {
    name: 'two routes of one shape',
    text: routes('{ path: "/v1/:a", methods: [GET] }', '{ path: "/v1/:b", methods: [HEAD, POST] }'),
    says: ['5:7: routes[1].path: is the path of routes[0] (line 4) too, for HEAD'],
  },
  {
    name: 'three routes of one path, each told once',
    text: routes(...Array.from({ length: 3 }, () => '{ path: /v1/a, methods: [GET] }')),
    says: [
      '5:7: routes[1].path: is the path of routes[0] (line 4) too, for GET, HEAD',
      '6:7: routes[2].path: is the path of routes[0] (line 4) too, for GET, HEAD',
    ],
  },
  {
    name: 'two routes of which none is more exact',
    text: routes('{ path: "/v1/:a/x", methods: [GET] }', '{ path: "/v1/y/:b", methods: [POST] }'),
    says: ['5:7: routes[1].path: overlaps ambiguously with routes[0] (line 4): /v1/y/x fits both'],
  },
  {
    name: 'another two, one of them with a rest and one from the environment',
    text: routes(
      '{ path: "/v1/:a/b/:c", methods: [GET] }',
      '{ path: "/v1/y/*", methods: [GET] }',
      '{ path: "${P:-/v1/:a/:b/z}", methods: [GET] }',
    ),
    says: [
      '5:7: routes[1].path: overlaps ambiguously with routes[0] (line 4): /v1/y/b/x fits both',
      '6:7: routes[2].path: overlaps ambiguously with routes[0] (line 4)',
    ],
  },
  {
    name: 'a misspelt body',
    text: routes('{ path: /v1/x, methods: [POST], body: jsn }'),
    says: [
      '4:37: routes[0].body: "jsn" is not a body rule, write none, json: {…}, upload: {…}, file: {…} or any: {…}',
    ],
  },
  {
    name: 'two bodies',
    text: routes('{ path: /v1/x, methods: [POST], body: { json: {}, any: {} } }'),
    says: ['4:37: routes[0].body: can have only one of its options'],
  },
  {
    name: 'a body larger than the memory',
    text: `${routes('{ path: /v1/x, methods: [POST], body: { json: { maxSize: 2MB } } }')}limits: { bodyMemory: 1MB }\n`,
    says: ['4:53: routes[0].body.json.maxSize: is more than limits.bodyMemory'],
  },
  {
    name: 'JSON longer than a text can be',
    text: `${routes(
      '{ path: /v1/x, methods: [POST], body: { json: { maxSize: 511MB } } }',
      '{ path: /v1/y, methods: [POST], body: { json: { maxSize: 512MB } } }',
    )}limits: { bodyMemory: 1GB }\n`,
    says: ['5:53: routes[1].body.json.maxSize: is more than 511 MB'],
  },
  {
    name: 'what bodies of other kinds hold of themselves, larger than the memory',
    text: `${routes(
      '{ path: /v1/a, methods: [POST], body: { any: { maxSize: 10MB } } }',
      '{ path: /v1/b, methods: [POST], body: { any: { maxSize: 2KB } } }',
      '{ path: /v1/c, methods: [POST], body: { upload: { files: {} } } }',
      '{ path: /v1/d, methods: [POST], body: { upload: { files: {}, fields: { maxCount: 1, maxSize: 1KB } } } }',
    )}limits: { bodyMemory: 2KB }\n`,
    says: [
      '4:52: routes[0].body.any.maxSize: is more than limits.bodyMemory, which must hold its first 64 KB',
      '6:45: routes[2].body.upload.fields: may hold 340 KB, more than limits.bodyMemory',
    ],
  },
  // plans
  {
    name: 'a quota of nothing',
    text: plan('{ quotas: [{ name: q, limit: 0, per: day }] }'),
    says: ['3:35: plans.p.quotas[0].limit: 0 is too small, the least is 1'],
  },
  {
    name: 'a limit that cannot be counted',
    text: plan('{ quotas: [{ name: q, limit: 9007199254740992, per: day }] }'),
    says: ['3:35: plans.p.quotas[0].limit: 9007199254740992 is too large, the most is 9007199254740991'],
  },
  {
    name: 'a quota without a name, a limit and a period',
    text: plan('{ quotas: [{}] }'),
    says: ['name', 'limit', 'per'].map((option) => `3:24: plans.p.quotas[0].${option}: is missing`),
  },
  {
    name: 'a misspelt period',
    text: plan('{ quotas: [{ name: q, limit: 1, per: mont }] }'),
    says: ['3:45: plans.p.quotas[0].per: there is no "mont", did you mean "month"?'],
  },
  {
    name: 'the name of a quota in capitals',
    text: plan('{ quotas: [{ name: Daily, limit: 1, per: day }] }'),
    says: [
      '3:26: plans.p.quotas[0].name: "Daily" is not the name of a quota, use up to 64 of a-z, 0-9, "_" and "-"',
    ],
  },
  {
    name: 'two quotas of one name',
    text: plan('{ quotas: [{ name: q, limit: 1, per: day }, { name: q, limit: 9, per: month }] }'),
    says: ['3:59: plans.p.quotas[1].name: is the name of plans.p.quotas[0] (line 3) too'],
  },
  {
    name: 'a quota called as the rate is',
    text: plan('{ quotas: [{ name: rate, limit: 1, per: day }] }'),
    says: [
      '3:26: plans.p.quotas[0].name: "rate" is how answers call the rate or the concurrency of a plan, choose another name',
    ],
  },
  {
    name: 'a zone that does not exist',
    text: plan('{ quotas: [{ name: q, limit: 1, per: day, timezone: Europe/Berln }] }'),
    says: [
      '3:55: plans.p.quotas[0].timezone: "Europe/Berln" is not a time zone, write UTC or an IANA name such as Europe/Berlin',
    ],
  },
  {
    name: 'a month that starts on a weekday',
    text: plan('{ quotas: [{ name: q, limit: 1, per: month, anchor: monday }] }'),
    says: ['3:57: plans.p.quotas[0].anchor: does not fit per: month, a month starts on a day such as 15'],
  },
  {
    name: 'a year that starts on 30 February',
    text: plan('{ quotas: [{ name: q, limit: 1, per: year, anchor: 02-30 }] }'),
    says: [
      '3:56: plans.p.quotas[0].anchor: "02-30" is not the start of a period, write a weekday such as monday, a day such as 15, or a month and day such as 04-01',
    ],
  },
  {
    name: 'a day with an anchor',
    text: plan('{ quotas: [{ name: q, limit: 1, per: day, anchor: 2 }] }'),
    says: [
      '3:55: plans.p.quotas[0].anchor: does not fit per: day, a day starts at a time, write at: "06:00"',
    ],
  },
  {
    name: 'a lifetime that starts again',
    text: plan('{ quotas: [{ name: q, limit: 1, per: lifetime, timezone: UTC, at: "06:00", anchor: 1 }] }'),
    says: [
      '3:60: plans.p.quotas[0].timezone: has no meaning for a lifetime, which never starts again',
      '3:75: plans.p.quotas[0].at: has no meaning for a lifetime, only for a day, week, month or year',
      '3:88: plans.p.quotas[0].anchor: has no meaning for a lifetime, only for a week, month or year',
    ],
  },
  {
    name: 'the start of an hour',
    text: plan('{ quotas: [{ name: q, limit: 1, per: hour, at: "06:00", anchor: 1 }] }'),
    says: [
      '3:56: plans.p.quotas[0].at: has no meaning for an hour, only for a day, week, month or year',
      '3:69: plans.p.quotas[0].anchor: has no meaning for an hour, only for a week, month or year',
    ],
  },
  {
    name: 'a time that no clock shows',
    text: plan('{ quotas: [{ name: q, limit: 1, per: day, at: "24:00" }] }'),
    says: ['3:55: plans.p.quotas[0].at: "24:00" is not a time of the day, write "06:00"'],
  },
  {
    name: 'a warning beyond the limit',
    text: plan('{ quotas: [{ name: q, limit: 1, per: day, warnAt: 120% }] }'),
    says: ['3:55: plans.p.quotas[0].warnAt: "120%" is not a part of the limit, write 1% to 100%'],
  },
  {
    name: 'a rate and a quota without a period, beside another mistake',
    text: `${plan('{ rate: { limit: 1 }, quotas: [{ name: q, limit: 1 }] }')}keys: [{ id: a, plan: q, hash: "sha256:${digestOf('a')}" }]\n`,
    says: [
      '3:15: plans.p.rate.per: is missing',
      '3:44: plans.p.quotas[0].per: is missing',
      '4:17: keys[0].plan: there is no plan "q", choose from p',
    ],
  },
  {
    name: 'a rate per day',
    text: plan('{ rate: { limit: 1, per: day } }'),
    says: ['3:33: plans.p.rate.per: there is no "day", choose from second, minute, hour'],
  },
  {
    name: 'nobody at once',
    text: plan('{ concurrency: 0 }'),
    says: ['3:15: plans.p.concurrency: 0 is too small, the least is 1'],
  },
  {
    name: 'a shared concurrency without a limit',
    text: plan('{ concurrency: { shared: true } }'),
    says: ['3:15: plans.p.concurrency.limit: is missing'],
  },
  {
    name: 'a hash that two tokens have',
    text: `${least}admin:\n  tokens:\n${['a', 'b'].map((name) => `    - { name: ${name}, hash: 'sha256:${'A'.repeat(64)}' }\n`).join('')}`,
    says: ['6:18: admin.tokens[1].hash: is the token of admin.tokens[0] (line 5) too'],
  },
  {
    name: 'a token that is the secret of a key',
    text: `${keys("{ id: a, plan: free, secret: 'a-secret-of-sixteen' }")}admin:\n  token: a-secret-of-sixteen\n  tokens: [{ name: b, token: a-secret-of-sixteem }, { name: c, hash: 'sha256:${digestOf('a-secret-of-sixteen')}' }]\n`,
    says: [
      '7:3: admin.token: is the secret of keys[0] (line 5) too',
      '8:64: admin.tokens[1].hash: is the secret of keys[0] (line 5) too',
    ],
  },
  {
    name: 'a hash of nothing',
    text: `${keys(`{ id: a, plan: free, hash: 'sha256:${digestOf('')}' }`)}admin:\n  tokens: [{ name: b, hash: 'sha256:${digestOf('').toUpperCase()}' }]\n`,
    says: [
      '5:26: keys[0].hash: is that of an empty text, as of a variable that is not set',
      '7:23: admin.tokens[0].hash: is that of an empty text, as of a variable that is not set',
    ],
  },
  {
    name: 'a file that must be larger than it may be',
    text: routes('{ path: /v1/x, methods: [PUT], body: { file: { minSize: 2KB, maxSize: 1KB } } }'),
    says: ['4:52: routes[0].body.file.minSize: is more than maxSize'],
  },
  {
    name: 'a long value',
    text: `${least}log: { format: ${'long'.repeat(11)} }\n`,
    says: [`3:8: log.format: there is no "${'long'.repeat(10)}…", choose from auto, json, pretty`],
  },
  {
    name: 'credentials in a target',
    text: 'upstreams: { a: { targets: ["http://user:pass@host"] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n',
    says: [
      '1:29: upstreams.a.targets[0]: "http://***@host" must not carry credentials, write an origin such as http://127.0.0.1:9000',
    ],
  },
  {
    name: 'a number and a word that are text',
    text: `${least}limits: { inFlight: "5" }\nforwarded: "true"\n`,
    says: [
      '3:11: limits.inFlight: must be a whole number, not "5"',
      '4:1: forwarded: must be true or false, not "true"',
    ],
  },
  {
    name: 'a cost that is no cost, which no plan could pay either,',
    text: `${least.replace('upstream: a', 'upstream: a, cost: 1e20')}plans: { p: { quotas: [{ name: q, limit: 4, per: day }] } }\n`,
    says: ['2:51: routes[0].cost: 100000000000000000000 is too large, the most is 1000000'],
  },
  {
    name: 'a memory for bodies that is no size, so that no body is too large for it,',
    text: `${routes('{ path: /v1/x, methods: [PUT], body: { json: {} } }')}limits: { bodyMemory: 3XB }\n`,
    says: ['5:11: limits.bodyMemory: "3XB" is not a size, write 512B, 16KB, 10MB or 1GB'],
  },
  {
    name: 'a cost in a header of the gateway',
    text: `${upstream}routes: [{ path: /x, methods: [GET], upstream: a, costHeader: Content-Length }]\n`,
    says: [
      '2:51: routes[0].costHeader: "Content-Length" is a header with a meaning of its own, a cost cannot travel in it',
    ],
  },
  {
    name: 'a header that corrects no cost',
    text: `${upstream}routes: [{ path: /x, methods: [GET], upstream: a, cost: 0, costHeader: X-Cost }]\n`,
    says: ['2:60: routes[0].costHeader: corrects a cost, and this route has none: give a cost of 1 or more'],
  },
  {
    name: 'a name that two routes have',
    text: routes('{ path: /v1/x, methods: [GET], name: a }', '{ path: /v1/y, methods: [GET], name: a }'),
    says: ['5:36: routes[1].name: is the name of routes[0] (line 4) too'],
  },
  {
    name: 'a name that could be a path, and is that of another route',
    text: `basePath: /b\n${routes('{ path: /v1/x, methods: [GET], name: /b/v1/y }', '{ path: /v1/y, methods: [GET] }')}`,
    says: ['5:36: routes[0].name: begins with "/", as only a path does: leave it out, or choose another'],
  },
  {
    name: 'a name that metrics give to requests without a route',
    text: routes('{ path: /v1/x, methods: [GET], name: none }'),
    says: ['4:36: routes[0].name: is what metrics call a request that found no route: choose another'],
  },
  {
    name: 'a name that the usage path has',
    text: `${routes('{ path: /v1/x, methods: [GET], name: usage }')}usage: { path: /v1/u }\n`,
    says: ['4:36: routes[0].name: is what logs and metrics call usage.path: choose another'],
  },
  {
    name: 'a path for usage that a route has',
    text: `${least}usage: { path: /x }\n`,
    says: ['3:10: usage.path: is the path of routes[0] (line 2) too'],
  },
  {
    name: 'a path for usage that is a pattern',
    text: `${least}usage: { path: "/v1/:key" }\n`,
    says: ['3:10: usage.path: "/v1/:key" must not contain ":name" or "*"'],
  },
  {
    name: 'a password of the sentinels in the wrong place',
    text: `${least}store: redis+sentinel://h?sentinelPassword=swordfish\n`,
    says: [
      '3:1: store: the value is not a store address: redis+sentinel needs the name of the master: redis+sentinel://host:26379/master',
    ],
  },
  {
    name: 'a file that cannot fit its form',
    text: routes(upload('maxSize: 1MB, files: { file: { maxSize: 1MB } }')),
    says: [
      '4:86: routes[0].body.upload.files.file.maxSize: must be less than maxSize of the upload, which holds the form around it too',
    ],
  },
  {
    name: 'a file that cannot be large enough',
    text: routes(upload('files: { file: { maxSize: 1MB, minSize: 2MB } }')),
    says: ['4:86: routes[0].body.upload.files.file.minSize: is more than maxSize'],
  },
  {
    name: 'files that cannot all be in their form',
    text: routes(
      upload(
        'maxSize: 12MB, files: { a: { minSize: 6MB }, b: { minSize: 6MB }, c: { minSize: 6MB, required: false } }',
      ),
    ),
    says: [
      '4:55: routes[0].body.upload.maxSize: has no room for all required files, each of at least its minSize, so every form is refused',
    ],
  },
  {
    name: 'text fields that do not fit memory',
    text: routes(upload('files: {}, fields: { maxCount: 1000, maxSize: 16KB }')),
    says: [
      '4:92: routes[0].body.upload.fields.maxSize: times maxCount is more than 4 MB, and text fields are held in memory',
    ],
  },
  {
    name: 'an upload larger than the spool',
    text: `${routes(upload('files: {}'))}spool: { disk: 1MB }\n`,
    says: ['4:45: routes[0].body.upload.maxSize: is more than spool.disk'],
  },
  {
    name: 'what is no type, no extension, no field',
    text: routes(upload('files: { "a=b": {}, file: { types: [wav], extensions: [.wav] } }')),
    says: [
      '4:64: routes[0].body.upload.files["a…"]: "a…" is not a field name, use up to 256 visible characters without " \\ ; = & % < >',
      '4:91: routes[0].body.upload.files.file.types[0]: "wav" is not a media type, write audio/wav or audio/*',
      '4:110: routes[0].body.upload.files.file.extensions[0]: ".wav" is not an extension, write it in lower case without a dot: wav',
    ],
  },
  {
    name: 'names of fields that no form may have',
    text: routes(upload('files: { MAX_FILE_SIZE: {}, "a]": {} }, fields: { names: ["[b]", _charset_] }')),
    says: [
      '4:64: routes[0].body.upload.files.MAX_FILE_SIZE: "MAX_FILE_SIZE" is a name that parsers of forms read differently, choose another',
      '4:83: routes[0].body.upload.files["a…"]: "a…" is a name that parsers of forms read differently, choose another',
      '4:113: routes[0].body.upload.fields.names[0]: "[b]" is a name that parsers of forms read differently, choose another',
      '4:120: routes[0].body.upload.fields.names[1]: "_charset_" is a name that parsers of forms read differently, choose another',
    ],
  },
  {
    name: 'an extension of no type that is taken',
    text: routes(
      upload(
        'files: { a: { types: [audio/wav], extensions: [mp3] }, b: { types: ["*/*"], extensions: [wav, nope] }, c: { types: [audio/*, text/csv], extensions: [wav, opus, csv] } }',
      ),
    ),
    says: [
      '4:102: routes[0].body.upload.files.a.extensions[0]: fits none of types, so a file with it is always refused: add audio/mpeg to types, or remove it',
      '4:149: routes[0].body.upload.files.b.extensions[1]: is not of a known type, so a file with it is always refused: remove it, or leave out types',
    ],
  },
  {
    name: 'a required text field that is not taken',
    text: routes(
      upload(
        'files: { f: {} }, fields: { names: [a], schema: { required: [b, a, f], properties: { c: {} } } }',
      ),
    ),
    says: [
      '4:105: routes[0].body.upload.fields.schema.required: asks for "b", which is not one of names, so every form is refused: add it to names, or remove it here',
      '4:105: routes[0].body.upload.fields.schema.required: asks for "f", which is one of files and not a text field, so every form is refused: remove it here',
    ],
  },
  {
    name: 'more required text fields than a form may have',
    text: routes(
      upload('files: { f: {} }, fields: { maxCount: 1, schema: { required: [a, b], properties: {} } }'),
    ),
    says: [
      '4:83: routes[0].body.upload.fields.maxCount: is less than the 2 fields that schema requires, so every form is refused',
    ],
  },
  {
    name: 'a required text field that is a file, where any name is taken',
    text: routes(upload('files: { f: {} }, fields: { schema: { required: [f] } }')),
    says: [
      '4:93: routes[0].body.upload.fields.schema.required: asks for "f", which is one of files and not a text field, so every form is refused: remove it here',
    ],
  },
  {
    name: 'a text field of a type that no text has',
    text: routes(
      upload(
        'files: { f: {} }, fields: { schema: { properties: { n: { type: integer }, "a/b": { type: [object, "null"] }, s: { type: [string, "null"] }, l: { type: array }, o: {} } } }',
      ),
    ),
    says: [
      '4:112: routes[0].body.upload.fields.schema.properties.n.type: is not the type of a text field: write string, with a pattern for a number, or array for a field that may come more than once',
      '4:138: routes[0].body.upload.fields.schema.properties["a…"].type: is not the type of a text field: write string, with a pattern for a number, or array for a field that may come more than once',
    ],
  },
  {
    name: 'a text field with the name of a file',
    text: routes(upload('files: { f: {} }, fields: { names: [a, f] }')),
    says: [
      '4:94: routes[0].body.upload.fields.names[1]: is the name of one of files too, where text is always refused: remove it here, or give one of them another name',
    ],
  },
  {
    name: 'a mistake in the schema of text fields',
    text: routes(upload('files: {}, fields: { schema: { type: text } }')),
    says: ['4:86: routes[0].body.upload.fields.schema.type: unknown type "text"'],
  },
  {
    name: 'an upgrade that is none',
    text: routes('{ path: /v1/x, methods: [GET], upgrade: h2c }'),
    says: ['4:36: routes[0].upgrade: "h2c" is not an upgrade, write none, websocket or websocket: {…}'],
  },
  {
    name: 'an upgrade without GET',
    text: routes('{ path: /v1/x, methods: [POST], upgrade: websocket }'),
    says: ['4:37: routes[0].upgrade: needs the method GET, which every WebSocket begins with'],
  },
  {
    name: 'an upgrade beside a body that has to be there',
    text: routes('{ path: /v1/x, methods: [GET], upgrade: websocket, body: { json: {} } }'),
    says: ['4:36: routes[0].upgrade: begins without a body, which is refused here: give it its own route'],
  },
];

for (const { name, text, says } of cases) {
  test(`${name} is explained where it stands`, (t) => assert.deepEqual(complaints(t, text), says));
}

const harmless: readonly [string, string][] = [
  ...[
    { listen: '127.0.0.1:8080', target: 'http://127.0.0.2:8080' },
    { listen: '0.0.0.0:8080', target: 'http://[::1]:8080' },
    { listen: '10.0.0.1:8080', target: 'http://127.0.0.1:8080' },
  ].map(({ listen, target }): [string, string] => [
    `a target at the port of ${listen}, ${target}`,
    `upstreams: { a: { targets: ["${target}"] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\nlisten: ${listen}\n`,
  ]),
  [
    'an upgrade beside a body of any kind, or none',
    routes(
      '{ path: /v1/x, methods: [GET], upgrade: websocket, body: { any: {} } }',
      '{ path: /v1/y, methods: [GET], upgrade: websocket, body: none }',
    ),
  ],
  [
    'a more exact route beside a wider one',
    routes(
      '{ path: "/v1/:a", methods: [GET] }',
      '{ path: /v1/x, methods: [GET] }',
      '{ path: "/v1/*", methods: [GET] }',
    ),
  ],
  [
    'one path with different methods',
    routes('{ path: /v1/x, methods: [GET] }', '{ path: /v1/x, methods: [POST] }'),
  ],
  [
    'a route that is named like its own path, and another like the usage path that there is not',
    routes('{ path: /v1/x, methods: [GET], name: /v1/x }', '{ path: /v1/y, methods: [GET], name: usage }'),
  ],
  [
    'an unused upstream',
    `upstreams: { a: { targets: ["http://h"] }, b: { targets: ["https://h"] } }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n`,
  ],
  [
    'an anchor and its alias',
    `upstreams: { a: &it { targets: ["http://h"] }, b: *it }\nroutes: [{ path: /x, methods: [GET], upstream: a }]\n`,
  ],
  ['two listeners on any port', `${least}listen: 127.0.0.1:0\nadmin: { listen: 127.0.0.1:0 }\n`],
  ['the longest drain', `${least}drain: { delay: 1d, timeout: 23d }\n`],
  [
    'a cost that one of the plans can pay',
    costly(
      'p: { quotas: [{ name: q, limit: 4, per: day }] }, r: { quotas: [{ name: q, limit: 5, per: day }] }',
    ),
  ],
  ['a cost, where a plan has no quota', costly('p: { quotas: [{ name: q, limit: 4, per: day }] }, r: {}')],
  [
    'the largest limit from the environment',
    plan('{ quotas: [{ name: q, limit: "${L:-9007199254740991}", per: day }] }'),
  ],
  [
    'two keys with secrets of one length',
    keys(...['a', 'b'].map((id) => `{ id: ${id}, plan: free, secret: ${id.repeat(3)}-of-a-key.. }`)),
  ],
  [
    'a version that ends when it is deprecated',
    routes('{ path: /v1/x, methods: [GET] }').replace(
      'upstream: a }',
      'upstream: a, deprecated: 2099-01-01, sunset: 2099-01-01 }',
    ),
  ],
  ['text fields of 4 MB in all', routes(upload('files: {}, fields: { maxCount: 4, maxSize: 1MB }'))],
  ['an upload as large as the spool', `${routes(upload('files: {}, maxSize: 2MB'))}spool: { disk: 2MB }\n`],
  [
    'a body as large as the memory for bodies',
    `${routes('{ path: /v1/x, methods: [PUT], body: { json: { maxSize: 1MB } } }')}limits: { bodyMemory: 1MB }\n`,
  ],
  [
    'a body larger than the memory for bodies, which must hold its first 64 KB alone',
    `${routes('{ path: /v1/x, methods: [PUT], body: { any: { maxSize: 2MB } } }')}limits: { bodyMemory: 64KB }\n`,
  ],
  ['headers of 1 MB', `${least}limits: { headerSize: 1MB }\n`],
  ['Windows line ends and a byte order mark', `\uFEFF${least.replaceAll('\n', '\r\n')}`],
];
for (const [name, text] of harmless) {
  test(`${name} is fine`, (t) => assert.deepEqual(complaints(t, text), []));
}

test('a mistake in a body schema is reported at its own line', (t) => {
  const [complaint, ...others] = complaints(
    t,
    routes(
      'path: /v1/x\n    methods: [POST]\n    body:\n      json:\n        schema:\n          properties:\n            x:\n              type: strin',
    ),
  );
  assert.match(complaint ?? '', /^11:\d+: routes\[0\]\.body\.json\.schema\.properties\.x/);
  assert.deepEqual(others, []);
});

test('all mistakes in a body schema are reported at once, each at its own line', (t) => {
  const schema = [
    'type: objct',
    'required: true',
    'properties:',
    '  a: { typ: string, maxLength: "3" }',
    '  b: { pattern: "(", minLength: -1 }',
    '  c: { format: emial, type:string }',
  ].map((line) => `\n          ${line}`);
  assert.deepEqual(
    complaints(
      t,
      routes(`path: /v1/x\n    methods: [POST]\n    body:\n      json:\n        schema:${schema.join('')}`),
    ).map((line) => line.replace('routes[0].body.json.schema.', '')),
    [
      '9:11: type: unknown type "objct", did you mean "object"?',
      '10:11: required: "required" must be an array',
      '12:18: properties.a.typ: unknown keyword "typ", did you mean "type"?',
      '12:31: properties.a.maxLength: "maxLength" must be an integer',
      '13:18: properties.b.pattern: "(" is not a regular expression: unterminated group',
      '13:32: properties.b.minLength: "minLength" must not be less than 0',
      '14:18: properties.c.format: unknown format "emial", did you mean "email"?',
      '14:33: properties.c["type…"]: unknown keyword "type…", a space is missing after the colon',
    ],
  );
});

test('a token of sixteen characters is enough, under a name too, where operators come from elsewhere', (t) => {
  const token = 'sixteen-letters.';
  for (const given of [`token: ${token}`, `tokens: [{ name: ann, role: read, token: ${token} }]`])
    assert.deepEqual(complaints(t, `${least}admin: { listen: "0.0.0.0:9090", ${given} }\n`), []);
});

test('a token that is no text is told of once, and has its name all the same', (t) => {
  const said = (given: string) => complaints(t, `${least}admin: { listen: "0.0.0.0:9090", ${given} }\n`);
  const sentence = 'must be text, put the value in quotes';
  assert.deepEqual(said('token: 12345'), [`3:34: admin.token: ${sentence}`]);
  assert.deepEqual(said('tokens: [{ name: ann, role: read, token: 12345 }]'), [
    `3:68: admin.tokens[0].token: ${sentence}`,
  ]);
  assert.deepEqual(said('token: 12345, tokens: [{ name: admin, token: sixteen-letters. }]'), [
    `3:34: admin.token: ${sentence}`,
    '3:59: admin.tokens[0].name: is the name of admin.token too',
  ]);
});

test('a key of a plan is told that there is none, where there are no plans at all', (t) => {
  const said = complaints(t, `${least}keys: [{ id: a, plan: free, secret: sixteen-letters. }]\n`);
  assert.deepEqual(said, ['3:17: keys[0].plan: there is no plan "free"']);
});

test('the first twenty mistakes in the YAML are told, the others may be about the same', (t) => {
  const wrong = Array.from({ length: 30 }, (_, at) => `k${at}: @x\n`);
  assert.equal(complaints(t, wrong.join('')).length, 20);
});

test('mistakes between fields are told beside those within, however long the list', (t) => {
  const lines = Array.from({ length: 12 }, (_, at) => {
    const named = at === 11 ? 'none' : 'free';
    return at === 9 || at === 10 ? `k${at}` : `{ id: k${at}, plan: ${named}, secret: sixteen-letters-${at} }`;
  });
  const said = complaints(t, keys(...lines));
  assert.deepEqual(said.map(pathOf), ['keys[9]', 'keys[10]', 'keys[11].plan']);
});

test('a hundred mistakes are told, and of more how many there are', (t) => {
  const wrong = Array.from({ length: 102 }, (_, at) => `wrong${at}: 1\n`);
  assert.equal(complaints(t, least + wrong.slice(2).join('')).length, 100);
  assert.deepEqual(complaints(t, least + wrong.join('')).slice(100), ['… and 2 more']);
});

test('what a variable holds is taken for a number or a choice only where it is one to the letter', (t) => {
  const text = `${least}workers: "\${WORKERS}"\nauth: { forwardKey: "\${FORWARD}" }\nlimits: { inFlight: "\${MOST}" }\n`;
  const good = { WORKERS: 'auto', FORWARD: 'true', MOST: '1000' };
  assert.deepEqual(complaints(t, text, good), []);
  for (const wrong of ['', ' 2', '2x', 'x2', '1e3', '0x10', '1.0', '12345678901234567'])
    assert.equal(complaints(t, text, { ...good, WORKERS: wrong, MOST: wrong }).length, 2, wrong);
  for (const wrong of ['', 'TRUE', 'untrue', 'falsely', '1'])
    assert.equal(complaints(t, text, { ...good, FORWARD: wrong }).length, 1, wrong);
});

test('what is wrong beside a name that is none or an empty section is told with it', (t) => {
  const quota = '{ name: M, limit: 5, per: hour, at: "06:00" }';
  assert.deepEqual(
    complaints(t, `${least}plans: { ${'P'.repeat(64)}: { quotas: [${quota}] } }\n`).map(pathOf),
    [
      'plans["PPPPPPPPPPPPPPPPPPPPPPPPPPPPPP…"].quotas[0].name',
      'plans["PPPPPPPPPPPPPPPPPPPPPPPPPPPPPP…"].quotas[0].at',
    ],
  );
  assert.deepEqual(complaints(t, 'upstreams: {}\nroutes: []\ndrain: { delay: 20d, timeout: 20d }\n'), [
    '1:1: upstreams: is empty, at least one is needed',
    '2:1: routes: is an empty list, at least one is needed',
    '3:22: drain.timeout: and delay together are longer than 24d',
  ]);
});

test('what has neither a secret nor a hash shares none with another', (t) => {
  const tokens = 'tokens: [{ name: a, role: read }, { name: b, role: read }]';
  assert.deepEqual(complaints(t, `${least}admin: { ${tokens} }\n`), [
    '3:19: admin.tokens[0]: needs a token or a hash',
    '3:44: admin.tokens[1]: needs a token or a hash',
  ]);
});

test('authorities are refused with one among them that is none', (t) => {
  const { cert } = makeCertificate(t, ['DNS:localhost']);
  const said = (ca: string, target = '"https://h"') =>
    complaints(t, least.replace('"http://127.0.0.1:9000"] }', `${target}], ca: ${JSON.stringify(ca)} }`));
  assert.deepEqual(said(cert + cert), []);
  assert.match(said(cert, 'nowhere').join(), /^1:29: upstreams\.a\.targets\[0\]: [^:]*:[^:]*:[^:]*$/);
  const broken = cert.replace('\nM', '\nA');
  // As a file that is being written is read.
  const half = cert.slice(0, cert.length / 2);
  for (const ca of [cert + broken, broken + cert, cert + half, half + cert])
    assert.deepEqual(said(ca), [
      '1:43: upstreams.a.ca: is not PEM certificates (-----BEGIN CERTIFICATE-----)',
    ]);
  const empty = writeTemporary(t, 'nonsense');
  assert.deepEqual(complaints(t, `${least}store: "rediss://h?ca=${empty}"\n`), [
    `3:1: store: the file ${empty} of its ca is not PEM certificates (-----BEGIN CERTIFICATE-----)`,
  ]);
});

test('of what hangs on a mistake nothing is said, as it may be right', (t) => {
  const form = (rule: string) => routes(upload(rule));
  const mistakes: readonly [told: string, text: string][] = [
    ['listen', `${least}listen: nowhere\nadmin: { listen: "127.0.0.1:8080" }\n`],
    ['admin.listen', `${least}listen: 9090\nadmin: { listen: nowhere }\n`],
    ['upstreams.a.targets[0]', least.replace('"http://127.0.0.1:9000"', 'nowhere, "http://h", "http://h/"')],
    ['upstreams.a.targets[0]', least.replace('"http://127.0.0.1:9000"', 'nowhere, "http://127.0.0.1:8080"')],
    ['routes[0].upstream', `${upstream}routes: [{ path: /x, methods: [GET], upstream: [a] }]\n`],
    ['routes[0].methods[0]', routes('{ path: /v1/x, methods: [gte], upgrade: websocket }')],
    [
      'limits.bodyMemory',
      `${routes('{ path: /v1/x, methods: [POST], body: { json: { maxSize: 300MB } } }')}limits: { bodyMemory: much }\n`,
    ],
    ['routes[0].body.upload.maxSize', form('maxSize: much, files: { f: { maxSize: 20MB } }')],
    ['routes[0].body.upload.maxSize', form('maxSize: much, files: { f: { minSize: 12MB } }')],
    [
      'routes[0].body.upload.files.f.required',
      form('maxSize: 1MB, files: { f: { required: often, minSize: 1MB } }'),
    ],
    ['routes[0].body.upload.files.f.types[0]', form('files: { f: { types: [audio], extensions: [wav] } }')],
    [
      'routes[0].body.upload.fields.names[0]',
      form('files: { f: {} }, fields: { names: ["a b", f], schema: { required: [c] } }'),
    ],
    ['drain.timeout', `${least}drain: { delay: 24d, timeout: long }\n`],
    ['spool.disk', `${form('maxSize: 2GB, files: { f: {} }')}spool: { disk: much }\n`],
  ];
  for (const [told, text] of mistakes) {
    const said = complaints(t, text);
    assert.deepEqual(said.map(pathOf), [told], text);
  }
});

test('what is just within its bounds is taken', (t) => {
  const text = routes(
    '{ path: /v1/free, methods: [POST], cost: 0 }',
    '{ path: /v1/cheap, methods: [POST], cost: 1, costHeader: X-Cost }',
    '{ path: /v1/named, methods: [POST], name: names/old }',
    '{ path: /v2/old, methods: [POST] }',
    withBody('file: { minSize: 1KB, maxSize: 1KB }'),
    withBody('upload: { files: { f: { minSize: 1KB, maxSize: 1KB } } }'),
    withBody('upload: { maxSize: 1MB, files: { f: { required: false, minSize: 1MB } } }'),
    withBody('upload: { files: { f: {} }, fields: { maxCount: 1, schema: { required: [c] } } }'),
  );
  const more = [
    'admin: { tokens: [{ name: admin, token: sixteen-letters. }] }\n',
    'limits: { headerSize: 1MB }\n',
    'drain: { delay: 1d, timeout: 23d }\n',
  ];
  const versions =
    'versions: { v1: { upstream: a }, v2: { upstream: a, deprecated: 2026-01-01, link: http://h } }';
  const whole = text.replace('versions: { v1: { upstream: a } }', versions) + more.join('');
  assert.deepEqual(complaints(t, whole), []);
});

test('a link of a version needs a date, and authorities need a target that shows a certificate', (t) => {
  const text = 'upstreams: { a: { targets: ["http://h"], ca: x } }\n';
  const rest =
    'versions: { v1: { upstream: a, link: http://h } }\nroutes: [{ path: /v1/x, methods: [GET] }]\n';
  assert.deepEqual(complaints(t, text + rest), [
    '1:42: upstreams.a.ca: is for https targets, and there is none',
    '1:42: upstreams.a.ca: is not PEM certificates (-----BEGIN CERTIFICATE-----)',
    '2:32: versions.v1.link: is sent only with a date, give deprecated or sunset',
  ]);
});

test('a bare file that is held whole fits the disk of the spool', (t) => {
  const text = routes('{ path: /v1/x, methods: [POST], body: { file: { maxSize: 2GB } } }');
  assert.deepEqual(complaints(t, text), ['4:53: routes[0].body.file.maxSize: is more than spool.disk']);
});

test('what rules between fields say shows nothing from the environment', (t) => {
  const text =
    keys('{ id: a, plan: "${PLAN}", secret: sixteen-letters. }') + 'store: "rediss://h?ca=/${SECRET}"\n';
  const form = upload('files: { f: { types: [audio/wav], extensions: ["${SECRET}"] } }');
  const env = { SECRET: 'gif', PLAN: 'freed' };
  const overlapping = routes('{ path: "/${SECRET}/:a", methods: [GET] }', '{ path: /:b/x, methods: [GET] }');
  const said = [text, routes(form), overlapping].flatMap((each) => complaints(t, each, env));
  assert.equal(said.length, 6);
  assert.doesNotMatch(said.join(), /gif|freed|did you mean/);
});

test('the advice for a number without a unit does not repeat one from the environment', (t) => {
  const text = `${least}storeDeadline: "\${NUMBER}"\nlimits: { bodyMemory: "\${NUMBER}" }\n`;
  assert.deepEqual(complaints(t, text, { NUMBER: '4711' }), [
    '3:1: storeDeadline: the value has no unit, write 250ms, 10s or 5m',
    '4:11: limits.bodyMemory: the value has no unit, write 512B, 16KB or 10MB',
  ]);
});

/** The path in a complaint. */
function pathOf(complaint: string): string | undefined {
  return complaint.split(': ')[1];
}
