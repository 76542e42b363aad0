import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { versionHeaders } from '../../../src/wire/version-headers.ts';

describe('versionHeaders', () => {
  const at = Date.UTC(2027, 0, 1);
  it('says nothing of a version without dates', () => {
    assert.deepEqual(versionHeaders({ deprecatedAt: undefined, sunsetAt: undefined, link: undefined }), {});
  });
  it('writes the dates and the link as their RFCs say', () => {
    assert.deepEqual(versionHeaders({ deprecatedAt: at, sunsetAt: at, link: 'https://example.com/x' }), {
      Deprecation: '@1798761600',
      Sunset: 'Fri, 01 Jan 2027 00:00:00 GMT',
      Link: '<https://example.com/x>; rel="deprecation"',
    });
  });
  it('says of the link of a version that only goes away that it is about that', () => {
    assert.deepEqual(
      versionHeaders({ deprecatedAt: undefined, sunsetAt: at, link: 'https://example.com/x' }),
      {
        Sunset: 'Fri, 01 Jan 2027 00:00:00 GMT',
        Link: '<https://example.com/x>; rel="sunset"',
      },
    );
  });
});
