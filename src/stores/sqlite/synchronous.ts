/** The same calls, each of which has its answer before it returns. */
export type Synchronous<Calls> = {
  readonly [Name in keyof Calls]: Calls[Name] extends (...args: infer Args) => Promise<infer Answer>
    ? (...args: Args) => Answer
    : never;
};
