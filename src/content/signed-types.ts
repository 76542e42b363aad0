import { createRequire } from 'node:module';
import type * as FileType from 'file-type';
import { typesOfSignature } from './media-types.ts';

/** The mark of a disc lies behind what is looked at of a file, and that of a disk at its end. */
const neverShown = new Set(['application/x-iso9660-image', 'application/x-apple-diskimage']);

/** The canonical types that first bytes can show, of those whose marks the library knows, and of AU, whose mark it does not. */
export function typesShown(marked: Iterable<string>): ReadonlySet<string> {
  return new Set([...marked, 'audio/basic'].flatMap(typesOfSignature)).difference(neverShown);
}

let signed: ReadonlySet<string> | undefined;

/**
 * All that first bytes can show. For the configuration, which is read in one go: here the library is loaded at once, and only where
 * it is asked.
 */
export function signedTypes(): ReadonlySet<string> {
  if (signed) return signed;
  const { supportedMimeTypes } = createRequire(import.meta.url)('file-type') as typeof FileType;
  signed = typesShown(supportedMimeTypes);
  return signed;
}
