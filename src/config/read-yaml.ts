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
  return { source: { document, lines }, faults: faultsOf(document) };
}

function faultsOf(document: Document.Parsed): readonly SyntaxFault[] {
  const all: readonly YAMLError[] = [...document.errors, ...document.warnings];
  // Nesting that exhausts the parser brings thousands of follow-up errors, all of them about the same place.
  const exhausted = all.filter(({ code }) => code === 'RESOURCE_EXHAUSTION').slice(0, 1);
  const shown = exhausted.length > 0 ? exhausted : all.slice(0, reportedMax);
  const faults = shown.map(({ code, pos }) => ({ offset: pos[0], message: sentences[code] }));
  if (document.directives.yaml.version !== '1.2')
    faults.push({ offset: 0, message: 'only YAML 1.2 is read, remove the %YAML line' });
  return faults;
}

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
