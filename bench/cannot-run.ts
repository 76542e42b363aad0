/** Why a subject is left out. */
export class CannotRun extends Error {}
