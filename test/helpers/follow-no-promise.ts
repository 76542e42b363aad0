import hooks from 'node:async_hooks';

/**
 * Has to be evaluated before `node:test` is loaded, which then follows timers and sockets, but no promise. It would follow each, to
 * know which test an error that nobody caught belongs to: two fifths of what tests of many promises cost. Such an error fails its
 * file all the same. Whoever runs that file alone is told which test it was.
 */
const { createHook } = hooks;
Object.assign(hooks, {
  createHook: ((callbacks) => createHook({ ...callbacks, trackPromises: false })) satisfies typeof createHook,
});
