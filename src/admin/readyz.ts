import { AdminProblem } from './problem.ts';
import { readTarget } from './read-request.ts';
import { ref } from './schemas.ts';

/**
 * Whether `/readyz` is to leave out the store, as that of kube-apiserver leaves out what `exclude` names. What is misspelt is
 * refused: it would show in the outage that it was meant for.
 */
export function excludesStore(target: string): boolean {
  const parameters = [...new URLSearchParams(readTarget(target).query)];
  if (parameters.every(([name, value]) => name === 'exclude' && value === 'store'))
    return parameters.length > 0;
  throw new AdminProblem('malformed', 'The only parameter of /readyz is exclude=store');
}

/** How the document has it. */
export const readyzPath = {
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
