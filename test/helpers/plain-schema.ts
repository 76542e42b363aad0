import { isDeepStrictEqual } from 'node:util';

/**
 * Judges by the letter of JSON Schema 2020-12, keyword by keyword and without a thought for speed: the names or places that were
 * evaluated, or undefined for what does not fit. It knows the keywords below alone.
 */
export function judge(schema: unknown, value: unknown, root = schema): Set<string> | undefined {
  if (typeof schema === 'boolean') return schema ? new Set() : undefined;
  const seen = new Set<string>();
  const rules = schema as Record<string, unknown>;
  // Those two look at what all others have evaluated.
  const keywords = Object.keys(rules).toSorted((a, b) => Number(isLate(a)) - Number(isLate(b)));
  for (const keyword of keywords) {
    const marks = judgeKeyword(keyword, rules, value, root, seen);
    if (marks === undefined) return undefined;
    for (const mark of marks) seen.add(mark);
  }
  return seen;
}

type Marks = Iterable<string> | undefined;

function judgeKeyword(
  keyword: string,
  rules: Readonly<Record<string, unknown>>,
  value: unknown,
  root: unknown,
  seen: ReadonlySet<string>,
): Marks {
  const rule = rules[keyword];
  const children = new Map(isObject(value) ? Object.entries(value) : []);
  const items = new Map(Array.isArray(value) ? value.map((item: unknown, at) => [String(at), item]) : []);
  const schemas = (Array.isArray(rule) ? rule : []) as readonly unknown[];
  const named = new Map(isObject(rule) ? Object.entries(rule) : []);
  const fits = (part: unknown, of: unknown = value): boolean => judge(part, of, root) !== undefined;
  const here = (part: unknown): Marks => judge(part, value, root);
  /** Has all of these children judged by their schemas. */
  const below = (parts: readonly (readonly [key: string, child: unknown, part: unknown])[]): Marks =>
    parts.every(([, child, part]) => fits(part, child)) ? parts.map(([key]) => key) : undefined;
  const rest = (among: ReadonlyMap<string, unknown>, isTaken: (key: string) => boolean): Marks =>
    below([...among].filter(([key]) => !isTaken(key)).map(([key, child]) => [key, child, rule]));
  const isDeclared = (key: string): boolean =>
    (isObject(rules['properties']) && Object.hasOwn(rules['properties'], key)) ||
    Object.keys(rules['patternProperties'] ?? {}).some((pattern) => RegExp(pattern, 'u').test(key));
  const passing = schemas.filter((part) => fits(part));
  switch (keyword) {
    case '$ref':
      return here((root as { $defs: Record<string, unknown> }).$defs[String(rule).replace('#/$defs/', '')]);
    case 'type':
      return typeOf(value) === rule ? [] : undefined;
    case 'const':
      return isDeepStrictEqual(value, rule) ? [] : undefined;
    case 'required':
      return !isObject(value) || schemas.every((name) => children.has(String(name))) ? [] : undefined;
    case 'uniqueItems':
      return [...items].some(([at, item]) =>
        [...items].some(([to, same]) => at < to && isDeepStrictEqual(item, same)),
      )
        ? undefined
        : [];
    case 'properties':
      return below(
        [...named].filter(([key]) => children.has(key)).map(([key, part]) => [key, children.get(key), part]),
      );
    case 'patternProperties':
      return below(
        [...named].flatMap(([pattern, part]) =>
          [...children]
            .filter(([key]) => RegExp(pattern, 'u').test(key))
            .map(([key, child]) => [key, child, part] as const),
        ),
      );
    case 'additionalProperties':
      return rest(children, isDeclared);
    case 'prefixItems':
      return below([...items].slice(0, schemas.length).map(([at, item]) => [at, item, schemas[Number(at)]]));
    case 'items':
      return rest(
        items,
        (at) => Number(at) < (Array.isArray(rules['prefixItems']) ? rules['prefixItems'].length : 0),
      );
    case 'contains': {
      const matching = [...items].filter(([, item]) => fits(rule, item)).map(([at]) => at);
      const { minContains = 1, maxContains = Infinity } = rules as {
        minContains?: number;
        maxContains?: number;
      };
      const isRight = matching.length >= minContains && matching.length <= maxContains;
      return !Array.isArray(value) || isRight ? matching : undefined;
    }
    case 'allOf':
    case 'anyOf':
    case 'oneOf': {
      const isRight =
        keyword === 'allOf'
          ? passing.length === schemas.length
          : keyword === 'anyOf'
            ? passing.length > 0
            : passing.length === 1;
      return isRight ? passing.flatMap((part) => [...(here(part) ?? [])]) : undefined;
    }
    case 'not':
      return fits(rule) ? undefined : [];
    case 'if': {
      const asked = here(rule);
      const answer = here((asked ? rules['then'] : rules['else']) ?? true);
      return answer && [...(asked ?? []), ...answer];
    }
    case 'dependentSchemas': {
      const asked = [...named].filter(([key]) => children.has(key)).map(([, part]) => here(part));
      return asked.includes(undefined) ? undefined : asked.flatMap((marks) => [...(marks ?? [])]);
    }
    case 'unevaluatedProperties':
      return rest(children, (key) => seen.has(key));
    case 'unevaluatedItems':
      return rest(items, (at) => seen.has(at));
    default:
      // What stands beside another keyword that reads it, and `$defs`.
      return [];
  }
}

function isLate(keyword: string): boolean {
  return keyword.startsWith('unevaluated');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
