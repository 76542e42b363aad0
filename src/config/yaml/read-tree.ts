import { isAlias, isMap, isNode, isScalar, isSeq, type Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { pointerTo, type Path } from '../json-pointer.ts';
import { expandText } from './expand.ts';
import type { Places } from './places.ts';
import type { Source } from './read-yaml.ts';

interface Reader {
  readonly source: Source;
  readonly env: NodeJS.ProcessEnv;
  readonly places: Places;
  readonly report: (pointer: string, message: string, offset?: number) => void;
  /** Anchored nodes met so far; the parser's own look-up walks the whole document for each alias. */
  readonly anchors: Map<string, unknown>;
  /** Values read through an alias so far. */
  repeated: number;
}

type TreeOptions = Omit<Reader, 'anchors' | 'repeated'>;

interface Spot {
  readonly path: Path;
  readonly offset: number;
  readonly aliased: boolean;
}

const depthMax = 64;
const repeatedMax = 10_000;

/** Below these paths text is taken as written: `$` and `{` have their own meaning in a regular expression. */
const unexpanded = /^\/routes\/\d+\/body\/(?:json|upload\/fields)\/schema\//;

/**
 * Turns the YAML nodes into plain values, expands `${…}`, remembers every place and reports what strict reading
 * refuses: repeated keys, merge keys, aliases that are unknown or multiply without end.
 */
export function readTree(options: TreeOptions): unknown {
  const root = options.source.document.contents;
  const reader = { ...options, anchors: new Map<string, unknown>(), repeated: 0 };
  return readNode(reader, root, { path: [], offset: root?.range[0] ?? 0, aliased: false });
}

function readNode(reader: Reader, node: unknown, spot: Spot): unknown {
  const pointer = pointerTo(spot.path);
  if (spot.path.length > depthMax) return refuse(reader, spot, `is nested deeper than ${depthMax} levels`);
  if (spot.aliased && (reader.repeated += 1) > repeatedMax) {
    return reader.repeated === repeatedMax + 1
      ? refuse(reader, spot, 'aliases (*name) repeat too much of the file')
      : null;
  }
  if (isAlias(node)) {
    const target = reader.anchors.get(node.source);
    if (target === undefined)
      return refuse(reader, spot, 'there is no anchor (&name) for this alias above it');
    return readNode(reader, target, { ...spot, aliased: true });
  }
  if (isNode(node) && node.anchor !== undefined) reader.anchors.set(node.anchor, node);
  if (isMap(node)) return readMap(reader, node, spot);
  if (isSeq(node)) return readList(reader, node, spot);
  const value: unknown = isScalar(node) ? copyOf(node.value) : null;
  if (typeof value === 'string' && value.includes('${') && !unexpanded.test(pointer))
    return readText(reader, value, spot);
  reader.places.mark(spot, value);
  return value;
}

function readList(reader: Reader, node: YAMLSeq, spot: Spot): unknown {
  const list: unknown[] = [];
  reader.places.mark(spot, list);
  for (const [at, item] of node.items.entries()) {
    const path = [...spot.path, at];
    list.push(readNode(reader, item, { ...spot, path, offset: startOf(item) ?? spot.offset }));
  }
  return list;
}

function readMap(reader: Reader, node: YAMLMap, spot: Spot): unknown {
  const map: Record<string, unknown> = {};
  reader.places.mark(spot, map);
  for (const pair of node.items) {
    const key = keyOf(pair);
    const at = { ...spot, path: [...spot.path, key], offset: startOf(pair.key) ?? spot.offset };
    const pointer = pointerTo(at.path);
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

function readText(reader: Reader, text: string, spot: Spot): unknown {
  const expansion = expandText(text, reader.env);
  if ('problem' in expansion) return refuse(reader, spot, expansion.problem, text);
  reader.places.mark(spot, expansion.text, expansion.expanded);
  return expansion.text;
}

function refuse(reader: Reader, spot: Spot, message: string, value: unknown = null): unknown {
  reader.places.mark(spot, value, true);
  reader.report(pointerTo(spot.path), message);
  return value;
}

function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(copyOf(pair.key.value)) : '';
}

/**
 * To V8, what the parser cuts out of the file is a view of all of it: one route path that is kept would keep every secret in the
 * file while the process lives. A clone shares nothing.
 */
function copyOf(scalar: unknown): unknown {
  return structuredClone(scalar);
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
