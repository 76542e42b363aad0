import { filled } from '../collections/filled.ts';
import { namePattern } from '../config/name-pattern.ts';
import { objectOf, type Schema } from '../keys/key-schema.ts';
import { isBodyRequired, type BodyRule, type Operation } from './operation.ts';
import { operations } from './operations.ts';
import { problemStatuses, type ProblemCode } from './problem.ts';
import { importTypes } from './read-request.ts';
import type { Fields } from './read-values.ts';
import { ref, schemas } from './schemas.ts';

/** Version of the API. Additions raise the second number, breaking changes the first. */
const version = '1.0.0';

const overview = `Keys of a Gatehouse gateway. Every request shows a token in \`Authorization: Bearer …\`; tokens of the
role \`read\` may do all that changes nothing. Requests and answers are JSON. Unknown fields and parameters are refused, and every
refusal is answered as \`Problem\`. A single key comes with a strong \`ETag\`; changes take it in \`If-Match\`.`;

/** What each status of a refusal means. */
const problems: Readonly<Record<number, string>> = {
  400: 'Malformed: the JSON, the query, or a header.',
  401: 'No valid token.',
  403: 'The token has the role read, or the gateway has no tokens at all and keys cannot be administered.',
  404: 'There is no such key.',
  409: 'It cannot be done to this key, as it is now.',
  412: 'The key is not at the version of If-Match any more.',
  413: 'The body is too large.',
  415: 'The Content-Type is not accepted.',
  421: 'The Host is not one that a listener on loopback answers to.',
  422: 'Fields or parameters are invalid, or the Idempotency-Key belongs to another request for this key.',
  429: 'Too many tokens that are not valid came from this network. A valid one is never refused for it.',
  500: 'A fault of the gateway.',
  503: 'The store does not answer, or the gateway is stopping.',
};

const headers = {
  ETag: {
    description: 'The version of the key, for If-Match.',
    schema: { type: 'string', pattern: '^"[0-9]+"$' },
  },
  Location: { description: 'The path of the key.', schema: { type: 'string' } },
  'Idempotent-Replayed': {
    description: 'true: the request was made before, and nothing was done now.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': { description: 'Seconds.', schema: { type: 'string', pattern: '^[0-9]+$' } },
  'WWW-Authenticate': { description: 'How a token is shown.', schema: { type: 'string' } },
} as const;

/** Which of them a refusal may have, by its status. */
const problemHeaders: Readonly<Record<number, readonly (keyof typeof headers)[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** The OpenAPI 3.1 document of the admin API, to be written as JSON: what is undefined is not in it. */
export function createDocument(): Readonly<Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = (paths[operation.path] ??= pathItem(operation));
    path[operation.method.toLowerCase()] = describe(operation);
  }
  const statuses = Object.entries(problems).map(([status, description]) => [
    nameOf(Number(status)),
    problemResponse(Number(status), description),
  ]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse admin API',
      version,
      description: overview.replaceAll('\n', ' '),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The listener of `admin.listen`.' }],
    security: [{ token: [] }],
    tags: [
      { name: 'Keys', description: 'The life of keys that are in the store.' },
      { name: 'Usage', description: 'What keys have used of their quotas.' },
      { name: 'Audit', description: 'Who has changed what.' },
      { name: 'Health', description: 'Whether the gateway should be sent traffic.' },
    ],
    paths: { ...paths, '/readyz': readyzPath },
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'One of `admin.token` and `admin.tokens`.' },
      },
      schemas: { ...schemas, ...bodySchemas() },
      responses: Object.fromEntries(statuses) as Readonly<Record<string, unknown>>,
      headers,
    },
  };
}

/** A probe, which is none of the operations. */
const readyzPath = {
  get: {
    operationId: 'checkReadiness',
    tags: ['Health'],
    summary: 'Say whether the gateway should be sent traffic, and why not',
    description: 'It takes no token, as those who probe have none.',
    security: [],
    parameters: [
      {
        name: 'exclude',
        in: 'query',
        description: 'What does not count, though `reasons` still tells of it.',
        schema: { type: 'string', enum: ['store'] },
      },
    ],
    responses: {
      200: readinessResponse('It should.'),
      400: { $ref: '#/components/responses/Malformed' },
      503: readinessResponse('It should not.'),
    },
  },
};

function readinessResponse(description: string) {
  return { description, content: { 'application/json': { schema: ref('Readiness') } } };
}

