import { createRequire } from 'node:module';
import type * as FileType from 'file-type';
import { typesOfSignature } from './media-types.ts';

/** The mark of a disc lies behind what is looked at of a file, and that of a disk at its end. */
export const neverShown = ['application/x-iso9660-image', 'application/x-apple-diskimage'];

let signed: ReadonlySet<string> | undefined;

/**
 * The canonical types that first bytes can show. For the configuration, which is read in one go: here the library that knows them is
 * loaded at once, and only where it is asked.
 */
export function signedTypes(): ReadonlySet<string> {
  if (signed) return signed;
  const { supportedMimeTypes } = createRequire(import.meta.url)('file-type') as typeof FileType;
  // The library does not know the mark of this one.
  const shown = new Set([...supportedMimeTypes, 'audio/basic'].flatMap(typesOfSignature));
  signed = shown.difference(new Set(neverShown));
  return signed;
}
