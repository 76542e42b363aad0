import {
  isCollection,
  isScalar,
  visit,
  type Document,
  type ErrorCode,
  type Range,
  type YAMLError,
} from 'yaml';

/** Something the YAML rules forbid, at an offset in the text. */
export interface SyntaxFault {
  readonly offset: number;
  readonly message: string;
}

/**
 * What the parser found, told as the mistake behind it where that is known. Of each line one mistake is told, as the rest may be its
 * consequence, and nothing behind one after which the parser takes everything for something else.
 */
export function syntaxFaults(document: Document.Parsed, text: string): readonly SyntaxFault[] {
  const errors = [...document.errors, ...document.warnings];
  if (errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) return [tooDeep];
  const whole: Whole = {
    text,
    errors,
    open: leftOpen(document, text),
    root: document.contents?.range,
    glued: gluedDash(text),
  };
  const found = new Map<number, SyntaxFault>();
  const known = new Map<number, SyntaxFault>();
  for (const error of errors.slice(0, lookedAtMax)) {
    const loss = lossOf(error, whole);
    const plain = faultOf(error, text);
    const fault = loss ?? hints[error.code]?.(error, whole) ?? plain;
    const line = text.lastIndexOf('\n', Math.max(error.pos[0], fault.offset) - 1);
    (fault.message === plain.message ? found : known).getOrInsert(line, fault);
    if (loss !== undefined) break;
  }
  const faults = new Map([...found, ...known]).values();
  return [...new Map(faults.map((fault) => [fault.offset, fault])).values()].slice(0, reportedMax);
}

/** What is said when the parser gives up. */
export const tooDeep: SyntaxFault = {
  offset: 0,
  message: 'the file is nested too deeply, or very many commas are missing',
};

const reportedMax = 20;
/** Several may be about one mistake. */
const lookedAtMax = 200;

/** What is known of the whole text. */
interface Whole {
  readonly text: string;
  readonly errors: readonly YAMLError[];
  /** What to say where the parser finds the end of a quote or bracket that is not closed. */
  readonly open: ReadonlyMap<number, SyntaxFault>;
  /** Where its one value begins and ends. */
  readonly root: Range | undefined;
  readonly glued: { readonly from: number; readonly to: number } | undefined;
}

function faultOf({ code, pos }: YAMLError, text: string): SyntaxFault {
  const at = behindBlankLines(pos[0], text);
  // What the parser misses where an indented line begins is the "-" of the list above it.
  const isIndented = text.startsWith(' ', at) && text.lastIndexOf('\n', at - 1) === at - 1;
  const told = code === 'MISSING_CHAR' && isIndented ? 'BAD_INDENT' : code;
  return {
    offset: at,
    message: told === 'UNEXPECTED_TOKEN' ? unexpectedSentence(at, text) : sentences[told],
  };
}

/** The parser may name the first of the blank lines and comments in front of what is wrong. */
function behindBlankLines(at: number, text: string): number {
  if (text.charAt(at - 1) !== '\n') return at;
  const blank = /(?:[ \t]*(?:#.*)?\r?\n)*/y;
  blank.lastIndex = at;
  return at + (blank.exec(text)?.[0].length ?? 0);
}

/** A mistake after which the parser takes everything for something else. */
function lossOf(error: YAMLError, { text, root, glued }: Whole): SyntaxFault | undefined {
  const [at] = error.pos;
  if (glued !== undefined && glued.from <= at && at < glued.to)
    return { offset: text.indexOf('-', glued.from), message: 'a space is missing after this -' };
  if (text.startsWith('${', at - 1)) return { offset: at - 1, message: unquotedSentence };
  const template = templateBefore(at, text);
  if (template !== undefined) return { offset: template, message: templateSentence };
  const tab = error.code === 'BAD_INDENT' ? tabBefore(at, text) : undefined;
  if (tab !== undefined) return { offset: tab, message: sentences.TAB_AS_INDENT };
  if (error.code === 'TAB_AS_INDENT') return faultOf(error, text);
  if (error.code !== 'UNEXPECTED_TOKEN') return undefined;
  const sign = text.charAt(at);
  if (/[\]}]/.test(sign)) return faultOf(error, text);
  const gap = endBefore(at, text);
  const isBetween = /[[{]/.test(sign) && /[\]}]/.test(text.charAt(gap - 1));
  if (isBetween) return { offset: gap, message: commaSentence };
  if (root === undefined || at < root[1]) return undefined;
  const isOnItsLine = !text.slice(gap, at).includes('\n');
  return isOnItsLine ? faultOf(error, text) : { offset: root[0], message: endSentence(at, text) };
}

/** Where the `{{` or `{{-` begins that the parser takes for a mapping within another. */
function templateBefore(at: number, text: string): number | undefined {
  const from = Math.max(0, at - 2);
  const found = text.slice(from, at + 1).indexOf('{{');
  return found === -1 ? undefined : from + found;
}