function pathItem({ path }: Operation): Record<string, unknown> {
  if (!path.includes('{id}')) return {};
  const schema = { type: 'string', pattern: namePattern };
  return {
    parameters: [{ name: 'id', in: 'path', required: true, description: 'The id of a key.', schema }],
  };
}

function describe(operation: Operation): Schema {
  const { id, tag, summary, description, role, body, answers } = operation;
  const parameters = [...queryParameters(operation.query), ...headerParameters(operation)];
  const may = role === 'read' ? 'Any token may.' : 'It takes a token of the role `write`.';
  const good = answers.map((answer) => [
    String(answer.status),
    {
      description: answer.description,
      headers: answer.headers && headerRefs(answer.headers),
      content: { 'application/json': { schema: ref(answer.schema) } },
    },
  ]);
  const bad = problemStatusesOf(operation).map((status) => [
    String(status),
    { $ref: `#/components/responses/${nameOf(status)}` },
  ]);
  return {
    operationId: id,
    tags: [tag],
    summary: summary.charAt(0).toUpperCase() + summary.slice(1),
    description: description === undefined ? may : `${description} ${may}`,
    parameters: filled(parameters),
    requestBody: describeBody(body),
    responses: Object.fromEntries([...good, ...bad]) as Schema,
  };
}

/** The statuses with which an operation may refuse. */
function problemStatusesOf({ path, body, conditional, role, tag }: Operation): readonly number[] {
  return [
    400,
    401,
    403,
    ...(path.includes('{id}') ? [404] : []),
    // Changes may clash, and usage may be that of a plan which is gone.
    ...(role === 'write' || tag === 'Usage' ? [409] : []),
    ...(conditional ? [412] : []),
    ...(body.kind === 'none' || body.kind === 'lines' ? [] : [413]),
    ...(body.kind === 'none' ? [] : [415]),
    421,
    422,
    429,
    500,
    503,
  ];
}

function describeBody(body: BodyRule): Schema | undefined {
  if (body.kind === 'none') return undefined;
  if (body.kind === 'lines') {
    const schema = { type: 'string' };
    const types = Object.entries(importTypes).map(([type, form]) => [
      type,
      { schema, example: form === 'csv' ? exampleCsv : exampleLines },
    ]);
    return { required: true, content: Object.fromEntries(types) as Schema };
  }
  return {
    required: isBodyRequired(body),
    content: { 'application/json': { schema: ref(body.schema) } },
  };
}

const exampleCsv = 'secret,name,owner,plan\nwhat-the-caller-sends,build server,acme,free\n';
const exampleLines = `{"hash":"sha256:${'0'.repeat(64)}","name":"build server","plan":"free"}\n`;

/** The schemas of bodies are defined with their operations. */
function bodySchemas(): Readonly<Record<string, Schema>> {
  const all = operations.flatMap(({ body }) => {
    if (body.kind !== 'values') return [];
    const { schema, description, fields, required, example } = body;
    return [[schema, { description, ...objectOf(fields, required), examples: [example] }] as const];
  });
  return Object.fromEntries(all);
}

function queryParameters(query: Fields): readonly Schema[] {
  return Object.entries(query).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    description,
    ...(schema['type'] === 'array' ? { style: 'form', explode: true } : {}),
    schema,
  }));
}

function headerParameters({ conditional, repeatable }: Operation): readonly Schema[] {
  const ifMatch = {
    name: 'If-Match',
    in: 'header',
    description: 'The ETag that the key must still have, or several, or *.',
    schema: { type: 'string' },
    example: '"3"',
  };
  const idempotencyKey = {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A name for this request, new for each: a repeat of the request under it does nothing more. A key knows the first name that it was given and the last seven; another request for this key under one of them is 422, one for another key is done.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
    example: '5b3f1c0e-9f6c-4f0e-8a1e-0d6f3f6f2a51',
  };
  return [...(conditional ? [ifMatch] : []), ...(repeatable ? [idempotencyKey] : [])];
}

function headerRefs(names: readonly string[]): Schema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function problemResponse(status: number, description: string): Schema {
  const names = problemHeaders[status];
  return {
    description,
    headers: names && headerRefs(names),
    content: { 'application/json': { schema: ref('Problem') } },
  };
}

/** The name of a response among the components: the first code of its status, as one word. */
function nameOf(status: number): string {
  const codes = Object.keys(problemStatuses) as ProblemCode[];
  const code = codes.find((one) => problemStatuses[one] === status) ?? 'problem';
  return code.replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}
