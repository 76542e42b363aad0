import { listed } from '../config/wording.ts';
import {
  isNamed,
  isTextType,
  matchesAny,
  takesText,
  typesOfDeclared,
  typesOfExtension,
} from '../content/media-types.ts';
import type { Refusal } from '../refusals.ts';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { readExtension } from './check-file-name.ts';
import { createTextCheck } from './check-text.ts';
import { isUtf8Charset } from './read-part-header.ts';
import { readSignature, sampleBytesMax, typesWithSignature } from './read-signature.ts';
import { unsupported } from './upload-refusals.ts';

/** What is said about a file besides its content. */
interface FileClaims {
  /** What a sentence calls the file: its field, or `The file`. */
  readonly label: string;
  /** The declared type without parameters; `application/octet-stream` claims nothing. */
  readonly type: string | undefined;
  /** Of a bare file: that of a part is UTF-8. */
  readonly charset: string | undefined;
  readonly fileName: string | undefined;
}

type State = 'pending' | 'signature' | 'text';

/**
 * Checks that the declared type, the extension and the first bytes of a file agree on one allowed type. A claim that is absent is
 * not held against the file, except that a type with a signature must show it, and that text, which has none, must be claimed and
 * be UTF-8 without NUL from beginning to end. An unknown extension agrees with no type. Every method throws `file_unsupported` as
 * soon as no allowed type is left.
 */
export class FileTypeCheck {
  readonly #allowed: readonly string[];
  readonly #claims: FileClaims;
  readonly #text = createTextCheck();
  readonly #sample = new CollectedBytes();
  #ended = false;
  #isText = true;
  #state: State = 'pending';

  constructor(allowed: readonly string[], claims: FileClaims) {
    this.#allowed = allowed;
    this.#claims = claims;
  }

  write(chunk: Buffer): void {
    if (this.#state === 'signature') return;
    this.#isText = this.#text.write(chunk);
    if (this.#state === 'text' && !this.#isText) throw this.#notText();
    if (this.#state === 'pending' && this.#sample.length < sampleBytesMax) {
      this.#sample.add(chunk.subarray(0, sampleBytesMax - this.#sample.length));
    }
  }

  end(): void {
    this.#ended = true;
    this.#isText = this.#text.end();
    if (this.#state === 'text' && !this.#isText) throw this.#notText();
  }

  /** Whether the file's type has passed; text must still hold to its end. */
  isDecided(): boolean {
    return this.#state !== 'pending';
  }

  /** Decides once enough of the file has been seen, and does nothing before. */
  async decide(): Promise<void> {
    if (this.isDecided() || (!this.#ended && this.#sample.length < sampleBytesMax)) return;
    const sample = this.#sample.take();
    const signature = await readSignature(sample);
    const provable = await typesWithSignature();
    const claims = readClaims(this.#claims);
    const claimed = claims.map(({ types }) => types);
    // A type that nothing speaks for is none of them.
    const possible = [...claimed.flat(), ...(signature ?? [])].filter((type) =>
      claimed.every((types) => types.includes(type)),
    );
    const agreed = possible.filter((type) => matchesAny(type, this.#allowed));
    const proven = signature ?? (possible.some((type) => provable.has(type)) ? [] : this.#named(possible));
    if (agreed.some((each) => !isTextType(each) && proven.includes(each))) {
      this.#state = 'signature';
    } else if (
      claimed.length > 0 &&
      agreed.some((each) => takesText(each, this.#allowed) && mayBeText(each, signature, sample))
    ) {
      if (!this.#isText || !isUtf8Charset(this.#claims.charset)) throw this.#notText();
      this.#state = 'text';
    } else {
      const said = signature ? [...claims, { by: 'its content', types: signature }] : claims;
      throw unsupported(`${this.#claims.label} must be ${this.#explain(said)}`, noneAgreed);
    }
  }

  /** Types that no first bytes tell are taken on the claims alone. */
  #named(types: readonly string[]): readonly string[] {
    return types.filter((type) => isNamed(type, this.#allowed));
  }

  /** Says what about the file is at fault: the allowed types alone may be the very ones that were sent. */
  #explain(claims: readonly Claim[]): string {
    const allowed = this.#allowed.length === 1 ? `${this.#allowed[0]}` : `one of ${this.#allowed.join(', ')}`;
    const expected = this.#allowed.includes('*/*') ? 'of a known type' : allowed;
    if (claims.length === 0) return `${expected}: nothing says that it is`;
    const left = claims.map(({ by, types }) => ({
      by,
      types: types.filter((type) => matchesAny(type, this.#allowed)),
    }));
    const others = left.filter(({ types }) => types.length === 0);
    if (others.length > 0) return `${expected}: ${namesOf(others)} ${others.length === 1 ? 'is' : 'are'} not`;
    return haveCommon(left) ? `${expected}: its content is not` : `of one type: ${namesOf(left)} differ`;
  }

  #notText(): Refusal {
    return unsupported(`${this.#claims.label} must be text in UTF-8`, 'not UTF-8 text');
  }
}

const noneAgreed = 'declared type, extension and content agree on no allowed type';

/** The canonical types that something about a file leaves possible. */
interface Claim {
  readonly by: string;
  readonly types: readonly string[];
}

/** Some servers store `．` and `․` as the dots that they look like (Werkzeug's `secure_filename`). */
function readClaims({ type, fileName }: FileClaims): readonly Claim[] {
  const extension = fileName === undefined ? undefined : readExtension(fileName.normalize('NFKC'));
  return [
    { by: 'its name', types: extension === undefined ? undefined : typesOfExtension(extension) },
    { by: 'its declared type', types: type === undefined ? undefined : typesOfDeclared(type) },
  ].filter((claim): claim is Claim => claim.types !== undefined);
}

function namesOf(claims: readonly Claim[]): string {
  return listed(
    'and',
    claims.map(({ by }) => by),
  );
}

function haveCommon([first, ...others]: readonly Claim[]): boolean {
  return first?.types.some((type) => others.every(({ types }) => types.includes(type))) ?? false;
}

/**
 * A text may begin with the letters of a binary format (`MAC Address;…` like Monkey's Audio), because no file of that format is
 * text to its last byte; not like one that is itself written in text and is not what was claimed.
 */
function mayBeText(type: string, signature: readonly string[] | undefined, sample: Buffer): boolean {
  if (!signature || signature.includes(type)) return true;
  if (type === 'text/plain' && signature.some(isTextType)) return true;
  if (signature.includes('application/xml')) return type.endsWith('+xml') || type === 'text/html';
  return beginsInLetters(sample) && !signature.some((each) => isWrittenInText(each, sample));
}

/** Whether there is no control character where signatures are looked for, so all of one is printable. */
function beginsInLetters(sample: Buffer): boolean {
  return /^[\t\n\f\r -\xff]*$/.test(sample.toString('latin1', 0, signatureBytesMax));
}

const signatureBytesMax = 512;

/** Whether a file of the type can be text from its first byte to its last, so that being text proves nothing. */
function isWrittenInText(type: string, sample: Buffer): boolean {
  // The library takes a bare `%!` for PostScript, but a LaTeX file begins with `%!TEX`.
  if (type === 'application/postscript') return sample.includes('%!PS');
  return isTextType(type) || writtenInText.has(type);
}

const writtenInText: ReadonlySet<string> = new Set(['application/pdf', 'application/rtf']);
