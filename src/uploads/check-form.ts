import { isUtf8 } from 'node:buffer';
import { printSize } from '../config/units.ts';
import type { FileRule, FormRule } from '../config/upload-rule.ts';
import { looseFieldName } from '../content/form-names.ts';
import { Refusal } from '../refusals.ts';
import type { Visit } from '../visit.ts';
import { CollectedBytes } from '../wire/collected-bytes.ts';
import { checkFileName, type FileNameRule } from './check-file-name.ts';
import { FileTypeCheck } from './check-file-type.ts';
import type { PartHandler } from './read-multipart.ts';
import type { PartHeader } from './read-part-header.ts';
import type { PartFact } from './second-reading.ts';
import { ambiguous, fileTooLarge, fileTooSmall, invalid, missing } from './upload-refusals.ts';

/** Bounds the work for a form whose rule allows any number of other files: an empty part costs as much as a large one. */
const partsMax = 1000;

/** What a file that `others: allow` lets through may be called. */
const otherNames: FileNameRule = { required: false, extensions: undefined, nameLengthMax: 255 };

const byteOrderMark = Buffer.from('\ufeff');

interface OpenFile {
  readonly kind: 'file';
  /** Undefined for a file that `others: allow` lets through. */
  readonly rule: FileRule | undefined;
  readonly types: FileTypeCheck | undefined;
}

interface OpenField {
  readonly kind: 'field';
  readonly value: CollectedBytes;
}

/** A part that is being read, and what is told of it at its end. */
type OpenPart = (OpenFile | OpenField) & { readonly fact: PartFact };

/** Checks the parts of a form against its rule as they arrive, and reports each part it has read to its end. */
export class FormCheck implements PartHandler {
  readonly #rule: FormRule;
  readonly #visit: Pick<Visit, 'mismatch'>;
  readonly #partRead: (fact: PartFact) => void;
  readonly #counts = new Map<string, number>();
  readonly #values = new Map<string, string[]>();
  #partCount = 0;
  #fieldCount = 0;
  #undecided: FileTypeCheck[] = [];
  #hasFile = false;
  #part: OpenPart | undefined;

  constructor(rule: FormRule, visit: Pick<Visit, 'mismatch'>, partRead: (fact: PartFact) => void) {
    this.#rule = rule;
    this.#visit = visit;
    this.#partRead = partRead;
  }

  partBegins(header: PartHeader): void {
    this.#partCount += 1;
    if (this.#partCount > partsMax) {
      throw invalid(`The form must have at most ${partsMax} parts`);
    }
    const { name, fileName, type } = header;
    const part = fileName === undefined ? this.#openField(name) : this.#openFile(header, fileName);
    this.#hasFile ||= part.kind === 'file';
    const fact = { kind: part.kind, name, fileName, type: type ?? 'text/plain', bytes: 0 };
    this.#part = { ...part, fact };
  }

  partData(data: Buffer): void {
    const part = this.#current();
    const { fact } = part;
    fact.bytes += data.length;
    if (part.kind === 'file') {
      if (part.rule && fact.bytes > part.rule.sizeMax) {
        throw fileTooLarge(fact.name, part.rule.sizeMax);
      }
      part.types?.write(data);
      return;
    }
    const { sizeMax } = this.#rule.fields;
    if (fact.bytes > sizeMax) {
      const message = `${this.#labelOf(fact.name)} must be at most ${printSize(sizeMax)}`;
      throw new Refusal('body_too_large', { message });
    }
    part.value.add(data);
  }

  partEnds(): void {
    const part = this.#current();
    const { fact } = part;
    if (part.kind === 'file') {
      checkSizeMin(part.rule, fact);
      part.types?.end();
    } else {
      this.#checkValue(fact.name, part.value.take());
    }
    this.#partRead(fact);
  }

  /** Whether a file has begun and the type of every file that has begun is known to be allowed. */
  typesPassed(): boolean {
    return this.#hasFile && this.isDecided();
  }

  /** Whether the type of every file that has begun is known to be allowed. */
  isDecided(): boolean {
    return this.#undecided.length === 0;
  }

