import type { FileRule } from '../config/upload-rule.ts';
import { unsafeText } from '../content/form-names.ts';
import { ambiguous, invalid, missing, unsupported } from './upload-refusals.ts';

/** What a rule says about the names of files. */
export type FileNameRule = Pick<FileRule, 'required' | 'extensions' | 'nameLengthMax'>;

/**
 * Refuses a file name that could be a path, hide its extension or be stored under another name than it is shown with. `label` is
 * what a sentence calls the file.
 */
export function checkFileName(fileName: string, label: string, rule: FileNameRule): void {
  // busboy 1 takes a part with an empty file name for a text field, others for a file. Browsers send it for an empty input.
  if (fileName === '') {
    if (rule.required) throw missing(label, 'empty file name');
    throw ambiguous('a file has an empty file name');
  }
  if (isUnsafe(fileName)) {
    const plain = 'no path, none of : * ? < > |, nothing invisible, no dot or space at either end';
    throw unsupported(`${label} must have a plain file name: ${plain}`, 'unsafe file name');
  }
  if (Array.from(fileName).length > rule.nameLengthMax) {
    throw invalid(`${label} must have a file name of at most ${rule.nameLengthMax} characters`);
  }
  const extension = readExtension(fileName);
  if (rule.extensions && (extension === undefined || !rule.extensions.includes(extension))) {
    const allowed = rule.extensions.map((each) => `.${each}`).join(', ');
    throw unsupported(`${label} must have a file name that ends in one of ${allowed}`);
  }
}

/** What follows the last dot, in lower case; undefined when the name has no dot. */
export function readExtension(fileName: string): string | undefined {
  const dot = fileName.lastIndexOf('.');
  return dot === -1 ? undefined : fileName.slice(dot + 1).toLowerCase();
}

/**
 * Separators (`:` begins a stream or a drive on NTFS), hidden files, and the trailing dots and spaces that Windows drops, which
 * would turn `a.exe.` back into `a.exe`. Django drops what cannot be printed, so at either end that can hide a dot.
 */
function isUnsafe(fileName: string): boolean {
  return (
    /[/\\:*?"<>|]/.test(fileName) ||
    /^[.\p{Z}\p{C}]|[.\p{Z}\p{C}]$/u.test(fileName) ||
    unsafeText.test(fileName)
  );
}