/** Where a tab indents what begins a line at this place. Inside {} and [] the parser only says that it is too little. */
function tabBefore(at: number, text: string): number | undefined {
  const from = endBefore(at, text);
  const gap = text.slice(from, at);
  const tab = gap.indexOf('\t', gap.lastIndexOf('\n'));
  return gap.includes('\n') && tab !== -1 ? from + tab : undefined;
}

/**
 * The first line such as `-{ path: /x }` or `-path: /x`, which is not taken for an item, and often the next line too. A line that
 * begins with `-1` is a number.
 */
function gluedDash(text: string): Whole['glued'] {
  const found = /^[ \t]*-[^-\s\d].*\r?\n?.*/m.exec(text);
  return found === null ? undefined : { from: found.index, to: found.index + found[0].length };
}

/** What an error of each code may be about. */
const hints: Readonly<
  Partial<Record<ErrorCode, (error: YAMLError, whole: Whole) => SyntaxFault | undefined>>
> = {
  BAD_INDENT: ({ pos: [at] }, whole) => notClosed(at, whole),
  MISSING_CHAR: ({ pos: [at] }, whole) => notClosed(at, whole),
  BLOCK_IN_FLOW: ({ pos: [from, to] }, { text }) => commaBeforeKey(from, to, text),
  // The parser passes over a word that follows a bracket, and then finds that something is missing.
  UNEXPECTED_TOKEN: ({ pos: [at, to] }, { text, errors }) =>
    has(errors, 'MISSING_CHAR', to) ? { offset: endBefore(at, text), message: commaSentence } : undefined,
  NON_STRING_KEY: ({ pos: [at] }, whole) => strayDash(at, whole),
  // What begins at the end of a line is what the next one has.
  BLOCK_AS_IMPLICIT_KEY: ({ pos: [at] }, whole) =>
    strayDash(at + whole.text.slice(at).search(/\S|$/), whole) ?? deeperLine(at, whole),
  MULTILINE_IMPLICIT_KEY: ({ pos: [at] }, whole) => deeperLine(at, whole),
};

/** What the parser does not expect before it in the line may be why: of `{ pattern: ^[a-z]+$ }` it closes the list alone. */
function notClosed(at: number, { text, errors, open }: Whole): SyntaxFault | undefined {
  const line = text.lastIndexOf('\n', at - 1);
  const isMistaken = errors.some(
    ({ code, pos: [other] }) => code === 'UNEXPECTED_TOKEN' && line < other && other < at,
  );
  return isMistaken ? undefined : open.get(at);
}

/** A line such as `- name: value` among options is taken for a key without a value. */
function strayDash(at: number, { text, errors }: Whole): SyntaxFault | undefined {
  const isStray = text.startsWith('- ', at) && has(errors, 'NON_STRING_KEY', at);
  return isStray ? { offset: at, message: dashSentence } : undefined;
}

/**
 * A line that is indented further than a text above it goes on with that, and both together are taken for a key. The parser says two
 * things of that, where the text begins.
 */
function deeperLine(at: number, { text, errors }: Whole): SyntaxFault | undefined {
  const key = errors.find(({ code, pos }) => code === 'MULTILINE_IMPLICIT_KEY' && pos[0] === at);
  const line = text.lastIndexOf('\n', (key?.pos[1] ?? 0) - 1) + 1;
  const isDeeper = line > at && has(errors, 'BLOCK_AS_IMPLICIT_KEY', at);
  return isDeeper ? { offset: line, message: deeperSentence } : undefined;
}

function has(errors: readonly YAMLError[], wanted: ErrorCode, at: number): boolean {
  return errors.some(({ code, pos }) => code === wanted && pos[0] === at);
}

/** What to say at the end of each quote or bracket that is not closed. One may be open because of another inside. */
function leftOpen(document: Document.Parsed, text: string): ReadonlyMap<number, SyntaxFault> {
  const open: { readonly from: number; readonly to: number; readonly closer: string }[] = [];
  visit(document, (_key, node) => {
    if (!(isScalar(node) || isCollection(node)) || !node.range) return;
    const [from, to] = node.range;
    const closer = (isScalar(node) ? quotes : brackets)[text.charAt(from)];
    const isClosed = to > from + 1 && text.charAt(to - 1) === closer;
    if (closer !== undefined && !isClosed) open.push({ from, to, closer });
  });
  const faults = new Map<number, SyntaxFault>();
  let inner = open.at(-1);
  for (const opening of open.toReversed()) {
    inner = inner !== undefined && inner.from < opening.to ? inner : opening;
    const why = `a ${inner.closer} is missing, or lines up to it are not indented enough`;
    const message = `this ${text.charAt(inner.from)} is not closed: ${why}`;
    faults.set(opening.to, { offset: inner.from, message });
  }
  return faults;
}