  /** Decides the types that can be decided. Await it after every chunk. */
  async decide(): Promise<void> {
    for (const check of this.#undecided) await check.decide();
    this.#undecided = this.#undecided.filter((check) => !check.isDecided());
  }

  /** What only the end can show: nothing required is missing, and the text fields satisfy their schema. */
  finish(): void {
    for (const [field, { required }] of this.#rule.files) {
      if (required && !this.#counts.has(field)) throw missing(field);
    }
    // Some parsers take the bare closing delimiter for an empty form, others for a broken one.
    if (this.#partCount === 0) throw ambiguous('it has no parts');
    const { schema } = this.#rule.fields;
    if (schema === undefined) return;
    const fields = Object.fromEntries(
      [...this.#values].map(([name, values]) => [
        name,
        values.length === 1 && schema.kinds.get(name) !== 'list' ? values[0] : values,
      ]),
    );
    const fault = schema.check(fields);
    if (fault !== undefined) this.#mismatch(fault);
  }

  #current(): OpenPart {
    if (!this.#part) throw new Error('the reader reported data before a part');
    return this.#part;
  }

  #openFile(header: PartHeader, fileName: string): OpenFile {
    const { name, type } = header;
    const rule = this.#rule.files.get(name);
    if (!rule) return this.#openOther(header, fileName);
    const count = (this.#counts.get(name) ?? 0) + 1;
    if (count > rule.countMax) {
      const often = rule.countMax === 1 ? 'once' : `${rule.countMax} times`;
      throw invalid(`${name} must be sent at most ${often}`);
    }
    this.#counts.set(name, count);
    checkFileName(fileName, name, rule);
    const types =
      rule.types && new FileTypeCheck(rule.types, { label: name, type, charset: undefined, fileName });
    if (types) this.#undecided.push(types);
    return { kind: 'file', rule, types };
  }

  /** A file in a field that the rule does not list: only its names are checked, that nobody takes it for something else. */
  #openOther({ name, type }: PartHeader, fileName: string): OpenFile {
    if (this.#rule.others === 'refuse') throw this.#unexpectedFile();
    // Python's cgi, and all that look up files and texts together, would find its unchecked content as the value.
    if (this.#isKnownField(name)) {
      const message = `${name} must be sent as text`;
      const detail = 'file in the place of a text field';
      if (this.#rule.fields.names?.includes(name)) throw invalid(message, detail);
      this.#mismatch(message, detail);
    }
    // formidable 3 takes it for a text field, and as such the rule might refuse it.
    if (type === undefined) throw ambiguous('a file that no rule names declares no content type');
    // PHP drops it, and the files after it, one of which may be required.
    if (/\][^[]/.test(name)) throw ambiguous('a file that no rule names has a name with text after brackets');
    // An unchecked file would take the place of a checked one, or of a checked text.
    if (this.#isLooselyListed(name))
      throw ambiguous('a file that no rule names has a name that some parsers take for the one of a rule');
    checkFileName(fileName, 'Every file', otherNames);
    return { kind: 'file', rule: undefined, types: undefined };
  }

  #isLooselyListed(name: string): boolean {
    const { names = [], schema } = this.#rule.fields;
    const loose = looseFieldName(name);
    const listed = [...this.#rule.files.keys(), ...names, ...(schema?.kinds.keys() ?? [])];
    return listed.some((one) => one !== name && looseFieldName(one) === loose);
  }

  #openField(name: string): OpenField {
    if (this.#rule.files.has(name)) {
      throw new Refusal('file_missing', {
        message: `${name} must be sent as a file`,
        detail: 'text field in the place of a file',
      });
    }
    const { names, countMax } = this.#rule.fields;
    if (names && !names.includes(name)) throw unexpectedField(names);
    this.#fieldCount += 1;
    if (this.#fieldCount > countMax) {
      throw invalid(`The form must have at most ${countMax} text fields`);
    }
    return { kind: 'field', value: new CollectedBytes() };
  }

  #checkValue(name: string, value: Buffer): void {
    if (!isUtf8(value) || value.includes(0)) {
      throw invalid(`${this.#labelOf(name)} must be UTF-8 text`, 'not UTF-8 or NUL');
    }
    // Some decoders drop the mark, others keep it.
    if (value.subarray(0, 3).equals(byteOrderMark))
      throw ambiguous('a text field begins with a byte order mark');
    const { schema } = this.#rule.fields;
    if (schema === undefined) return;
    const values = this.#values.getOrInsert(name, []);
    const kind = schema.kinds.get(name);
    if (values.length > 0 && kind !== 'list' && kind !== 'either') {
      const field = kind === undefined ? 'A form field that the schema does not list' : name;
      this.#mismatch(`${field} must be sent once`, 'repeated text field');
    }
    values.push(value.toString('utf8'));
  }

  /** What is wrong by the schema alone. The first of it is told, as in a refusal. */
  #mismatch(message: string, detail?: string): void {
    if (this.#rule.fields.schema?.onMismatch !== 'report') throw invalid(message, detail);
    this.#visit.mismatch ??= message;
  }

  /** The name of a text field where the rule knows it: what only the client chose is not repeated. */
  #labelOf(name: string): string {
    return this.#isKnownField(name) ? name : 'A form field';
  }

  /** Whether the rule names it as a text field. */
  #isKnownField(name: string): boolean {
    const { names, schema } = this.#rule.fields;
    return schema?.kinds.has(name) === true || names?.includes(name) === true;
  }

  #unexpectedFile(): Refusal {
    const names = [...this.#rule.files.keys()];
    const message =
      names.length === 0 ? 'The form must hold no file' : `Files are taken only as ${names.join(', ')}`;
    return invalid(message, 'file in a field the rule does not name');
  }
}

function checkSizeMin(rule: FileRule | undefined, { name, bytes }: PartFact): void {
  if (!rule || bytes >= rule.sizeMin) return;
  if (bytes === 0) throw new Refusal('file_missing', { message: `${name} is empty` });
  throw fileTooSmall(name, rule.sizeMin);
}

function unexpectedField(names: readonly string[]): Refusal {
  const message =
    names.length === 0
      ? 'The form must hold no text field'
      : `Text fields are taken only as ${names.join(', ')}`;
  return invalid(message, 'text field the rule does not name');
}
