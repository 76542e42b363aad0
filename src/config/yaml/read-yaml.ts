import { LineCounter, parseDocument, type Document } from 'yaml';
import { syntaxFaults, tooDeep, type SyntaxFault } from './syntax-faults.ts';

/** A document, what is needed to find its lines again, and where it breaks the strict rules. */
export interface Source {
  readonly root: Document.Parsed['contents'];
  readonly lines: LineCounter;
  readonly faults: readonly SyntaxFault[];
}

/**
 * Reads one YAML 1.2 document. Repeated keys are found later, while the tree is read: the parser's own check compares
 * every key with every other, and a megabyte of keys would keep it busy for minutes.
 */
export function readYaml(text: string): Source {
  if (text.includes('\r') && !text.includes('\n')) return { ...parse(''), faults: [linesEndWithCr] };
  try {
    return parse(text);
  } catch (error) {
    // The parser calls itself for each comma missing in a line, until the stack ends (yaml 2.9).
    if (!(error instanceof RangeError)) throw error;
    return { ...parse(''), faults: [tooDeep] };
  }
}

/** A line break in YAML 1.2 (§5.4), which the parser takes for a character like any other. */
const linesEndWithCr: SyntaxFault = {
  offset: 0,
  message: 'the lines end with CR alone, save the file with LF',
};

function parse(text: string): Source {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    logLevel: 'error',
    merge: false,
    prettyErrors: false,
    // Tags of YAML 1.1 make dates, sets and bytes, and nothing here can hold them.
    resolveKnownTags: false,
    schema: 'core',
    strict: true,
    stringKeys: true,
    uniqueKeys: false,
    version: '1.2',
  });
  return { root: document.contents, lines, faults: faultsOf(document, text) };
}

function faultsOf(document: Document.Parsed, text: string): readonly SyntaxFault[] {
  const faults = syntaxFaults(document, text);
  if (document.directives.yaml.version === '1.2') return faults;
  return [...faults, { offset: 0, message: 'only YAML 1.2 is read, remove the %YAML line' }];
}
