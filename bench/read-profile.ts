/** What a part of the program took by itself, without what it called. */
export interface Share {
  readonly name: string;
  readonly selfMs: number;
  /** Of all the time that the thread was busy. */
  readonly part: number;
}

/** A CPU profile, one entry for each function that was seen at work. */
interface Profile {
  readonly busyMs: number;
  readonly functions: readonly Sampled[];
}

interface Sampled {
  readonly package: string;
  readonly name: string;
  readonly selfMs: number;
}

/** The file that V8 writes, as far as it is read here. */
interface Written {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  /** In microseconds of the clock that `process.hrtime` reads. */
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const idle = new Set(['(idle)', '(root)']);

/**
 * Adds up the samples of a `.cpuprofile` that were taken between two moments, in microseconds of the clock that `process.hrtime`
 * reads. Time in which the thread had nothing to do is left out.
 */
export function readProfile(text: string, root: string, fromUs: number, toUs: number): Profile {
  const { nodes, startTime, samples, timeDeltas } = JSON.parse(text) as Written;
  let atUs = startTime;
  const selfUs = new Map<number, number>();
  // The delta at a place is the time before its sample, so a node is charged with the one that follows.
  for (const [at, id] of samples.entries()) {
    atUs += timeDeltas[at] ?? 0;
    if (atUs < fromUs || atUs > toUs) continue;
    selfUs.set(id, (selfUs.get(id) ?? 0) + Math.max(0, timeDeltas[at + 1] ?? 0));
  }
  const functions = nodes
    .filter(({ callFrame }) => !idle.has(callFrame.functionName))
    .map(({ id, callFrame }) => {
      const place = placeOf(callFrame.url, root);
      const name = callFrame.functionName === '' ? '(anonymous)' : callFrame.functionName;
      const line = callFrame.url === '' ? '' : `  ${place.file}:${callFrame.lineNumber + 1}`;
      return { package: place.package, name: `${name}${line}`, selfMs: (selfUs.get(id) ?? 0) / 1000 };
    })
    .filter(({ selfMs }) => selfMs > 0);
  return { busyMs: functions.reduce((sum, { selfMs }) => sum + selfMs, 0), functions };
}

/** What took how long, the longest first. */
export function sharesBy(what: 'package' | 'name', { functions, busyMs }: Profile): readonly Share[] {
  const sums = new Map<string, number>();
  for (const one of functions) sums.set(one[what], (sums.get(one[what]) ?? 0) + one.selfMs);
  return [...sums]
    .map(([name, selfMs]) => ({ name, selfMs, part: selfMs / busyMs }))
    .toSorted((a, b) => b.selfMs - a.selfMs);
}

/** The package of a script, with the modules of Node and the folders of the gateway told apart. */
function placeOf(url: string, root: string): { package: string; file: string } {
  if (url === '') return { package: '(V8, libuv and the kernel)', file: '' };
  if (url.startsWith('node:'))
    return { package: `node: ${url.slice('node:'.length).split('/')[0] ?? ''}${partOf(url)}`, file: url };
  const path = decodeURI(url.replace(/^file:\/\//, '')).replace(root, '');
  const [, rest] = /^.*node_modules\/(.*)$/.exec(path) ?? [];
  if (rest === undefined)
    return { package: `gatehouse ${path.split('/').slice(0, 2).join('/')}`, file: path };
  const parts = rest.split('/');
  const name = parts[0]?.startsWith('@') === true ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
  return { package: name, file: rest };
}

/** `node:internal/streams/…` is streams; any other internal module goes by its file. */
function partOf(url: string): string {
  const [, inner] = /^node:internal\/([^/]+)/.exec(url) ?? [];
  return inner === undefined ? '' : `/${inner}`;
}
