/** What is wrong with a schema in the configuration, and where: a JSON pointer inside the schema, '' for its root. */
export class SchemaProblem extends Error {
  readonly pointer: string;

  constructor(pointer: string, message: string) {
    super(message);
    this.name = 'SchemaProblem';
    this.pointer = pointer;
  }
}
