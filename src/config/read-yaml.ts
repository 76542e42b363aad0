import { LineCounter, parseDocument } from 'yaml';
import type { Document, ErrorCode, YAMLError } from 'yaml';

/** A document that follows the strict rules, with what is needed to find lines again. */
export interface Source {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
}

/** Something the YAML rules forbid, at an offset in the text. */
export interface SyntaxFault {
  readonly offset: number;
  readonly message: string;
}

const reportedMax = 20;

/**
 * Reads one YAML 1.2 document. Repeated keys are found later, while the tree is read: the parser's own check compares
 * every key with every other, and a megabyte of keys would keep it busy for minutes.
 */
export function readYaml(text: string): { source: Source; faults: readonly SyntaxFault[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    logLevel: 'error',
    merge: false,
    prettyErrors: false,
    schema: 'core',
    strict: true,
    stringKeys: true,
    uniqueKeys: false,
    version: '1.2',
  });
  return { source: { document, lines }, faults: faultsOf(document, text) };
}

function faultsOf(document: Document.Parsed, text: string): readonly SyntaxFault[] {
  const faults = worthTelling([...document.errors, ...document.warnings], text);
  if (document.directives.yaml.version === '1.2') return faults;
  return [...faults, { offset: 0, message: 'only YAML 1.2 is read, remove the %YAML line' }];
}

/** One mistake may make the parser stumble thousands of times, and what it says after that is about the same mistake. */
function worthTelling(errors: readonly YAMLError[], text: string): readonly SyntaxFault[] {
  const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  if (exhausted !== undefined) return [faultOf(exhausted)];
  const unquoted = errors.findIndex(({ pos: [at] }) => text.startsWith('${', at - 1));
  if (unquoted === -1) return errors.slice(0, reportedMax).map(faultOf);
  const offset = (errors[unquoted]?.pos[0] ?? 1) - 1;
  return [...errors.slice(0, unquoted).map(faultOf), { offset, message: unquotedSentence }];
}

function faultOf({ code, pos }: YAMLError): SyntaxFault {
  return { offset: pos[0], message: sentences[code] };
}

const unquotedSentence = "inside {} and [] a value with ${…} must be in quotes, such as '${NAME}'";

/** Our own sentences: the parser's repeat pieces of the text, which may be a secret. */
const sentences: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias (*name) cannot have an anchor or a tag',
  BAD_ALIAS: 'this alias is not valid',
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
  MISSING_CHAR: 'something is missing here: a ":", a comma, a closing quote or a bracket',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line, perhaps a ":" is missing',
  MULTIPLE_ANCHORS: 'only one anchor can stand here',
  MULTIPLE_DOCS: 'the file must hold one document, remove the "---"',
  MULTIPLE_TAGS: 'only one tag can stand here',
  NON_STRING_KEY: 'a key must be plain text',
  RESOURCE_EXHAUSTION: 'the file is nested too deeply',
  TAB_AS_INDENT: 'tabs cannot indent, use spaces',
  TAG_RESOLVE_FAILED: 'this tag is not known, remove it',
  UNEXPECTED_TOKEN: 'this is not expected here, perhaps a quote or a bracket is missing',
};
