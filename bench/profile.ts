import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launch } from '../src/commands/relaunch.ts';
import { beginRun } from './begin-run.ts';
import { CannotRun, orUnavailable } from './cannot-run.ts';
import { choiceOf, countOf, orUsage, showHelp } from './flags.ts';
import { checkAnswers, runLoad } from './load.ts';
import { cores, findProgram, here, root } from './machine.ts';
import { warmSeconds } from './measure.ts';
import { createProgress } from './progress.ts';
import { readProfile, sharesBy, type Share } from './read-profile.ts';
import { keysOf, scenarios } from './scenarios.ts';
import { startGateway } from './subjects.ts';
import { closeSurroundings, openSurroundings } from './surroundings.ts';

/** At full load and in one process. */
const profiled = scenarios.filter(({ name, partOfPeak }) => partOfPeak === undefined && name !== 'workers');

const help = `npm run bench:profile -- [--scenario name-64] [--seconds 8] [--top 40] [--store sqlite|redis] [--quotas leased|strict|none]

Loads the gateway while its CPU is sampled, and says where the time went: with leased quotas in Redis where it is installed,
otherwise in SQLite. The profile is kept as bench/data/gatehouse.cpuprofile, which the developer tools of a browser open.

Scenarios: ${profiled.map(({ name }) => name).join(', ')}
`;

const choices = { store: ['sqlite', 'redis'], quotas: ['leased', 'strict', 'none'] } as const;

/** The profile is written when the gateway ends. */
const writePatienceMs = 60_000;

const kept = join(here, 'data/gatehouse.cpuprofile');
const flags = readFlags();
const progress = createProgress(process.stderr);
process.exitCode = flags.help ? showHelp(help) : await orUnavailable(profile);

function readFlags() {
  return orUsage(() => {
    const { values } = parseArgs({
      options: {
        scenario: { type: 'string', default: 'name-64' },
        seconds: { type: 'string' },
        top: { type: 'string' },
        store: { type: 'string', default: findProgram('redis-server') === undefined ? 'sqlite' : 'redis' },
        quotas: { type: 'string', default: 'leased' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const scenario = profiled.find(({ name }) => name === values.scenario);
    if (scenario === undefined) throw new Error(`There is no scenario ${values.scenario} to profile`);
    const store = choiceOf('store', choices.store, values.store);
    const quotas = choiceOf('quotas', choices.quotas, values.quotas);
    const seconds = countOf('seconds', values.seconds) ?? 8;
    const top = countOf('top', values.top) ?? 40;
    return { help: values.help, scenario, store, quotas, seconds, top };
  });
}

async function profile(): Promise<number> {
  const { text, fromUs, toUs, seen } = await sample(await beginRun([kept]), flags);
  writeFileSync(kept, text);
  const taken = readProfile(text, root, fromUs, toUs);
  const rate = Math.round(seen.requests / seen.seconds);
  process.stdout.write(
    `${rate} requests/s while sampled, ${seen.errors} errors, ${taken.busyMs.toFixed(0)} ms busy\n\n`,
  );
  process.stdout.write(print('by package', sharesBy('package', taken), 30));
  process.stdout.write(print('by function', sharesBy('name', taken), flags.top));
  process.stdout.write(`Kept as ${kept}.\n`);
  return 0;
}

/** Loads the gateway, and returns the profile that it wrote and the time in it that counts. */
async function sample(folder: string, { scenario, store, quotas, seconds }: typeof flags) {
  const { load } = scenario;
  const around = await openSurroundings(folder, keysOf(scenario));
  try {
    const keysIn = load.keysAtRandom === undefined ? 'file' : 'store';
    const variant = {
      store,
      quotas,
      keysIn,
      uploads: scenario.name === 'upload' ? 'whole' : undefined,
      workers: 1,
    } as const;
    // Given the flags it would relaunch itself with, it does not: a sampling signal (SIGPROF) ends the new process now and then.
    const sampling = [...launch.flags, '--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval=500'];
    progress(`${scenario.name}: gatehouse starts`);
    const gateway = await startGateway(variant, around, {
      pin: cores.subject,
      flags: sampling,
      env: launch.environment,
    });
    const where = { port: gateway.port, cores: cores.load, folder };
    progress(`${scenario.name}: gatehouse warms up, ${warmSeconds} s`);
    await runLoad(load, { ...where, seconds: warmSeconds });
    await checkAnswers(load, gateway.port);
    progress(`${scenario.name}: gatehouse is sampled, ${seconds} s`);
    const fromUs = nowUs();
    const seen = await runLoad(load, { ...where, seconds });
    const toUs = nowUs();
    progress(`${scenario.name}: gatehouse writes its profile`);
    await gateway.stop(writePatienceMs);
    return { text: readWritten(folder), fromUs, toUs, seen };
  } finally {
    progress('');
    await closeSurroundings(around);
  }
}

function readWritten(folder: string): string {
  const [written] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
  if (written === undefined) throw new CannotRun('The gateway wrote no profile; fewer --seconds may help.');
  return readFileSync(join(folder, written), 'utf8');
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

function print(title: string, shares: readonly Share[], most: number): string {
  const rows = shares.slice(0, most).map(({ name, selfMs, part }) => {
    return `${(part * 100).toFixed(1).padStart(6)} %  ${selfMs.toFixed(0).padStart(7)} ms  ${name}`;
  });
  return `${title}, time of its own\n${rows.join('\n')}\n\n`;
}
