import { after } from 'node:test';

// A test that ends a process which it shares would take those behind it along, and nobody would miss them.
let haveAllRun = false;
after(() => void (haveAllRun = true));
process.once('exit', () => {
  if (!haveAllRun) process.exitCode = 1;
});
