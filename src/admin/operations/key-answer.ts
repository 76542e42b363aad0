import type { FreshSecret, Repeat } from '../../keys/key-book.ts';
import type { KeyView } from '../../keys/key-view.ts';
import type { Answer } from '../send-answer.ts';

/** The tag of a key in this state. Only changes move it: last use is not part of the state. */
function tagOf({ version }: Pick<KeyView, 'version'>): string {
  return `"${version}"`;
}

/** A single key, with its tag. */
export function keyAnswer(key: KeyView): Answer {
  return { status: 200, headers: { ETag: tagOf(key) }, body: key };
}

/** A key whose secret is told now, or was told when the request was first made. */
export function secretAnswer(fresh: FreshSecret | Repeat, status: 200 | 201): Answer {
  const headers = { ETag: tagOf(fresh.key) };
  if (fresh.secret !== null) return { status, headers, body: fresh };
  return { status: 200, headers: { ...headers, 'Idempotent-Replayed': 'true' }, body: fresh };
}
