import handlers from 'ioredis/built/DataHandler.js';

/** What ioredis does with the answers on one connection. */
interface AnswerHandler {
  returnFatalError(error: unknown): void;
}

/**
 * Has an answer of which ioredis can make nothing end its connection, as one that it cannot read does. ioredis 6.0.0 throws again what
 * it stumbles over, where nobody can catch it: one null that nobody asked for would end the process.
 */
export function endWhenConfused(): void {
  Reflect.set(handlers.default.prototype, 'dispatch', function take(this: AnswerHandler, answer: () => void) {
    try {
      answer();
    } catch (error) {
      this.returnFatalError(error);
    }
  });
}
