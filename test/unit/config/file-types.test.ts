import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../../src/config/load-config.ts';
import { isTextType, typesWithExtension } from '../../../src/content/media-types.ts';
import { signedTypes } from '../../../src/content/signed-types.ts';
import { writeTemporary } from '../../helpers/config-file.ts';

test('a wildcard that takes no type at all is warned of, and no other', (t) => {
  const families = Map.groupBy(typesWithExtension(), (type) => `${type.split('/')[0]}/*`);
  assert.ok(families.size > 8);
  for (const [wildcard, types] of families) {
    const text = `upstreams: { a: { targets: ["http://127.0.0.1:9000"] } }
routes: [{ path: /x, methods: [PUT], upstream: a, body: { file: { types: ["${wildcard}"] } } }]
`;
    const takesSome = types.some((type) => isTextType(type) || signedTypes().has(type));
    const { warnings } = loadConfig(writeTemporary(t, text), {});
    const told = warnings.map((line) => /file\.types\[0\]: (.*)$/.exec(line)?.[1]);
    const why =
      'takes only types with a known signature, and none of these has one, so it takes no file: name the types';
    assert.deepEqual(told, takesSome ? [] : [why], wildcard);
  }
});
