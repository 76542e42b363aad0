/** One thing that is wrong with a schema in the configuration. */
export interface SchemaProblem {
  /** A JSON pointer inside the schema, '' for its root. */
  readonly pointer: string;
  readonly message: string;
}

/** Everything that is wrong with a schema in the configuration, and where. */
export class SchemaProblems extends Error {
  readonly problems: readonly SchemaProblem[];

  constructor(problems: readonly SchemaProblem[]) {
    super(problems.map(({ message }) => message).join('; '));
    this.name = 'SchemaProblems';
    this.problems = problems;
  }
}