const quotes: Readonly<Record<string, string>> = { '"': '"', "'": "'" };
const brackets: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** In `{ cost: 1 body: none }` the parser takes `1 body: none` for a mapping. An intended one begins a line. */
function commaBeforeKey(from: number, to: number, text: string): SyntaxFault | undefined {
  const isMeant = text.slice(text.lastIndexOf('\n', from - 1) + 1, from).trim() === '';
  const colon = text.slice(from, to).search(/:\s/);
  if (isMeant || colon === -1 || /^-\s/.test(text.slice(from, from + 2))) return undefined;
  const words = text.slice(from, from + colon).trimEnd();
  const quote = quotes[words.at(-1) ?? ''];
  const keyAt = quote === undefined ? lastWordAt(words) : words.lastIndexOf(quote, words.length - 2);
  const offset = endBefore(from + keyAt, text);
  return offset > from ? { offset, message: commaOrQuotesSentence } : undefined;
}

function lastWordAt(words: string): number {
  return 1 + Math.max(...[' ', '\t', '\n'].map((space) => words.lastIndexOf(space)));
}

/** Where the text before this place ends. */
function endBefore(at: number, text: string): number {
  return text.slice(0, at).trimEnd().length;
}

const commaSentence = 'a comma is missing here';

const commaOrQuotesSentence = 'a comma is missing here, or quotes around a text with ": " in it';

/** Either of the two may be the one that is indented wrongly. */
const deeperSentence =
  'this line and the one above must start in the same column, or the text there goes on here and needs quotes';

/** The first line is indented otherwise than a later one, or lacks its colon. */
function endSentence(at: number, text: string): string {
  const line = text.slice(0, at).split('\n').length;
  return `what begins here ends before line ${line}: both must be options (name: value) that start in the same column`;
}

const dashSentence =
  'no list can begin here: take this - out, or indent the line as the other items of its list';

const unquotedSentence = "inside {} and [] a value with ${…} must be in quotes, such as '${NAME}'";

const templateSentence = 'this {{…}} was not replaced, or needs quotes';

/** What goes on behind `[::]` is a text, and behind `'Can'` the rest of one. */
function unexpectedSentence(at: number, text: string): string {
  const end = endBefore(at, text);
  const before = text.charAt(end - 1);
  const sign = text.charAt(at);
  if (/[\]}]/.test(sign)) return `this ${sign} closes nothing`;
  if (sign === ',') return sentences.UNEXPECTED_TOKEN;
  if (/[\]}]/.test(before) && !text.slice(end, at).includes('\n'))
    return 'a text that begins with [ or { needs quotes, or a comma is missing here';
  if (end === at && quotes[before] !== undefined)
    return `the text in quotes ends here: a ' in it is written '', and a " is written \\"`;
  return sentences.UNEXPECTED_TOKEN;
}

/** Our own sentences: the parser's repeat parts of the text, which may be a secret. */
const sentences: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias (*name) cannot have an anchor or a tag',
  BAD_ALIAS: 'a text that begins with * needs quotes',
  BAD_COLLECTION_TYPE: 'this tag does not fit what follows it',
  BAD_DIRECTIVE: 'this % line is not understood, remove it',
  BAD_DQ_ESCAPE: 'this backslash sequence is not known, double the backslash or use single quotes',
  BAD_INDENT: 'the indentation is wrong, lines of one mapping or list must start in the same column',
  BAD_PROP_ORDER: 'anchors and tags must stand before what they mark',
  BAD_SCALAR_START: 'a value cannot start with this character, put it in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a mapping cannot start in the middle of a line, put the text in quotes or on its own line',
  BLOCK_IN_FLOW: 'inside {} and [] everything must be written with {} and []',
  DUPLICATE_KEY: 'this key is there twice',
  IMPOSSIBLE: 'this is not valid YAML',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters',
  MISSING_CHAR:
    'something is missing here: a ":" or the space after it, a comma, a closing quote or a bracket',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line, perhaps a ":" is missing, or a space after it',
  MULTIPLE_ANCHORS: 'only one anchor can stand here',
  MULTIPLE_DOCS: 'the file must hold one document, remove the "---"',
  MULTIPLE_TAGS: 'only one tag can stand here',
  NON_STRING_KEY: 'a key must be plain text',
  RESOURCE_EXHAUSTION: tooDeep.message,
  TAB_AS_INDENT: 'tabs cannot indent, use spaces',
  TAG_RESOLVE_FAILED: 'this tag is not known: remove it, or put a text that begins with ! in quotes',
  UNEXPECTED_TOKEN: 'this is not expected here, perhaps a comma, a quote or a bracket is missing',
};
