import { isObject } from '../content/is-object.ts';
import { compileBodies } from './body-schema/compile-bodies.ts';
import { checkShape, faulty, salvage } from './check-shape.ts';
import { checked } from './checked.ts';
import type { Config } from './config.ts';
import { hashSecrets } from './digest.ts';
import { childPointer, holderOf } from './json-pointer.ts';
import { ConfigErrors, ConfigUnreadable, printProblems, type Problem, type Sentence } from './problems.ts';
import { readText, UnusableText } from './read-text.ts';
import { resolveConfig, type CheckedConfig } from './resolve-config.ts';
import { rules } from './rules.ts';
import type { Draft, Report } from './rules/draft.ts';
import { schema } from './schema.ts';
import { sentenceFor } from './sentences.ts';
import { isMisspelt } from './wording.ts';
import { Places } from './yaml/places.ts';
import { readTree } from './yaml/read-tree.ts';
import { readYaml } from './yaml/read-yaml.ts';

/**
 * Reads, checks and completes a configuration file. Throws `ConfigErrors` with everything that is wrong in it, or
 * `ConfigUnreadable` when there is no file to correct. No message shows a secret or anything from the environment.
 */
export function loadConfig(file: string, env: NodeJS.ProcessEnv): Config {
  return resolveConfig(readConfig(file, env));
}

/** The same before it is completed. */
export function readConfig(file: string, env: NodeJS.ProcessEnv): CheckedConfig {
  const { root, lines, faults } = readYaml(readConfigText(file));
  const places = new Places(lines);
  const findings = collectFindings(file, places);
  for (const { offset, message } of faults) findings.report('', message, offset);
  findings.throwIfAny();

  const tree = readTree(root, { env, places, report: findings.report, warn: findings.warn });
  const declared = declaredNames(tree);
  checkFields(tree, places, findings);
  const broken = findings.pointers();
  const raw = salvage(tree, broken);
  const report = reportTo(findings, places, withHolders(broken));
  const checks = raw && checkTogether({ config: raw, declared }, report);
  findings.throwIfAny();
  return { file, raw: hashSecrets(checked(raw)), checks: checked(checks), warnings: findings.warnings() };
}

function readConfigText(file: string): string {
  try {
    return readText(file);
  } catch (error) {
    if (!(error instanceof UnusableText)) throw error;
    if (!error.opened) throw new ConfigUnreadable(file, error.message);
    throw new ConfigErrors([{ file, line: 1, column: 1, path: '', message: `the file ${error.message}` }]);
  }
}

type Findings = ReturnType<typeof collectFindings>;

function collectFindings(file: string, places: Places) {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const pointers = new Set<string>();
  return {
    /** Notes that something is wrong there, which another problem already tells. */
    mark: (pointer: string): void => void pointers.add(pointer),
    report: (pointer: string, message: Sentence, offset?: number): void => {
      pointers.add(pointer);
      const position = offset === undefined ? {} : places.position(offset);
      problems.push({ file, ...places.locate(pointer), ...position, message });
    },
    warn: (pointer: string, message: string) =>
      void warnings.push({ file, ...places.locate(pointer), message }),
    pointers: (): readonly string[] => [...pointers],
    warnings: (): readonly string[] => printProblems(warnings),
    throwIfAny: (): void => {
      if (problems.length > 0) throw new ConfigErrors(problems);
    },
  };
}

function checkFields(tree: unknown, places: Places, findings: Findings): void {
  const unread = new Set(findings.pointers());
  for (const error of checkShape(tree, (pointer) => places.isExpanded(pointer))) {
    const pointer = faulty(error);
    if (error.keyword === 'additionalProperties') places.markUnknown(pointer);
    const sentence = unread.has(pointer) ? undefined : sentenceFor(error, places.isExpanded(pointer));
    if (sentence === undefined) findings.mark(pointer);
    else findings.report(pointer, sentence);
  }
}

/** The pointers and all above them, as a set: there may be thousands, and each rule asks about many. */
function withHolders(pointers: readonly string[]): ReadonlySet<string> {
  const all = new Set<string>();
  for (const pointer of pointers) {
    for (let at = pointer; at !== '' && !all.has(at); at = holderOf(at)) all.add(at);
  }
  return all;
}

function reportTo(findings: Findings, places: Places, broken: ReadonlySet<string>): Report {
  const pointerAt = (holder: object, option: string): string => {
    const pointer = places.pointerOf(holder) ?? '';
    return option === '' ? pointer : childPointer(pointer, option);
  };
  return {
    problem: (holder, option, message) => findings.report(pointerAt(holder, option), message),
    problemBelow: (holder, pointer, message) =>
      findings.report(`${pointerAt(holder, '')}${pointer}`, message),
    warning: (holder, option, message) => findings.warn(pointerAt(holder, option), message),
    isBroken: (holder, ...options) => options.some((option) => broken.has(pointerAt(holder, option))),
    isHidden: (holder, option) => places.isExpanded(pointerAt(holder, option)),
    mention: (holder) => {
      const { path, line } = places.locate(pointerAt(holder, ''));
      return `${path} (line ${line})`;
    },
  };
}

function checkTogether(draft: Draft, report: Report): ReturnType<typeof compileBodies> {
  for (const rule of rules) rule(draft, report);
  return compileBodies(draft.config.routes, report);
}

function declaredNames(tree: unknown): Draft['declared'] {
  const names = (section: 'upstreams' | 'plans' | 'versions'): readonly string[] | undefined => {
    if (!isObject(tree)) return undefined;
    const value = tree[section];
    const isLeftOut = value === undefined && !isMisspelt(section, tree, Object.keys(schema.properties));
    if (isLeftOut && section !== 'upstreams') return [];
    return isObject(value) ? Object.keys(value) : undefined;
  };
  return { upstreams: names('upstreams'), plans: names('plans'), versions: names('versions') };
}
