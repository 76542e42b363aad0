import { isAlias, isMap, isNode, isScalar, isSeq, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { childPointer } from '../json-pointer.ts';
import { expandText } from './expand.ts';
import { pathOfPart, type Places, type Spot } from './places.ts';
import type { Source } from './read-yaml.ts';

interface Reader {
  readonly env: NodeJS.ProcessEnv;
  readonly places: Places;
  readonly report: (pointer: string, message: string, offset?: number) => void;
  readonly warn: (pointer: string, message: string) => void;
  /** Anchored nodes met so far; the parser's own look-up walks the whole document for each alias. */
  readonly anchors: Map<string, unknown>;
  /** Mappings and lists that are being read. */
  readonly open: Set<unknown>;
  /** Values read through an alias so far. */
  repeated: number;
}

interface NodeSpot extends Spot {
  readonly depth: number;
  readonly aliased: boolean;
}

const depthMax = 64;
const repeatedMax = 10_000;

/** Below these paths text is taken as written: `$` and `{` have their own meaning in a regular expression. */
const unexpanded = /^\/routes\/\d+\/body\/(?:json|upload\/fields)\/schema\//;

/**
 * Turns the YAML nodes into plain values, expands `${…}`, remembers every place and reports what strict reading
 * refuses: repeated keys, merge keys, aliases that are unknown, repeat themselves or multiply without end. Warns of numbers
 * that others read in another way.
 */
export function readTree(
  root: Source['root'],
  options: Omit<Reader, 'anchors' | 'open' | 'repeated'>,
): unknown {
  const reader = { ...options, anchors: new Map<string, unknown>(), open: new Set<unknown>(), repeated: 0 };
  const spot = { pointer: '', path: '', offset: root?.range[0] ?? 0, depth: 0, aliased: false };
  return readNode(reader, root, spot);
}

function readNode(reader: Reader, node: unknown, spot: NodeSpot): unknown {
  if (spot.depth > depthMax) return refuse(reader, spot, `is nested deeper than ${depthMax} levels`);
  if (spot.aliased && (reader.repeated += 1) > repeatedMax) {
    return reader.repeated === repeatedMax + 1
      ? refuse(reader, spot, 'aliases (*name) repeat too much of the file')
      : null;
  }
  if (isAlias(node)) {
    const target = reader.anchors.get(node.source);
    if (target === undefined)
      return refuse(
        reader,
        spot,
        'there is no anchor (&name) above for this alias; a text that begins with * needs quotes',
      );
    if (reader.open.has(target))
      return refuse(reader, spot, 'this alias (*name) stands inside what it repeats');
    return readNode(reader, target, { ...spot, aliased: true });
  }
  if (isNode(node) && node.anchor !== undefined) reader.anchors.set(node.anchor, node);
  if (isMap(node) || isSeq(node)) return readContainer(reader, node, spot);
  const value: unknown = isScalar(node) ? copyOf(node.value) : null;
  if (typeof value === 'string' && !unexpanded.test(spot.pointer)) return readText(reader, value, spot);
  reader.places.mark(spot, value);
  if (typeof value === 'number' && startsWithZero(node)) {
    reader.warn(
      spot.pointer,
      `is read as ${value}, other readers take a number that begins with 0 for octal`,
    );
  }
  return value;
}

/** To YAML 1.1 `010` is 8. */
function startsWithZero(node: unknown): boolean {
  return isScalar(node) && /^[-+]?0\d/.test(node.source ?? '');
}

function readContainer(reader: Reader, node: YAMLMap | YAMLSeq, spot: NodeSpot): unknown {
  reader.open.add(node);
  const value = isMap(node) ? readMap(reader, node, spot) : readList(reader, node, spot);
  reader.open.delete(node);
  return value;
}

function readList(reader: Reader, node: YAMLSeq, spot: NodeSpot): unknown {
  const list: unknown[] = [];
  reader.places.mark(spot, list);
  for (const [at, item] of node.items.entries()) {
    list.push(readNode(reader, item, below(spot, at, item)));
  }
  return list;
}

function readMap(reader: Reader, node: YAMLMap, spot: NodeSpot): unknown {
  const map: Record<string, unknown> = {};
  reader.places.mark(spot, map);
  for (const pair of node.items) {
    const key = keyOf(pair);
    const at = below(spot, key, pair.key);
    const { pointer } = at;
    if (key === '<<')
      reader.report(pointer, 'merge keys (<<) are not read, write the options out', at.offset);
    else if (key === '__proto__') reader.report(pointer, 'this key is not allowed', at.offset);
    else if (Object.hasOwn(map, key))
      reader.report(
        pointer,
        `this key is there twice, first on line ${reader.places.locate(pointer).line}`,
        at.offset,
      );
    else map[key] = readNode(reader, pair.value, at);
  }
  return map;
}

function readText(reader: Reader, text: string, spot: NodeSpot): unknown {
  const expansion = expandText(text, reader.env);
  if ('problem' in expansion) return refuse(reader, spot, expansion.problem, text);
  reader.places.mark(spot, expansion.text, expansion.expanded);
  return expansion.text;
}

function refuse(reader: Reader, spot: NodeSpot, message: string, value: unknown = null): unknown {
  reader.places.mark(spot, value);
  reader.report(spot.pointer, message);
  return value;
}

function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(copyOf(pair.key.value)) : '';
}

/**
 * To V8, what the parser cuts out of the file is a view of all of it: one route path that is kept would keep every secret in the
 * file while the process lives. What is written and read again shares nothing; a structured clone does since Node 26.12.
 */
function copyOf(scalar: unknown): unknown {
  return typeof scalar === 'string' ? JSON.parse(JSON.stringify(scalar)) : scalar;
}

/** One step further down, to what begins at this node. */
function below(spot: NodeSpot, step: string | number, node: unknown): NodeSpot {
  const start = isNode(node) ? node.range?.[0] : undefined;
  return {
    ...spot,
    pointer: childPointer(spot.pointer, String(step)),
    path: pathOfPart(spot.path, step),
    offset: start ?? spot.offset,
    depth: spot.depth + 1,
  };
}
